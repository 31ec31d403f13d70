#include "rest/write/field_permissions.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/ignored_fields.h"
#include "catalog/scale.h"
#include "rest/asking.h"
#include "rest/conversion/versions.h"
#include "rest/write/blind_caller.h"
#include "rest/write/object_rules.h"
#include "rest/write/ownership.h"
#include "rest/write/write.h"

namespace cardea::rest {

using authz::fields::FieldJudge;
using authz::fields::FieldRefusal;
using Holds = authz::fields::Answers::Holds;
using authz::fields::Marker;
using json::Member;
using json::Value;

namespace {

constexpr std::string_view kAnnotation = "granular.authorization.k8s.io/";

authz::ConditionData data_of(const Call& call, const Value* old, const Value& object) {
  return {.operation = old ? "UPDATE" : "CREATE",
          .object = &object,
          .old_object = old,
          .group = call.resource->group,
          .version = call.resource->version,
          .kind = call.resource->kind,
          .resource = call.resource->name,
          .subresource = call.info.subresource,
          .namespace_name = call.info.namespace_name,
          .name = call.info.name,
          .user = &call.user};
}

const authz::fields::Uncovered::Excluded& excluded_on(const authz::fields::Uncovered& uncovered,
                                                      const catalog::Resource& r) {
  return uncovered.on(r.group, r.name);
}

const schema::Schema& compared_schema(const catalog::Resource& r) {
  return r.permissions->compared() ? *r.permissions->compared() : *r.schema;
}

authz::Attributes attributes_of(const Call& call, std::string_view verb) {
  authz::Attributes a{call.user, call.info};
  a.verb = verb;
  return a;
}

authz::Asking asking_fields(const Call& call) {
  return call.services.conditional_authorization ? authz::Asking::kConditionsAwareAtOnce
                                                 : authz::Asking::kFolded;
}

// For the refusal: giving the verb to the user would not help.
void note_denial(Call& call, const std::string& verb, const authz::Decision& decision) {
  if (decision.kind == authz::Decision::Kind::kDeny) call.open.fields().denied.insert(verb);
}

// The part of an answer that has to wait: an authorizer elsewhere, or conditions.
Task<bool> ask_waiting(Call& call, std::string verb, std::optional<authz::Chain::Verdict> known,
                       const Value* old, const Value& object, bool& by_objects) {
  if (!known) {
    authz::Chain::Verdict waited = co_await ask_chain(call, call.chain, attributes_of(call, verb),
                                                      asking_fields(call));
    known = std::move(waited);
  }
  bool allowed = known->decision.allowed();
  note_denial(call, verb, known->decision);
  by_objects = known->decision.kind == authz::Decision::Kind::kConditional;
  if (by_objects) {
    authz::Decision settled = co_await settle_decision(call, call.chain, known->decision,
                                                       data_of(call, old, object));
    note_denial(call, verb, settled);
    allowed = settled.allowed();  // an error is never an allow
  }
  co_return allowed;
}

Error refusal_error(Call& call, const FieldRefusal& r) {
  using Why = FieldRefusal::Why;
  std::string reason = cat("field ", r.field, ": "), grant;
  std::string_view verb = r.verb;
  const bool is_denied = call.open.fields().denied.contains(r.verb);
  switch (r.why) {
    case Why::kNotCovered:
      if (r.chain.empty()) {
        verb = call.info.verb;
        reason += "no field permission covers it";
        grant = cat("only the verb ", quoted(call.info.verb), " covers this field");
      } else {
        reason += cat("not covered by ", join(r.chain, ", "));
        grant = is_denied ? cat("the verb ", quoted(r.verb), " is denied to this user")
                          : cat("the verbs ", quoted(schema::kGranularVerb), " and ",
                                quoted(r.verb), " are enough for this field");
      }
      break;
    case Why::kExcluded:
      reason += cat("needs ", r.verb, " itself, which no other permission implies");
      grant = is_denied ? cat("the verb ", quoted(r.verb), " is denied to this user")
                        : cat("the verb ", quoted(r.verb), " is needed",
                              call.open.is_granular() ? "" : " besides ",
                              call.open.is_granular() ? "" : quoted(call.info.verb));
      break;
    case Why::kUnnamed:
      verb = call.info.verb;
      reason += cat("is guarded by ", r.verb, ", and no verb can be made of its parameter");
      grant = "no verb covers this field";
      break;
    case Why::kTooMany:
      reason += cat("too many field permissions required: more than ", authz::fields::kMostVerbs);
      grant = "change fewer fields at once, or grant a permission that covers more of them";
      break;
  }
  note_refusal(call, reason);
  Error error = authz::forbidden(attributes_of(call, verb), reason);
  ErrorDetails details = error.details ? *error.details : ErrorDetails();
  details.causes.push_back({"FieldPermissionRequired", std::move(grant), r.field});
  return std::move(error).with(std::move(details));
}

void annotate(Call& call, const std::optional<FieldRefusal>& refusal) {
  std::string checks;
  for (const auto& [verb, allowed] : call.open.fields().answers.in_order())
    checks += cat(checks.empty() ? "" : ",", verb, allowed ? "+" : "-");
  call.audit_annotations.set(cat(kAnnotation, "marker"),
                             call.open.is_granular() ? "granular" : "regular");
  if (!checks.empty()) call.audit_annotations.set(cat(kAnnotation, "checks"), checks);
  if (refusal) call.audit_annotations.set(cat(kAnnotation, "denied-field"), refusal->field);
}

Result<void> judged(Call& call, const FieldJudge& judge, Marker marker) {
  call.open.fields().is_covered = !judge.refusal();
  if (marker == Marker::kGranular || !call.open.fields().answers.in_order().empty())
    annotate(call, judge.refusal());
  if (judge.refusal()) return fail(refusal_error(call, *judge.refusal()));
  return {};
}

// Asks until the judge knows enough: whether everything is covered.
Task<bool> ask_all(Call& call, FieldJudge& judge, const schema::ChangedFields& changes) {
  const Value* old = changes.before().is_null() ? nullptr : &changes.before();
  while (const std::string* verb = judge.next()) {
    auto verdict = call.chain->decide(attributes_of(call, *verb), asking_fields(call));
    bool is_there = verdict && verdict->decision.kind != authz::Decision::Kind::kConditional;
    bool allowed = is_there && verdict->decision.allowed();
    bool by_objects = false;
    if (is_there) note_denial(call, *verb, verdict->decision);
    if (!is_there)
      allowed = co_await ask_waiting(call, *verb, std::move(verdict), old, changes.after(),
                                     by_objects);
    judge.answer(allowed, by_objects ? Holds::kForTheseObjects : Holds::kForTheRequest);
  }
  co_return !judge.refusal();
}

Task<Result<void>> settle(Call& call, const schema::ChangedFields& changes,
                          const schema::PermissionTree& tree, Marker marker,
                          const schema::ExcludedVerbs& excluded) {
  call.services.field_permissions->count_comparison();
  const schema::Demands demands = schema::demands_of(changes, tree, excluded);
  call.open.fields().answers.forget_objects();
  FieldJudge judge(demands, marker, call.open.fields().answers);
  bool covered = co_await ask_all(call, judge, changes);
  (void)covered;  // `judged` tells why not
  co_return judged(call, judge, marker);
}

// The same without objects.
Task<Result<void>> settle_named(Call& call, schema::Demands demands, Marker marker) {
  FieldJudge judge(demands, marker, call.open.fields().answers);
  while (const std::string* verb = judge.next()) {
    auto verdict = call.chain->decide(attributes_of(call, *verb), asking_fields(call));
    if (!verdict) {
      authz::Chain::Verdict waited = co_await ask_chain(
          call, call.chain, attributes_of(call, *verb), asking_fields(call));
      verdict = std::move(waited);
    }
    note_denial(call, *verb, verdict->decision);
    bool by_objects = verdict->decision.kind == authz::Decision::Kind::kConditional;
    judge.answer(by_objects || verdict->decision.allowed(),
                 by_objects ? Holds::kForTheseObjects : Holds::kForTheRequest);
  }
  co_return judged(call, judge, marker);
}

// Writing a Scale is writing one field of it, whatever field of the object that is.
Task<Result<void>> settle_scale(Call& call) {
  static const Value kBefore = Value::object({{"spec", Value::object({{"replicas", 0}})}});
  static const Value kAfter = Value::object({{"spec", Value::object({{"replicas", 1}})}});
  const schema::Schema& scale = *call.subresource->schema;
  static const std::shared_ptr<const schema::PermissionTree>
      tree = schema::PermissionTree::of_builtin(scale, "autoscaling", "Scale");
  schema::ChangedFields view(kBefore, kAfter, scale, {});
  const schema::ExcludedVerbs none;
  Result<void> covered = co_await settle(call, view, *tree, Marker::kGranular, none);
  co_return covered;
}

// What a change takes in one version.
Task<Result<void>> settle_version(Call& call, const schema::ChangedFields& changes,
                                  const catalog::Resource& version, Marker marker) {
  const FieldPermissions& permissions = *call.services.field_permissions;
  if (marker == Marker::kRegular && !permissions.excludes(version)) co_return Result<void>();
  auto uncovered = permissions.uncovered();
  Result<void> covered = co_await settle(call, changes, *version.permissions, marker,
                                         excluded_on(*uncovered, version).verbs);
  co_return covered;
}

schema::IgnoredFields ignored_fields(const Call& call, bool is_create) {
  return catalog::ignored_fields(*call.resource, call.info.subresource, is_create);
}

// The parts of a decoded object that its writer wrote.
Value as_sent(const Value& decoded, const Value& written) {
  if (decoded.is_object() && written.is_object()) {
    std::vector<Member> kept;
    for (const Member& m : decoded.members())
      if (const Value* there = written.find(m.key()))
        kept.push_back({m.name, as_sent(m.value, *there)});
    return Value::object(std::move(kept));
  }
  if (decoded.is_array() && written.is_array() && decoded.size() == written.size()) {
    std::vector<Value> items;
    for (std::size_t i = 0; i < decoded.size(); ++i)
      items.push_back(as_sent(decoded[i], written[i]));
    return Value::array(std::move(items));
  }
  return decoded;
}

// Fields of one object that the server makes from each other: whoever writes one writes both.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"data", "stringData"},  // of a Secret
    {"serviceAccountName", "serviceAccount"},
    {"podCIDR", "podCIDRs"},          // of a Node
    {"dataSource", "dataSourceRef"},  // of a PersistentVolumeClaim
    {"clusterIP", "clusterIPs"},      // of a Service
};

bool has_alias_of(const Value& sent, std::string_view key) {
  return std::ranges::any_of(kAliases, [&](const auto& pair) {
    return (key == pair.first && sent.has(pair.second)) ||
           (key == pair.second && sent.has(pair.first));
  });
}

// What a writer sent, with the fields that the server makes of those. `whole` is the same object
// with all that the server makes.
Value with_aliases(const Value& sent, const Value& whole) {
  if (sent.is_object() && whole.is_object()) {
    std::vector<Member> out;
    for (const Member& m : sent.members()) {
      const Value* made = whole.find(m.key());
      if (!made)
        out.push_back(m);
      else
        out.push_back({m.name, has_alias_of(sent, m.key()) ? *made : with_aliases(m.value, *made)});
    }
    for (const Member& m : whole.members())
      if (!sent.has(m.key()) && has_alias_of(sent, m.key())) out.push_back(m);
    return Value::object(std::move(out));
  }
  if (sent.is_array() && whole.is_array() && sent.size() == whole.size()) {
    std::vector<Value> items;
    for (std::size_t i = 0; i < sent.size(); ++i) items.push_back(with_aliases(sent[i], whole[i]));
    return Value::array(std::move(items));
  }
  return sent;
}

}  // namespace

FieldPermissions::FieldPermissions(const Snapshot<authz::fields::Uncovered>& uncovered,
                                   MetricRegistry& metrics)
    : uncovered_(uncovered),
      comparisons_(metrics.counter({"cardea_field_comparisons_total",
                                    "How often the changed fields of a request were worked out."})),
      covered_(metrics.counter({"cardea_field_permission_results_total",
                                "Requests judged by the fields they change, by result."},
                               {{"result", "covered"}})),
      refused_(metrics.counter({"cardea_field_permission_results_total",
                                "Requests judged by the fields they change, by result."},
                               {{"result", "refused"}})),
      checks_(
          metrics.count_histogram({"cardea_field_permission_checks",
                                   "Verbs asked for one request judged by the fields it changes."},
                                  {0, 1, 2, 3, 5, 7, 10, 20, 50, 100})) {}

bool FieldPermissions::excludes(const catalog::Resource& resource) const {
  if (resource.permissions->has_excluded()) return true;
  const schema::ExcludedVerbs& now = uncovered_.get()->on(resource.group, resource.name).verbs;
  return !now.empty() && now.concern(*resource.permissions);
}

bool FieldPermissions::excludes_stored(const catalog::Catalog& catalog,
                                       const catalog::Resource& resource) const {
  if (excludes(resource)) return true;
  const catalog::Resource* stored = other_storage(catalog, resource);
  return stored && excludes(*stored);
}

const catalog::Resource* other_storage(const catalog::Catalog& catalog,
                                       const catalog::Resource& r) {
  if (r.unserved_storage) return r.unserved_storage;
  if (r.version == r.storage_version && r.group == r.storage_group) return nullptr;
  const catalog::Resource* stored = catalog.storage_of(r);
  return stored == &r ? nullptr : stored;
}

void FieldPermissions::count(bool covered, std::size_t checks) const {
  (covered ? covered_ : refused_).add();
  checks_.observe(checks);
}

bool may_be_granular(const catalog::Catalog& catalog, const authz::RequestInfo& info) {
  if (!info.is_resource_request) return false;
  const catalog::Resource* r = catalog.find(info.api_group, info.api_version, info.resource);
  if (!r || r->storage_prefix.empty()) return false;
  if (info.verb == "create") return info.subresource.empty() && info.name.empty();
  if ((info.verb != "update" && info.verb != "patch") || info.name.empty()) return false;
  if (info.subresource.empty()) return true;
  const catalog::Subresource* s = r->subresource(info.subresource);
  return s && (s->kind.empty() || s->kind == r->kind || s->name == "scale");
}

bool watches_fields(const Call& call) {
  const FieldPermissions* permissions = call.services.field_permissions;
  return call.open.has_conditions() ||
         (permissions &&
          (call.open.is_granular() || permissions->excludes_stored(*call.catalog, *call.resource)));
}

SentObject* sent_object(Call& call) {
  return watches_fields(call) ? &call.open.fields().sent : nullptr;
}

bool watches_admission(const Call& call) {
  const FieldPermissions* permissions = call.services.field_permissions;
  return permissions && permissions->excludes(*call.resource);
}

Value SentObject::get() const {
  return as_sent(decoded, written);
}

namespace {

// The field of the object that a scale writes.
schema::NamedFields named_by_scale(const Call& call) {
  Value scale = Value::object({{"spec", Value::object({{"replicas", 1}})}});
  auto written = catalog::with_scale(Value::object(), scale, *call.resource);
  if (written) written->erase("metadata");
  return schema::named_by_apply(written ? *written : Value::object(), *call.resource->schema);
}

// A create is judged by what was sent, not by what the server makes of it; its name is always part
// of that.
Value sent_create(const Call& call) {
  const FieldAccess& known = *call.open.known_fields();
  Value out = known.sent.is_there() ? with_aliases(known.sent.get(), known.requested)
                                    : known.requested;
  Value& meta = out.member("metadata");
  if (meta.is_null()) meta = Value::object();
  if (!meta.has("generateName") && meta["name"].as_string().empty())
    meta.set("name", call.info.name);
  return out;
}

}  // namespace

Task<Result<void>> authorize_change(Call& call, const Value* old, Value requested, Value stored) {
  FieldAccess& access = call.open.fields();
  const schema::Schema& schema = compared_schema(*call.resource);
  const catalog::Resource* storage = other_storage(*call.catalog, *call.resource);
  const schema::IgnoredFields ignored = ignored_fields(call, !old);
  access.stored.reset();
  if (old) {
    if (storage) {
      Result<Value> becomes = co_await convert_one(call, requested, *call.resource, *storage);
      if (!becomes) co_return fail(becomes.error());
      access.stored.emplace(std::move(stored), std::move(*becomes), compared_schema(*storage),
                            ignored);
    }
    access.changed.emplace(*old, std::move(requested), schema, ignored);
    if (is_known_blind(call) && call.info.subresource != "scale")
      access.changed->count(call.open.sight.named.fields);
  } else {
    access.requested = std::move(requested);
    if (storage && storage->is_converted_by_webhook) {
      // A webhook gets whole objects, so what its version adds by default counts as sent.
      Result<Value> becomes = co_await convert_one(call, access.requested, *call.resource,
                                                   *storage);
      if (!becomes) co_return fail(becomes.error());
      access.stored.emplace(Value(), std::move(*becomes), compared_schema(*storage), ignored);
    } else if (storage) {
      access.stored.emplace(
          Value(),
          [&call, storage] { return converted(sent_create(call), *call.resource, *storage); },
          compared_schema(*storage), ignored);
    }
    access.changed.emplace(Value(), [&call] { return sent_create(call); }, schema, ignored);
  }
  const FieldPermissions* permissions = call.services.field_permissions;
  if (!permissions) co_return Result<void>();
  if (!call.open.is_granular() && !permissions->excludes_stored(*call.catalog, *call.resource))
    co_return Result<void>();
  Result<void> covered = co_await authorize_known_change(call);
  co_return covered;
}

Task<Result<void>> authorize_stored(Call& call, Value stored, Value becomes) {
  const catalog::Resource& storage = *other_storage(*call.catalog, *call.resource);
  const schema::IgnoredFields ignored = ignored_fields(call, stored.is_null());
  call.open.fields().stored.emplace(std::move(stored), std::move(becomes), compared_schema(storage),
                                    ignored);
  const FieldPermissions* permissions = call.services.field_permissions;
  if (!permissions || !call.open.is_granular()) co_return Result<void>();
  Result<void> covered = co_await authorize_known_change(call);
  co_return covered;
}

namespace {

bool is_prefix(const schema::FieldPath& a, const schema::FieldPath& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

Task<bool> may_write(Call& call, const schema::FieldSet& fields) {
  const schema::ChangedFields& changes = *call.open.fields().changed;
  const auto uncovered = call.services.field_permissions->uncovered();
  const Marker marker = call.open.is_granular() ? Marker::kGranular : Marker::kRegular;
  const schema::Demands demands = schema::demands_of(fields, changes, *call.resource->permissions,
                                                     excluded_on(*uncovered, *call.resource).verbs);
  FieldJudge judge(demands, marker, call.open.fields().answers);
  bool covered = co_await ask_all(call, judge, changes);
  co_return covered;
}

// The fields of a set that the caller may not write. Those that the request changes were judged.
Task<schema::FieldSet> not_permitted(Call& call, schema::FieldSet fields) {
  constexpr std::size_t kMostPaths = 1000;  // that are looked at one by one
  const schema::ChangedFields& changes = *call.open.fields().changed;
  std::vector<schema::FieldPath> paths, changed;
  fields.for_each([&](const schema::FieldPath& p) { paths.push_back(p); });
  changes.leaves().for_each([&](const schema::FieldPath& p) { changed.push_back(p); });
  std::ranges::sort(changed);
  auto is_judged = [&](const schema::FieldPath& path) {
    auto at = std::ranges::lower_bound(changed, path);
    return (at != changed.end() && is_prefix(path, *at)) ||
           (at != changed.begin() && is_prefix(*std::prev(at), path));
  };
  std::erase_if(paths, is_judged);
  schema::FieldSet all, out;
  for (const schema::FieldPath& path : paths) all.insert(path);
  bool is_all_covered = co_await may_write(call, all);
  if (is_all_covered) co_return out;
  if (paths.size() > kMostPaths) co_return all;
  for (const schema::FieldPath& path : paths) {
    schema::FieldSet one;
    one.insert(path);
    bool covered = co_await may_write(call, one);
    if (!covered) out.insert(path);
  }
  co_return out;
}

}  // namespace

Task<Value> with_owners_of_others(Call& call, Value old, Value object) {
  if (!call.services.field_permissions) co_return object;
  if (call.open.is_granular()) keep_generate_name(object, old);
  auto before = schema::ManagedFields::parse_or_nobody(old["metadata"]["managedFields"]),
       after = schema::ManagedFields::parse_or_nobody(object["metadata"]["managedFields"]);
  bool is_altered = false;
  for (schema::FieldOwner& owner : after.owners) {
    const schema::FieldOwner* had = before.find(owner);
    schema::FieldSet taken = co_await not_permitted(
        call, had ? owner.fields.difference(had->fields) : owner.fields);
    owner.fields = owner.fields.difference(taken);
    is_altered |= !taken.empty();
  }
  for (schema::FieldOwner& owner : before.owners) {
    schema::FieldOwner* has = after.find(owner);
    schema::FieldSet lost = co_await not_permitted(
        call, has ? owner.fields.difference(has->fields) : owner.fields);
    if (lost.empty()) continue;
    is_altered = true;
    if (has) {
      has->fields = has->fields.union_with(lost);
    } else {
      owner.fields = std::move(lost);
      after.owners.push_back(std::move(owner));
    }
  }
  if (!is_altered) co_return object;
  after.drop_empty();
  schema::set_managed_fields(object, after);
  co_return object;
}

// Of a scale the object's fields count for what is excluded, the scale's for what is covered.
Task<Result<void>> authorize_known_change(Call& call) {
  const FieldAccess& access = call.open.fields();
  bool is_scale = call.info.subresource == "scale";
  if (call.open.is_granular() && is_scale &&
      (is_known_blind(call) || !access.changed->leaves().empty())) {
    Result<void> scaled = co_await settle_scale(call);
    if (!scaled) co_return scaled;
  }
  Marker marker = call.open.is_granular() && !is_scale ? Marker::kGranular : Marker::kRegular;
  Result<void> covered = co_await settle_version(call, *access.changed, *call.resource, marker);
  if (covered && access.stored)
    covered = co_await settle_version(call, *access.stored,
                                      *other_storage(*call.catalog, *call.resource), marker);
  call.open.settle_fields(covered.has_value());
  co_return covered;
}

bool names_ignored_fields(const Call& call) {
  if (call.info.subresource == "scale") return false;
  const schema::FieldSet& named = call.open.sight.named.fields;
  return schema::without_ignored(named, ignored_fields(call, false)) != named;
}

Task<Result<void>> authorize_named(Call& call) {
  if (!call.services.field_permissions) co_return Result<void>();
  const bool is_scale = call.info.subresource == "scale";
  if (is_scale) {
    Result<void> scaled = co_await settle_scale(call);
    if (!scaled) co_return scaled;
  }
  auto uncovered = call.services.field_permissions->uncovered();
  const schema::NamedFields named = is_scale ? named_by_scale(call) : call.open.sight.named;
  schema::ChangedFields sent(Value(), named.sent, compared_schema(*call.resource), {});
  const schema::FieldSet leaves = schema::without_ignored(named.fields,
                                                          ignored_fields(call, false));
  schema::Demands demands = schema::demands_of(leaves, sent, *call.resource->permissions,
                                               excluded_on(*uncovered, *call.resource).verbs);
  Result<void> covered = co_await settle_named(call, std::move(demands),
                                               is_scale ? Marker::kRegular : Marker::kGranular);
  co_return covered;
}

Task<Result<void>> authorize_mutation(Call& call, Value requested, Value admitted) {
  const catalog::Resource& r = *call.resource;
  const FieldPermissions* permissions = call.services.field_permissions;
  if (!permissions || requested.same(admitted) || !permissions->excludes(r))
    co_return Result<void>();
  auto uncovered = permissions->uncovered();
  schema::ChangedFields changes(std::move(requested), std::move(admitted), compared_schema(r),
                                {schema::IgnoredFields::of_server(false), {}});
  Result<void> covered = co_await settle(call, changes, *r.permissions, Marker::kRegular,
                                         excluded_on(*uncovered, r).guarded_from_admission);
  co_return covered;
}

Task<Result<void>> authorize_storage(Call& call, const catalog::Resource& storage, Value old,
                                     Value stored) {
  const FieldPermissions* permissions = call.services.field_permissions;
  if (!permissions || !permissions->excludes(storage)) co_return Result<void>();
  auto uncovered = permissions->uncovered();
  bool is_create = old.is_null();
  schema::ChangedFields changes(std::move(old), std::move(stored), compared_schema(storage),
                                {schema::IgnoredFields::of_server(is_create), {}});
  Result<void> covered = co_await settle(call, changes, *storage.permissions, Marker::kRegular,
                                         excluded_on(*uncovered, storage).verbs);
  co_return covered;
}

void count_judgement(const Call& call) {
  const FieldAccess* known = call.open.known_fields();
  // A request whose policy has changed is decided, and judged, once more.
  if (!known || !known->is_covered || call.has_policy_moved) return;
  call.services.field_permissions->count(*known->is_covered, known->answers.in_order().size());
}

void note_refusal(Call& call, std::string_view reason) {
  call.audit_annotations.set("authorization.k8s.io/decision", "forbid");
  call.audit_annotations.set("authorization.k8s.io/reason", reason);
}

}  // namespace cardea::rest

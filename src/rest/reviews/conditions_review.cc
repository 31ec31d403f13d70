// AuthorizationConditionsReview: a client that got conditions as an answer asks whether they
// hold, now that the object is known. Answered and not stored.
#include <algorithm>

#include "authz/user_info.h"
#include "authz/wire/decision_json.h"
#include "authz/wire/sealed_text.h"
#include "base/strings.h"
#include "rest/asking.h"
#include "rest/reviews/condition_seal.h"
#include "rest/verbs/body.h"
#include "rest/verbs/subresources.h"
#include "rest/write/stored_object.h"
#include "rest/write/write.h"

namespace cardea::rest {

using authz::Decision;
using json::Value;

namespace {

// What the conditions are about, as either form of the request says it. Keeps what the data
// borrows.
struct Matter {
  Value object, old_object, options, space;
  authz::User user, to_be;
  std::optional<authz::Attributes> impersonated;
  authz::ConditionData data;
};

const Value* there(const Value& v) {
  return v.is_null() ? nullptr : &v;
}

void fill(Call& call, const Value& request, Matter& m) {
  m.object = request["object"];
  m.old_object = request["oldObject"];
  m.options = request.has("options") ? request["options"] : request["operationOptions"];
  m.user = authz::read_user_info(request["userInfo"]);
  std::string_view namespace_name = request["namespace"].as_string();
  if (!namespace_name.empty()) {
    const catalog::Resource* namespaces = call.catalog->find("", "v1", "namespaces");
    if (store::RecordPtr record = call.services.store.get(
            object_key(*namespaces, "", namespace_name)))
      m.space = parse_stored(*record);
  }
  const Value& resource = request.has("requestResource") ? request["requestResource"]
                                                         : request["resource"];
  m.data = {.operation = request["operation"].as_string(),
            .object = there(m.object),
            .old_object = there(m.old_object),
            .options = there(m.options),
            .namespace_object = there(m.space),
            .dry_run = request["dryRun"].as_bool(),
            .group = resource["group"].as_string(),
            .version = resource["version"].as_string(),
            .kind = request["kind"]["kind"].as_string(),
            .resource = resource["resource"].as_string(),
            .subresource = request["subResource"].as_string(),
            .namespace_name = namespace_name,
            .name = request["name"].as_string(),
            .user = &m.user};
}

constexpr std::string_view kImpersonated = "impersonatedRequest";

// A field of another type would read as empty, and a condition might hold for that.
void check_impersonated(const Value& request, json::FieldErrors& errors) {
  const std::string at = cat("request.", kImpersonated);
  auto check = [&](const Value& value, const std::string& path, bool fits,
                   std::string_view wanted) {
    if (!value.is_null() && !fits)
      errors.push_back(json::invalid(path, value, cat("must be ", wanted)));
  };
  check(request, at, request.is_object(), "an object");
  for (std::string_view key :
       {"verb", "apiGroup", "apiVersion", "resource", "subresource", "namespace", "name", "path"})
    check(request[key], cat(at, ".", key), request[key].is_string(), "a string");
  for (const authz::UserInfoMisfit& m : authz::misfits(request["userInfo"]))
    errors.push_back(json::invalid(cat(at, ".userInfo", m.member.empty() ? "" : ".", m.member,
                                       m.key.empty() ? "" : ".", m.key),
                                   m.value, cat("must be ", m.wanted)));
}

// The impersonated request, for conditions on impersonation.
void fill_impersonated(const Value& request, Matter& m) {
  if (!request.is_object()) return;
  m.to_be = authz::read_user_info(request["userInfo"]);
  authz::Attributes& a = m.impersonated.emplace(m.to_be);
  a.verb = request["verb"].as_string();
  a.api_group = request["apiGroup"].as_string();
  a.api_version = request["apiVersion"].as_string();
  a.resource = request["resource"].as_string();
  a.subresource = request["subresource"].as_string();
  a.namespace_name = request["namespace"].as_string();
  a.name = request["name"].as_string();
  a.path = request["path"].as_string();
  a.is_resource_request = !a.resource.empty();
  m.data.impersonated = &a;
}

// The authorizer of ours that an entry belongs to: the flat name "a.b" of a list is `b` inside our
// authorizer `a`. The name itself when there is none.
std::string_view owner(const authz::Chain& chain, std::string_view name) {
  std::string_view best;
  for (const auto& one : chain.authorizers()) {
    std::string_view ours = one->name();
    const bool is_inside = name.starts_with(ours) && name.substr(ours.size()).starts_with('.');
    if (ours.size() > best.size() && (name == ours || is_inside)) best = ours;
  }
  return best.empty() ? name : best;
}

// Puts the entries into the order of the server's own chain: the sender of a review must not change
// the order. Of those that are not in the chain, the ones that may allow come last, and the others
// first.
void order_as_ours(const authz::Chain& chain, authz::Conditions::Chain& entries) {
  const auto& ours = chain.authorizers();
  auto place = [&](const authz::NamedDecision& n) {
    auto at = std::ranges::find(ours, owner(chain, n.authorizer),
                                [](const auto& one) { return one->name(); });
    const bool is_last = at == ours.end() && authz::possible_outcomes(n.decision).allow;
    return at == ours.end() && !is_last ? -1 : at - ours.begin();
  };
  std::ranges::stable_sort(entries, {}, place);
}

// The entries of one authorizer, which stand together, as one: what was inside it is inside again.
authz::Conditions::Chain nested(const authz::Chain& chain, authz::Conditions::Chain entries) {
  authz::Conditions::Chain out;
  for (auto from = entries.begin(); from != entries.end();) {
    const std::string name(owner(chain, from->authorizer));
    auto to = std::find_if(from, entries.end(), [&](const authz::NamedDecision& n) {
      return owner(chain, n.authorizer) != name;
    });
    authz::Conditions::Chain inner;
    if (to - from > 1 || from->authorizer != name)
      for (auto at = from; at != to; ++at)
        inner.push_back({at->authorizer == name ? cat("part-", inner.size() + 1)
                                                : at->authorizer.substr(name.size() + 1),
                         std::move(at->decision)});
    out.push_back(
        {name, inner.empty() ? std::move(from->decision) : authz::fold(std::move(inner))});
    from = to;
  }
  return out;
}

// A decision as this server may evaluate it. Conditions that it cannot read fail closed, unless it
// issued them itself (ConditionSeal): otherwise a sender of reviews could pass any text to a
// webhook's evaluator as if the webhook had written it. Conditions on the impersonated request also
// fail closed if the review has none.
class Readable {
 public:
  Readable(const Call& call, const authz::ConditionData& data) : call_(call), data_(data) {}

  Decision of(const Decision& d, std::string_view author = "") const {
    if (d.kind != Decision::Kind::kConditional) return d;
    if (const authz::Conditions::Set* set = d.conditions->set()) return of_set(d, *set, author);
    authz::Conditions::Chain out;
    if (const authz::Conditions::Chain* chain = d.conditions->chain())
      for (const authz::NamedDecision& n : *chain)
        out.push_back({n.authorizer, of(n.decision, authz::wire::inside(author, n.authorizer))});
    return authz::fold(std::move(out));
  }

 private:
  Decision of_set(const Decision& d, authz::Conditions::Set set, std::string_view author) const {
    for (authz::Condition& c : set.conditions) {
      if (c.type == authz::wire::kSealedType) {
        auto inside = call_.services.condition_seal.open(c, author, call_.user.name, data_,
                                                         call_.services.clock.now());
        if (!inside) return authz::failed(d, inside.error().message);
        c = std::move(*inside);
      } else if (!authz::is_cel_type(c.type)) {
        return authz::failed(
            d, cat("conditions of type ", quoted(c.type), " are not evaluated for others"));
      }
      if (!data_.impersonated && c.text.contains(kImpersonated))
        return authz::failed(d, cat("condition ", quoted(c.id), " is about request.", kImpersonated,
                                    ", which the review does not have"));
    }
    return Decision::conditional(std::make_shared<const authz::Conditions>(std::move(set)));
  }

  const Call& call_;
  const authz::ConditionData& data_;
};

Task<Decision> settled(Call& call, std::shared_ptr<const authz::Chain> chain, Decision decision,
                       authz::ConditionData data) {
  Decision ours = Readable(call, data).of(decision);
  if (ours.kind != Decision::Kind::kConditional) co_return ours;
  Decision out = co_await settle_decision(call, chain, std::move(ours), data);
  co_return out;
}

Value flat_response(const Decision& d) {
  Value out = Value::object({{"allowed", d.allowed()}});
  if (d.kind == Decision::Kind::kDeny) out.set("denied", true);
  if (std::string reason = d.reason.text(); !reason.empty()) out.set("reason", reason);
  if (!d.error.empty()) out.set("evaluationError", d.error);
  return out;
}

}  // namespace

Task<Result<Answer>> review_conditions(Call& call) {
  auto options = write_options(call.info.query, "CreateOptions");
  if (!options) co_return fail(options.error());
  auto review = read_object(call, Expected::object_of(call), options->field_validation);
  if (!review) co_return fail(review.error());
  Result<void> admitted = co_await settle_on(call, *review, *options);
  if (!admitted) co_return fail(admitted.error());
  const Value& request = (*review)["request"];
  json::FieldErrors errors;
  bool is_tree = !request["decision"].is_null(), is_list = !request["conditionSets"].is_null();
  if (request.is_null())
    errors.push_back(json::required("request"));
  else if (is_tree == is_list)
    errors.push_back(json::invalid("request", {},
                                   "exactly one of decision and conditionSets must be specified"));
  check_impersonated(request[kImpersonated], errors);
  if (is_tree && request["admissionRequest"].is_null())
    errors.push_back(json::required("request.admissionRequest"));
  const std::shared_ptr<const authz::Chain> chain = call.services.authorizer.get();
  auto arrange = [&](authz::Conditions::Chain& entries) {
    order_as_ours(*chain, entries);
    entries = nested(*chain, std::move(entries));
  };
  Result<Decision> decision = Decision();
  if (errors.empty() && is_tree)
    decision = authz::wire::from_tree(request["decision"], "request.decision", errors,
                                      authz::Author::kOwn, arrange);
  if (errors.empty() && is_list)
    decision = authz::wire::from_list(request["conditionSets"], "request.conditionSets", errors,
                                      authz::Author::kOwn, arrange);
  if (!errors.empty())
    co_return fail(json::invalid_object(call.resource->group, call.resource->kind, "", errors));
  Matter matter;
  fill(call, is_tree ? request["admissionRequest"] : request, matter);
  matter.data.via = call.info.via;
  fill_impersonated(request[kImpersonated], matter);
  Decision outcome = co_await settled(call, chain, std::move(*decision), matter.data);
  Value response = is_tree ? Value::object({{"uid", request["admissionRequest"]["uid"]},
                                            {"decision", authz::wire::as_tree(outcome)}})
                           : flat_response(outcome);
  review->set("response", std::move(response));
  co_return Answer::of(std::move(*review), 201);
}

}  // namespace cardea::rest

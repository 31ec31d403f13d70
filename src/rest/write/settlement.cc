#include "rest/write/settlement.h"

#include <algorithm>
#include <set>

#include "authz/eligibility.h"
#include "base/strings.h"
#include "rest/asking.h"
#include "rest/call.h"
#include "rest/write/condition_objects.h"
#include "rest/write/field_permissions.h"
#include "rest/write/write.h"

namespace cardea::rest {

using admission::Review;
using json::Value;

namespace {

// Whether permissions on fields may follow a refusal: no authorizer denied, and there was no
// error.
bool is_silent(const authz::Decision& decision) {
  return decision.kind == authz::Decision::Kind::kNoOpinion && decision.error.empty();
}

authz::Attributes granular_attributes(const Call& call) {
  authz::Attributes out{call.user, call.info};
  out.verb = schema::kGranularVerb;
  return out;
}

Task<bool> may_create_granularly(Call& call, const authz::Decision& refusal) {
  if (!call.services.field_permissions || !is_silent(refusal)) co_return false;
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.chain, granular_attributes(call));
  co_return verdict.decision.allowed();
}

Error refused_by_conditions(const Review& review, std::string_view verb,
                            const authz::Decision& decision) {
  authz::Attributes attributes(review.user);
  attributes.is_resource_request = true;
  attributes.verb = verb;
  attributes.api_group = review.resource.group;
  attributes.api_version = review.resource.version;
  attributes.resource = review.resource.name;
  attributes.subresource = review.subresource;
  attributes.namespace_name = review.namespace_name;
  attributes.name = review.name;
  return authz::forbidden(attributes, decision.reason.text());
}

// A connection is about its options.
std::string_view kind_shown(const Review& review) {
  return review.operation == admission::Operation::kConnect ? review.object["kind"].as_string()
                                                            : review.resource.kind;
}

// Replaces the value that authorization set.
void annotate(const Review& review, std::string_view key, std::string_view value) {
  if (review.audit) review.audit->set(key, value);
}

// Rules that list fields see those that only one version of a custom resource has: its versions
// name their fields alike, unless a webhook converts them: then each form is judged by its own.
const schema::ChangedFields* changed_fields(const Call& call, const FieldAccess* fields,
                                            bool are_stored) {
  if (!fields || !fields->changed) return nullptr;
  if (call.resource->is_converted_by_webhook)
    return fields->stored && are_stored ? &*fields->stored : &*fields->changed;
  return fields->stored && call.resource->is_custom ? &*fields->stored : &*fields->changed;
}

}  // namespace

Settlement::Settlement(authz::Permit permit, bool is_granular,
                       std::shared_ptr<const impersonation::OpenImpersonation> acting)
    : permit_(std::move(permit)),
      acting_(std::move(acting)),
      began_granular_(is_granular),
      is_granular_(is_granular) {}
Settlement::~Settlement() = default;
Settlement::Settlement(Settlement&&) noexcept = default;

std::vector<authz::Ground> Settlement::grounds() const {
  std::vector<authz::Ground> out = permit_.decision().reason.grounds();
  if (create_permit_)
    std::ranges::move(create_permit_->decision().reason.grounds(), std::back_inserter(out));
  return out;
}

bool Settlement::has_conditions() const {
  return permit_.is_conditional() || (create_permit_ && create_permit_->is_conditional()) ||
         acting_;
}

void Settlement::start_over() {
  create_permit_.reset();
  is_granular_ = began_granular_;
  fields_are_settled_ = false;
}

Task<Result<void>> Settlement::ask_to_create(Call& call) {
  authz::RequestInfo as_create = call.info;
  as_create.verb = "create";
  authz::Attributes attributes{call.user, as_create};
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.chain, attributes,
                                                     asking(call.services, attributes));
  if (!verdict.permit) {
    bool granular = is_granular_;
    if (!granular) granular = co_await may_create_granularly(call, verdict.decision);
    if (!granular || !is_silent(verdict.decision)) {
      std::string reason = verdict.decision.reason.text();
      note_refusal(call, cat("the object is not there, and creating it is not allowed",
                             reason.empty() ? "" : ": ", reason));
      co_return fail(authz::forbidden(attributes, reason));
    }
    is_granular_ = true;
  }
  create_permit_ = std::move(verdict.permit);
  co_return Result<void>();
}

namespace {

// The Deny conditions of a decision, by id and text.
void add_denials(const authz::Decision& decision,
                 std::set<std::pair<std::string, std::string>>& out) {
  if (!decision.conditions) return;
  if (const auto* set = decision.conditions->set())
    for (const authz::Condition& c : set->conditions)
      if (c.effect == authz::Condition::Effect::kDeny) out.emplace(c.id, c.shown_text());
  if (const auto* chain = decision.conditions->chain())
    for (const authz::NamedDecision& n : *chain) add_denials(n.decision, out);
}

// Whether the second may deny something that the first does not.
bool denies_more(const authz::Decision& first, const authz::Decision& second) {
  if (!authz::possible_outcomes(second).deny) return false;
  if (second.kind != authz::Decision::Kind::kConditional) return true;
  std::set<std::pair<std::string, std::string>> known, more;
  add_denials(first, known);
  add_denials(second, more);
  return more.empty() || !std::ranges::includes(known, more);
}

}  // namespace

Task<Result<void>> Settlement::ask_about_plain_name(Call& call, std::string_view plain_name) {
  authz::Attributes attributes{call.user, call.info};
  for (std::string_view verb : {std::string_view(call.info.verb), std::string_view("create")}) {
    attributes.verb = verb;
    attributes.name = call.info.name;
    // An authorizer that has not been asked yet might deny: all are asked now.
    const authz::Asking how = asking(call.services, attributes) == authz::Asking::kFolded
                                  ? authz::Asking::kFolded
                                  : authz::Asking::kConditionsAwareAtOnce;
    authz::Chain::Verdict written = co_await ask_chain(call, call.chain, attributes, how);
    attributes.name = plain_name;
    authz::Chain::Verdict plain = co_await ask_chain(call, call.chain, attributes, how);
    if (!denies_more(written.decision, plain.decision)) continue;
    constexpr std::string_view kByName = "the object may be denied by its name";
    note_refusal(call, kByName);
    co_return fail(authz::forbidden(attributes, std::string(kByName)));
  }
  co_return Result<void>();
}

Task<Result<void>> Settlement::ask_to_connect(Call& call) {
  if (call.info.verb == "create") co_return Result<void>();
  authz::Attributes attributes{call.user, call.info};
  attributes.verb = "create";
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.chain, attributes,
                                                     asking(call.services, attributes));
  if (!verdict.permit) {
    std::string reason = verdict.decision.error.empty() ? verdict.decision.reason.text()
                                                        : verdict.decision.error;
    note_refusal(call, reason);
    co_return fail(authz::forbidden(attributes, reason));
  }
  create_permit_ = std::move(verdict.permit);
  co_return Result<void>();
}

FieldAccess& Settlement::fields() {
  if (!fields_) fields_ = std::make_unique<FieldAccess>();
  return *fields_;
}

void Settlement::show_stored(Value object, Value old_object) {
  stored_object_ = std::move(object);
  stored_old_object_ = std::move(old_object);
}

admission::OpenAuthorization* Settlement::reopen(Call& call) {
  if (!has_conditions() || is_closed_) return nullptr;
  call_ = &call;
  conditions_are_settled_ = false;
  show_stored(Value(), Value());  // of an attempt before, perhaps
  return this;
}

Task<Result<void>> Settlement::settle(const Review& review) {
  const ConditionObjects shown = objects_for_conditions(call_->services.store, review);
  Result<void> settled = co_await settle_on(review, shown.object, shown.old_object, Form::kShown);
  const bool hides_some = !stored_object_.is_null() || !stored_old_object_.is_null();
  if (settled && hides_some)
    settled = co_await settle_on_stored(review, shown.object, shown.old_object);
  conditions_are_settled_ = settled.has_value();
  co_return settled;
}

// The body of a Scale is the same in all versions; the object behind it is not.
Task<Result<void>> Settlement::settle_on_stored(const Review& review, const Value& object,
                                                const Value& old_object) {
  Result<void> settled;
  if (!whole_.resource) {
    settled = co_await settle_on(review, stored_object_, stored_old_object_, Form::kStored);
    co_return settled;
  }
  const Whole shown = whole_;
  whole_.resource = call_->catalog->storage_of(*call_->resource);
  whole_.object = &stored_object_;
  whole_.old_object = &stored_old_object_;
  settled = co_await settle_on(review, object, old_object, Form::kStored);
  whole_ = shown;
  co_return settled;
}

Task<Result<void>> Settlement::settle_on(const Review& review, const Value& object,
                                         const Value& old_object, Form form) {
  const bool are_stored = form == Form::kStored;
  const catalog::Resource& version = are_stored && review.resource.is_converted_by_webhook
                                         ? *call_->catalog->storage_of(review.resource)
                                         : review.resource;
  NamespaceOnDemand space(call_->services.store, review);
  std::vector<std::string> errors;  // of all permits, those that decided nothing included
  authz::ConditionData data{.operation = operation_name(review.operation),
                            .object = &object,
                            .old_object = old_object.is_null() ? nullptr : &old_object,
                            .options = &review.options,
                            .namespace_on_demand = &space,
                            .dry_run = review.dry_run,
                            .group = review.resource.group,
                            .version = version.version,
                            .kind = kind_shown(review),
                            .resource = review.resource.name,
                            .subresource = review.subresource,
                            .namespace_name = review.namespace_name,
                            .name = review.name,
                            .user = &review.user,
                            .changed = changed_fields(*call_, fields_.get(), are_stored)};
  data.outdone = &errors;
  authz::ConditionData parent = data;
  if (describe_parent(review, whole_, are_stored && !whole_.resource, parent))
    data.parent = &parent;
  const std::pair<std::string_view, const authz::Permit*> permits[] = {
      {call_->info.verb, &permit_}, {"create", create_permit_ ? &*create_permit_ : nullptr}};
  if (acting_) {
    Result<void> may_act = co_await settle_acting(review, data);
    if (!may_act) co_return may_act;
  }
  if (!is_conditional() && !(create_permit_ && create_permit_->is_conditional()))
    co_return Result<void>();  // the decision about the user stands
  std::string reason;
  for (const auto& [verb, permit] : permits) {
    if (!permit || !permit->is_conditional()) continue;
    authz::Decision decision = co_await settle_decision(*call_, call_->chain, permit->decision(),
                                                        data);
    if (!decision.error.empty()) errors.push_back(decision.error);
    if (!errors.empty())
      annotate(review, "authorization.cardea.dev/conditions-error", authz::aggregated(errors));
    if (is_silent(decision)) {
      std::optional<Result<void>> covered = co_await settle_by_fields();
      if (covered && !*covered) co_return std::move(*covered);
      if (covered) continue;
    }
    if (!decision.allowed()) {
      annotate(review, "authorization.k8s.io/decision", "forbid");
      annotate(review, "authorization.k8s.io/reason", decision.reason.text());
      has_refused_ = true;
      co_return fail(refused_by_conditions(review, verb, decision));
    }
    reason = decision.reason.text();
  }
  annotate(review, "authorization.k8s.io/decision", "allow");
  annotate(review, "authorization.k8s.io/reason", reason);
  co_return Result<void>();
}

Task<std::optional<Result<void>>> Settlement::settle_by_fields() {
  Call& call = *call_;
  if (!call.services.field_permissions || !fields_ || !fields_->changed) co_return std::nullopt;
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.chain, granular_attributes(call));
  if (!verdict.decision.allowed()) co_return std::nullopt;
  is_granular_ = true;
  Result<void> covered = co_await authorize_known_change(call);
  co_return std::optional<Result<void>>(std::move(covered));
}

bool Settlement::is_settled() const {
  return (!has_conditions() || conditions_are_settled_) && (!is_granular_ || fields_are_settled_);
}

Result<Settled> Settlement::proof() const {
  // INVARIANT: a request whose conditions or fields have not been decided as Allow writes
  // nothing.
  if (!is_settled())
    return fail(
        internal_error("the conditions or field permissions of this request were not settled"));
  return Settled();
}

}  // namespace cardea::rest

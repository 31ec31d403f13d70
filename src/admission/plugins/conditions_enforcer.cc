#include "admission/plugins.h"
#include "authz/authorizer.h"
#include "base/strings.h"
#include "net/loop.h"

namespace cardea::admission {
namespace {

// The namespace of a request. Few conditions look at it, and none needs it otherwise.
class SpaceOnDemand : public authz::ObjectOnDemand {
 public:
  SpaceOnDemand(const Objects& objects, const Review& review)
      : objects_(objects), review_(review) {}
  const json::Value* get() const override {
    if (!space_)
      space_ = review_.namespace_name.empty()
                   ? json::Value()
                   : objects_.get(review_.catalog, "", "namespaces", "", review_.namespace_name);
    return space_->is_null() ? nullptr : &*space_;
  }

 private:
  const Objects& objects_;
  const Review& review_;
  mutable std::optional<json::Value> space_;
};

// The objects that conditions are about.
struct Shown {
  json::Value object, old_object;
};

// Whether the request brings an object of another kind than the one it is about: an Eviction, a
// Binding, a TokenRequest, a Scale.
bool brings_another_kind(const Review& review) {
  if (review.operation == Operation::kConnect) return false;
  if (review.subresource.empty())
    return review.resource.group.empty() && review.resource.name == "bindings";
  const catalog::Subresource* s = review.resource.subresource(review.subresource);
  return s && !s->kind.empty() && s->kind != review.resource.kind;
}

json::Value with_metadata_of(json::Value body, const json::Value& parent) {
  json::Value meta = parent["metadata"];
  if (meta.is_null()) meta = json::Value::object();
  meta.erase("managedFields");
  body.set("metadata", std::move(meta));
  return body;
}

// Settles what authorization left open, now that the object is what it is going to be. Nothing
// conditional is written unless this said yes: without it, a conditional decision never becomes
// one.
class ConditionsEnforcer : public Plugin {
 public:
  explicit ConditionsEnforcer(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "AuthorizationConditionsEnforcer"; }
  bool handles(const Review& review) const override { return review.authorization != nullptr; }

  Task<Result<void>> validate(const Review& review) const override {
    const Authorization& a = *review.authorization;
    Shown shown = shown_to_conditions(review);
    Result<void> settled = co_await settle(review, std::move(shown), false);
    bool hides_some = !a.stored_object.is_null() || !a.stored_old_object.is_null();
    if (settled && hides_some)
      settled = co_await settle(review, {a.stored_object, a.stored_old_object}, true);
    review.authorization->is_settled = settled.has_value();
    co_return settled;
  }

 private:
  // `are_stored`: the objects are shown whole, as they rest in the store.
  Task<Result<void>> settle(const Review& review, Shown shown, bool are_stored) const {
    Authorization& authorization = *review.authorization;
    SpaceOnDemand space(objects_, review);
    authz::ConditionData data{
        .operation = operation_name(review.operation),
        .object = &shown.object,
        .old_object = shown.old_object.is_null() ? nullptr : &shown.old_object,
        .options = &review.options,
        .namespace_on_demand = &space,
        .dry_run = review.dry_run,
        .group = review.resource.group,
        .version = review.resource.version,
        .kind = review.resource.kind,
        .resource = review.resource.name,
        .subresource = review.subresource,
        .namespace_name = review.namespace_name,
        .name = review.name,
        .user = &review.user,
        .changed = authorization.changed};
    std::vector<std::string> errors;  // of all permits, those that decided nothing included
    data.outdone = &errors;
    authz::ConditionData parent = data;
    if (tell_of_parent(review, are_stored, parent)) data.parent = &parent;
    std::string reason;
    for (const auto& [verb, permit] : authorization.permits) {
      if (!permit->is_conditional()) continue;
      authz::Decision decision = co_await authorization.chain->evaluate(permit->decision(), data);
      // A webhook may have answered on another thread.
      if (review.loop && !review.loop->in_loop()) {
        bool back = co_await await_callback<bool>(
            [loop = review.loop](auto done) { loop->post([done]() mutable { done(true); }); });
        (void)back;
      }
      if (!decision.error.empty()) errors.push_back(decision.error);
      if (!errors.empty())
        annotate(review, "authorization.cardea.dev/conditions-error", authz::aggregated(errors));
      if (decision.kind == authz::Decision::Kind::kNoOpinion && decision.error.empty() &&
          authorization.otherwise) {
        std::optional<Result<void>> covered = co_await authorization.otherwise();
        if (covered && !*covered) co_return std::move(*covered);
        if (covered) continue;
      }
      if (!decision.allowed()) {
        annotate(review, "authorization.k8s.io/decision", "forbid");
        annotate(review, "authorization.k8s.io/reason", decision.reason.text());
        authorization.is_refused = true;
        co_return fail(refusal(review, verb, decision));
      }
      reason = decision.reason.text();
    }
    annotate(review, "authorization.k8s.io/decision", "allow");
    annotate(review, "authorization.k8s.io/reason", reason);
    co_return Result<void>{};
  }

  // INVARIANT: labels and all other metadata that conditions see are those of the object that the
  // request is about. What the caller writes into the metadata of another body counts for nothing.
  Shown shown_to_conditions(const Review& review) const {
    if (brings_another_kind(review)) {
      std::string_view resource = review.subresource.empty()
                                      ? "pods"
                                      : std::string_view(review.resource.name);
      json::Value parent = objects_.get(review.catalog, review.resource.group, resource,
                                        review.namespace_name, review.name);
      json::Value old = review.old_object ? with_metadata_of(*review.old_object, parent) : parent;
      return {with_metadata_of(review.object, parent), std::move(old)};
    }
    return {review.object, review.old_object ? *review.old_object : json::Value()};
  }

  // What the request does to the object that it is a way to. False: nobody knows. What is sent
  // never stands in for the object, unless it is the whole object.
  static bool tell_of_parent(const Review& review, bool are_stored, authz::ConditionData& out) {
    const Authorization::Whole& whole = review.authorization->whole;
    out.subresource = "";
    if (are_stored) return true;
    if (whole.resource) {
      out.operation = operation_name(whole.operation);
      out.object = whole.object;
      out.old_object = whole.old_object;
      out.group = whole.resource->group;
      out.version = whole.resource->version;
      out.kind = whole.resource->kind;
      out.resource = whole.resource->name;
      out.name = whole.name;
      return true;
    }
    const catalog::Subresource* part = review.resource.subresource(review.subresource);
    return part && review.old_object && (part->kind.empty() || part->kind == review.resource.kind);
  }

  // Takes the place of what authorization said of itself.
  static void annotate(const Review& review, std::string_view key, std::string_view value) {
    if (review.audit) review.audit->set(key, value);
  }

  static Error refusal(const Review& review, std::string_view verb,
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

  Objects objects_;
};

}  // namespace

std::unique_ptr<Plugin> conditions_enforcer(Objects objects) {
  return std::make_unique<ConditionsEnforcer>(objects);
}

}  // namespace cardea::admission

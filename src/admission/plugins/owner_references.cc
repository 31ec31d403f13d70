// A user who gives an object an owner lets the garbage collector delete the object. A user who
// blocks the deletion of an owner changes that owner.
#include <algorithm>

#include "admission/plugins.h"
#include "base/strings.h"
#include "net/loop.h"

namespace cardea::admission {
namespace {

using authz::Decision;
using json::Value;

const Value& owners_of(const Value& object) {
  return object["metadata"]["ownerReferences"];
}
bool blocks(const Value& owner) {
  return owner["blockOwnerDeletion"].as_bool();
}

bool changes_owners(const Review& r) {
  const Value& now = owners_of(r.object);
  if (!r.old_object) return !now.empty();
  const Value& old = owners_of(*r.old_object);
  return (!now.empty() || !old.empty()) && now != old;
}

// Owners that are new and blocking, or that did not block before.
std::vector<const Value*> newly_blocking(const Review& r) {
  static const Value kNone;
  const Value& old = r.old_object ? owners_of(*r.old_object) : kNone;
  std::vector<const Value*> out;
  for (const Value& owner : owners_of(r.object).items()) {
    if (!blocks(owner)) continue;
    bool did = std::ranges::any_of(
        old.items(), [&](const Value& o) { return o["uid"] == owner["uid"] && blocks(o); });
    if (!did) out.push_back(&owner);
  }
  return out;
}

// The resources of a kind; of one version, since a reference names it.
std::vector<const catalog::Resource*> resources_of(const catalog::Catalog& catalog,
                                                   std::string_view api_version,
                                                   std::string_view kind) {
  std::vector<const catalog::Resource*> out;
  for (const catalog::Group& group : catalog.groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources)
        if (r->kind == kind && r->api_version() == api_version) out.push_back(r);
  return out;
}

std::string told(const Decision& d) {
  return cat(d.reason.text(), ", ", d.error.empty() ? "<nil>" : d.error);
}

class OwnerReferences : public Plugin {
 public:
  explicit OwnerReferences(const authz::CurrentChain& authorizer) : authorizer_(authorizer) {}
  std::string_view name() const override { return "OwnerReferencesPermissionEnforcement"; }

  bool handles(const Review& r) const override {
    if (r.operation != Operation::kCreate && r.operation != Operation::kUpdate) return false;
    // Which cannot change them, and old kubelets send what they do not know.
    bool is_pod_status = r.resource.group.empty() && r.resource.name == "pods" &&
                         r.subresource == "status";
    return !is_pod_status && changes_owners(r);
  }

  Task<Result<void>> validate(const Review& r) const override {
    std::shared_ptr<const authz::Chain> chain = authorizer_.get();
    // The creator of an object may name its owners, unless a document denies the creator to delete
    // it.
    const bool is_new = r.operation == Operation::kCreate;
    if (!is_new || chain->may_deny()) {
      Result<void> may = co_await check_deletion(r, chain, r.subresource);
      // Kubernetes asks about the part that is written. It is the whole object that gets deleted.
      if (may && !is_new && !r.subresource.empty()) may = co_await check_deletion(r, chain, "");
      if (!may) co_return may;
    }
    Result<void> may_block = co_await check_blocking(r, chain);
    co_return may_block;
  }

 private:
  static Task<bool> back_on_loop(const Review& r) {
    if (r.loop && !r.loop->in_loop()) {
      bool back = co_await await_callback<bool>(
          [loop = r.loop](auto done) { loop->post([done]() mutable { done(true); }); });
      (void)back;
    }
    co_return true;
  }

  static Task<Result<void>> check_deletion(const Review& r,
                                           std::shared_ptr<const authz::Chain> chain,
                                           std::string_view subresource) {
    Decision decision = co_await may_delete(r, chain, subresource);
    bool back = co_await back_on_loop(r);
    (void)back;
    bool is_new = r.operation == Operation::kCreate;
    bool refused = is_new ? decision.kind == Decision::Kind::kDeny : !decision.allowed();
    if (!refused) co_return Result<void>{};
    co_return fail(forbidden(
        r, cat("cannot set an ownerRef on a resource you can't delete: ", told(decision))));
  }

  // What the chain says to a deletion of the object or of a part of it, conditions settled on it.
  static Task<Decision> may_delete(const Review& r, std::shared_ptr<const authz::Chain> chain,
                                   std::string_view subresource) {
    authz::Attributes a(r.user);
    a.is_resource_request = true;
    a.verb = "delete";
    a.api_group = r.resource.group;
    a.api_version = r.resource.version;
    a.resource = r.resource.name;
    a.subresource = subresource;
    a.namespace_name = r.namespace_name;
    a.name = r.name;
    authz::Chain::Verdict verdict = co_await chain->authorize(
        a, authz::Asking::kConditionsAwareAtOnce);
    if (verdict.decision.kind != Decision::Kind::kConditional)
      co_return std::move(verdict.decision);
    authz::ConditionData data{.operation = operation_name(Operation::kDelete),
                              .old_object = r.old_object ? r.old_object : &r.object,
                              .group = r.resource.group,
                              .version = r.resource.version,
                              .kind = r.resource.kind,
                              .resource = r.resource.name,
                              .subresource = subresource,
                              .namespace_name = r.namespace_name,
                              .name = r.name,
                              .user = &r.user};
    Decision settled = co_await chain->evaluate(std::move(verdict.decision), data);
    co_return settled;
  }

  static Task<Result<void>> check_blocking(const Review& r,
                                           std::shared_ptr<const authz::Chain> chain) {
    for (const Value* owner : newly_blocking(r)) {
      std::string_view version = (*owner)["apiVersion"].as_string(),
                       kind = (*owner)["kind"].as_string();
      std::vector<const catalog::Resource*> resources = resources_of(r.catalog, version, kind);
      if (resources.empty())
        co_return fail(forbidden(r, cat("cannot set blockOwnerDeletion in this case because cannot "
                                        "find RESTMapping for APIVersion ",
                                        version, " Kind ", kind, ": no matches for kind ",
                                        quoted(kind), " in version ", quoted(version))));
      // A kind may be that of several resources: all of them count.
      for (const catalog::Resource* resource : resources) {
        authz::Attributes a(r.user);
        a.is_resource_request = true;
        a.verb = "update";
        a.api_group = resource->group;
        a.api_version = resource->version;
        a.resource = resource->name;
        a.subresource = "finalizers";
        if (resource->namespaced) a.namespace_name = r.namespace_name;
        a.name = (*owner)["name"].as_string();
        authz::Chain::Verdict verdict = co_await chain->authorize(a);
        bool back = co_await back_on_loop(r);
        (void)back;
        if (!verdict.decision.allowed())
          co_return fail(
              forbidden(r, cat("cannot set blockOwnerDeletion if an ownerReference refers to a "
                               "resource you can't set finalizers on: ",
                               told(verdict.decision))));
      }
    }
    co_return Result<void>{};
  }

  const authz::CurrentChain& authorizer_;
};

}  // namespace

std::unique_ptr<Plugin> owner_references(const authz::CurrentChain& authorizer) {
  return std::make_unique<OwnerReferences>(authorizer);
}

}  // namespace cardea::admission

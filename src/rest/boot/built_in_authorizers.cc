#include "rest/boot/built_in_authorizers.h"

#include "authz/node/node_authorizer.h"
#include "authz/rbac/rbac_authorizer.h"
#include "base/strings.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

std::string uid_of_node(const void* store, std::string_view node) {
  const store::RecordPtr record = static_cast<const store::Store*>(store)->get(
      cat("/registry/minions/", node));
  return record ? std::string(parse_stored(*record)["metadata"]["uid"].as_string()) : "";
}

}  // namespace

Result<std::unique_ptr<BuiltInAuthorizers>> BuiltInAuthorizers::make(
    store::Store& store, const Snapshot<catalog::Catalog>& catalog,
    const NamespacePolicySettings& settings, bool node_conditions, Random& random,
    MetricRegistry& metrics) {
  std::unique_ptr<BuiltInAuthorizers> self(new BuiltInAuthorizers(random, catalog));
  auto feed = feeds::NodeGraphFeed::start(store, self->nodes_);
  if (!feed) return fail(feed.error());
  self->node_feed_ = std::move(*feed);
  auto roles = feeds::RoleFeed::start(store);
  if (!roles) return fail(roles.error());
  self->roles_ = std::move(*roles);
  auto access = feeds::AccessPolicyFeed::start(store);
  if (!access) return fail(access.error());
  self->access_ = std::move(*access);
  auto policies = feeds::NamespacePolicyFeed::start(store, settings.master, settings.groups);
  if (!policies) return fail(policies.error());
  self->policies_ = std::move(*policies);
  self->namespace_policy_ = std::make_shared<const authz::namespace_policy::PolicyAuthorizer>(
      self->policies_->snapshot(),
      authz::namespace_policy::Surroundings{
          .kinds = &self->kinds_, .nodes = &self->nodes_, .node_names = settings.node_names},
      &metrics);
  std::optional<authz::node::WriteConditions> conditions;
  if (node_conditions) conditions.emplace(uid_of_node, &store);
  self->by_type_ = {
      {"Node", std::make_shared<authz::node::NodeAuthorizer>(self->nodes_, authz::node::Features(),
                                                             conditions)},
      {"Access",
       std::make_shared<authz::access::AccessAuthorizer>(self->access_->snapshot(), &metrics)},
      {"Policy", self->namespace_policy_},
      {"RBAC", std::make_shared<authz::rbac::RbacAuthorizer>(self->roles_->snapshot())}};
  return self;
}

}  // namespace cardea::rest

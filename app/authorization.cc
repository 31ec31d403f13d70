#include "app/authorization.h"

#include "authz/node/node_authorizer.h"
#include "authz/rbac/rbac_authorizer.h"

namespace cardea::app {

Result<std::unique_ptr<Authorization>> Authorization::make(store::Store& store, const Snapshot<catalog::Catalog>& catalog, const ServeOptions& options,
                                                           const authz::WebhookSurroundings& surroundings, AuthorizerChain::Log log) {
  std::unique_ptr<Authorization> self(new Authorization(surroundings.random, catalog));
  auto feed = authz::node::GraphFeed::start(store, self->nodes_);
  if (!feed) return fail(feed.error());
  self->node_feed_ = std::move(*feed);
  auto policy = authz::rbac::PolicyIndex::load(store);
  if (!policy) return fail(policy.error());
  self->policy_ = std::move(*policy);
  auto access = authz::access::PolicyFeed::load(store);
  if (!access) return fail(access.error());
  self->access_ = std::move(*access);
  auto policies = authz::policy::PolicyFeed::load(store, options.policy_master_namespace);
  if (!policies) return fail(policies.error());
  self->policies_ = std::move(*policies);
  self->namespace_policy_ = std::make_shared<const authz::policy::PolicyAuthorizer>(
      *self->policies_, authz::policy::Surroundings{.kinds = &self->kinds_, .nodes = &self->nodes_}, &surroundings.metrics);
  auto chain = AuthorizerChain::make(options,
                                     {{"Node", std::make_shared<authz::node::NodeAuthorizer>(self->nodes_)},
                                      {"Access", std::make_shared<authz::access::AccessAuthorizer>(*self->access_, &surroundings.metrics)},
                                      {"Policy", self->namespace_policy_},
                                      {"RBAC", std::make_shared<authz::rbac::RbacAuthorizer>(*self->policy_)}},
                                     surroundings, std::move(log));
  if (!chain) return fail(chain.error());
  self->chain_ = std::move(*chain);
  return self;
}

}  // namespace cardea::app

#include "app/authorization.h"

#include "authz/node/node_authorizer.h"
#include "authz/rbac/rbac_authorizer.h"

namespace cardea::app {

Result<std::unique_ptr<Authorization>> Authorization::make(store::Store& store, const ServeOptions& options,
                                                           const authz::WebhookSurroundings& surroundings, AuthorizerChain::Log log) {
  std::unique_ptr<Authorization> self(new Authorization(surroundings.random));
  auto feed = authz::node::GraphFeed::start(store, self->nodes_);
  if (!feed) return fail(feed.error());
  self->node_feed_ = std::move(*feed);
  auto policy = authz::rbac::PolicyIndex::load(store);
  if (!policy) return fail(policy.error());
  self->policy_ = std::move(*policy);
  auto access = authz::access::PolicyFeed::load(store);
  if (!access) return fail(access.error());
  self->access_ = std::move(*access);
  auto chain = AuthorizerChain::make(options,
                                     {{"Node", std::make_shared<authz::node::NodeAuthorizer>(self->nodes_)},
                                      {"Access", std::make_shared<authz::access::AccessAuthorizer>(*self->access_, &surroundings.metrics)},
                                      {"RBAC", std::make_shared<authz::rbac::RbacAuthorizer>(*self->policy_)}},
                                     surroundings, std::move(log));
  if (!chain) return fail(chain.error());
  self->chain_ = std::move(*chain);
  return self;
}

}  // namespace cardea::app

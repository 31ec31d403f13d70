#include "app/authorization.h"

#include "authz/node/node_authorizer.h"
#include "authz/rbac/rbac_authorizer.h"
#include "base/strings.h"

namespace cardea::app {

std::shared_ptr<const authz::Authorizer> Authorization::make_authorizer(const std::string& mode) const {
  if (mode == "AlwaysAllow") return authz::always_allow();
  if (mode == "AlwaysDeny") return authz::always_deny();
  if (mode == "Node") return std::make_shared<authz::node::NodeAuthorizer>(nodes_);
  if (mode == "RBAC") return std::make_shared<authz::rbac::RbacAuthorizer>(*policy_);
  if (mode == "Webhook" || mode == "ABAC") return authz::unavailable_mode(mode);
  return nullptr;
}

Result<std::unique_ptr<Authorization>> Authorization::make(store::Store& store, Random& random, const std::vector<std::string>& modes,
                                                           const std::function<void(const std::string&)>& warn) {
  std::unique_ptr<Authorization> self(new Authorization(random));
  auto feed = authz::node::GraphFeed::start(store, self->nodes_);
  if (!feed) return fail(feed.error());
  self->node_feed_ = std::move(*feed);
  auto policy = authz::rbac::PolicyIndex::load(store);
  if (!policy) return fail(policy.error());
  self->policy_ = std::move(*policy);

  std::vector<std::shared_ptr<const authz::Authorizer>> list{authz::masters_authorizer()};
  for (const std::string& mode : modes) {
    auto authorizer = self->make_authorizer(mode);
    if (!authorizer) return fail(bad_request(cat("unknown authorization mode `", mode, "`")));
    if (mode == "Webhook" || mode == "ABAC") warn(cat("authorization mode ", mode, " is not built yet and allows nothing"));
    list.push_back(std::move(authorizer));
  }
  self->chain_ = std::make_unique<authz::CurrentChain>(std::make_shared<authz::Chain>(std::move(list)));
  return self;
}

}  // namespace cardea::app

#pragma once
#include <memory>

#include "app/authorizer_chain.h"
#include "app/options.h"
#include "authz/access/access_authorizer.h"
#include "authz/current_chain.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "authz/node/graph.h"
#include "authz/rbac/policy_index.h"
#include "base/result.h"

namespace cardea::app {

// The authorizers of a server and what they decide from, kept in step with the store. Everything is
// loaded when `make` returns: nobody is answered before.
class Authorization {
 public:
  // As the flags or --authorization-config say. The store, the catalogue and the surroundings
  // outlive it; `log` takes lines for people.
  static Result<std::unique_ptr<Authorization>> make(store::Store& store,
                                                     const Snapshot<catalog::Catalog>& catalog,
                                                     const ServeOptions& options,
                                                     const authz::WebhookSurroundings& surroundings,
                                                     AuthorizerChain::Log log);

  const authz::CurrentChain& chain() const { return chain_->current(); }
  const authz::rbac::PolicyIndex& policy() const { return *policy_; }
  const authz::namespace_policy::PolicyAuthorizer& namespace_policy() const {
    return *namespace_policy_;
  }
  const authz::node::Graph& nodes() const { return nodes_; }
  // What is excluded from whole objects is not allowed by the `*` of a namespace policy. Before the
  // first request; the feed outlives this.
  void follow(const authz::fields::UncoveredFeed& uncovered) { kinds_.follow(uncovered); }

 private:
  Authorization(Random& random, const Snapshot<catalog::Catalog>& catalog)
      : nodes_(random), kinds_(catalog) {}

  authz::node::Graph nodes_;
  std::unique_ptr<authz::node::GraphFeed> node_feed_;
  std::unique_ptr<authz::rbac::PolicyIndex> policy_;
  std::unique_ptr<authz::access::PolicyFeed> access_;
  authz::namespace_policy::CatalogKinds kinds_;
  std::unique_ptr<authz::namespace_policy::PolicyFeed> policies_;
  std::shared_ptr<const authz::namespace_policy::PolicyAuthorizer> namespace_policy_;
  std::shared_ptr<AuthorizerChain> chain_;
};

}  // namespace cardea::app

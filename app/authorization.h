#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "authz/current_chain.h"
#include "authz/node/graph.h"
#include "authz/rbac/policy_index.h"
#include "base/random.h"
#include "base/result.h"

namespace cardea::app {

// The authorizers of a server and what they decide from, kept in step with the store. Everything is loaded when
// `make` returns: nobody is answered before.
class Authorization {
 public:
  // `modes` in the order in which they are asked. `store` and `random` outlive it.
  static Result<std::unique_ptr<Authorization>> make(store::Store& store, Random& random, const std::vector<std::string>& modes,
                                                     const std::function<void(const std::string&)>& warn);

  const authz::CurrentChain& chain() const { return *chain_; }
  const authz::rbac::PolicyIndex& policy() const { return *policy_; }
  const authz::node::Graph& nodes() const { return nodes_; }

 private:
  explicit Authorization(Random& random) : nodes_(random) {}
  // Null for a mode that does not exist.
  std::shared_ptr<const authz::Authorizer> make_authorizer(const std::string& mode) const;

  authz::node::Graph nodes_;
  std::unique_ptr<authz::node::GraphFeed> node_feed_;
  std::unique_ptr<authz::rbac::PolicyIndex> policy_;
  std::unique_ptr<authz::CurrentChain> chain_;
};

}  // namespace cardea::app

#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "authz/access/access_authorizer.h"
#include "authz/fields/uncovered.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "authz/node/graph.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "feeds/access_policy_feed.h"
#include "feeds/catalog_kinds.h"
#include "feeds/namespace_policy_feed.h"
#include "feeds/node_graph_feed.h"
#include "feeds/role_feed.h"

namespace cardea::rest {

// The settings of namespace policy besides its documents.
struct NamespacePolicySettings {
  std::string master = "master";  // the namespace whose roles may be bound from everywhere
  std::shared_ptr<const authz::namespace_policy::ResourceGroups> groups;  // null: the built-in ones
  std::map<std::string, std::string, std::less<>> node_names;             // of users
};

// The authorizers that every server has, whether or not its chain names them, and what they decide
// from, kept in step with the store. Everything is loaded when `make` returns.
class BuiltInAuthorizers {
 public:
  using ByType = std::map<std::string, std::shared_ptr<const authz::Authorizer>, std::less<>>;

  // The store, the catalogue, the random source and the metrics outlive it.
  static Result<std::unique_ptr<BuiltInAuthorizers>> make(store::Store& store,
                                                          const Snapshot<catalog::Catalog>& catalog,
                                                          const NamespacePolicySettings& settings,
                                                          bool node_conditions, Random& random,
                                                          MetricRegistry& metrics);

  // Node, Access, Policy and RBAC, by the names that --authorization-mode has for them.
  const ByType& by_type() const { return by_type_; }
  const Snapshot<authz::rbac::RoleTable>& roles() const { return roles_->snapshot(); }
  const Snapshot<authz::access::Index>& access_policies() const { return access_->snapshot(); }
  const authz::namespace_policy::PolicyAuthorizer& namespace_policy() const {
    return *namespace_policy_;
  }
  // What is excluded from whole objects is not allowed by the `*` of a namespace policy. Before the
  // first request; `uncovered` outlives this.
  void follow(const Snapshot<authz::fields::Uncovered>& uncovered) { kinds_.follow(uncovered); }

 private:
  BuiltInAuthorizers(Random& random, const Snapshot<catalog::Catalog>& catalog)
      : nodes_(random), kinds_(catalog) {}

  authz::node::Graph nodes_;
  std::unique_ptr<feeds::NodeGraphFeed> node_feed_;
  std::unique_ptr<feeds::RoleFeed> roles_;
  std::unique_ptr<feeds::AccessPolicyFeed> access_;
  feeds::CatalogKinds kinds_;
  std::unique_ptr<feeds::NamespacePolicyFeed> policies_;
  std::shared_ptr<const authz::namespace_policy::PolicyAuthorizer> namespace_policy_;
  ByType by_type_;
};

}  // namespace cardea::rest

#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "authz/authorizer.h"
#include "authz/node/graph.h"
#include "authz/node/write_conditions.h"

namespace cardea::authz::node {

// The node of a user: name `system:node:NAME` in group `system:nodes`. nullopt: not a node.
// Empty: a node without a name.
std::optional<std::string_view> node_of(const User& user);

// Parts of Kubernetes that the rules depend on; as they are by default in 1.36.
struct Features {
  bool service_account_reads = true;           // KubeletServiceAccountTokenForCredentialProviders
  bool pod_certificate_requests = false;       // PodCertificateRequest
  bool cluster_trust_bundles = false;          // ClusterTrustBundle
  std::optional<bool> csi_volume_health = {};  // CSIVolumeHealth; 1.36 does not know it
};

// Allows the requests that a kubelet needs: its own Node, its pods, and the objects that the
// graph says they need. Never denies, and has no opinion about users that are not nodes.
//
// Allowing allocates nothing. Borrows the graph.
class NodeAuthorizer : public Authorizer {
 public:
  // With `conditions` the object decides about writes; without, writes are allowed as far as the
  // request tells, and the admission plugin NodeRestriction looks at the object.
  explicit NodeAuthorizer(const Graph& graph, Features features = {},
                          std::optional<WriteConditions> conditions = std::nullopt);

  std::string_view name() const override { return "node"; }
  std::string_view type() const override { return "Node"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override;
  Task<Decision> evaluate(std::shared_ptr<const Conditions> conditions,
                          const ConditionData& data) const override;
  void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const override;
  // The nodes that may do it by the graph, the name or the selector of the question, as users;
  // where every node may, the group of all nodes. No binding grants it, and a user counts as a
  // node only in that group.
  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override;
  std::shared_ptr<const Authorizer> frozen() const override;

 private:
  NodeAuthorizer(const NodeAuthorizer& live, std::shared_ptr<const Graph> graph);

  std::shared_ptr<const Graph> still_;  // of one that is frozen
  const Graph& graph_;                  // what decisions ask
  const Graph& live_;
  Features features_;
  std::optional<WriteConditions> conditions_;  // nullopt: the object does not matter
};

}  // namespace cardea::authz::node

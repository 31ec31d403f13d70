#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "authz/authorizer.h"
#include "authz/node/graph.h"

namespace cardea::authz::node {

// The node a user is: name `system:node:NAME` in group `system:nodes`. nullopt: not a node. Empty:
// one without a name.
std::optional<std::string_view> node_of(const User& user);

// Parts of Kubernetes that the rules depend on; as they are by default in 1.36.
struct Features {
  bool service_account_reads = true;           // KubeletServiceAccountTokenForCredentialProviders
  bool pod_certificate_requests = false;       // PodCertificateRequest
  bool cluster_trust_bundles = false;          // ClusterTrustBundle
  std::optional<bool> csi_volume_health = {};  // CSIVolumeHealth; 1.36 does not know it
};

// Lets kubelets do what a kubelet has to: its own Node, its pods, and what the graph says that they
// need. Never denies, and has no opinion of anybody who is no node.
//
// Allowing allocates nothing. Borrows the graph.
class NodeAuthorizer : public Authorizer {
 public:
  explicit NodeAuthorizer(const Graph& graph, Features features = {});

  std::string_view name() const override { return "node"; }
  std::string_view type() const override { return "Node"; }
  std::optional<Decision> authorize(const Attributes& attributes) const override;
  void add_rules(const User& user, std::string_view namespace_name, Rules& rules) const override;
  // The nodes that the graph, the name or the selector of the question lead to, as users; where it
  // does not matter which node asks, the group of all. No binding says so, and a user counts as a
  // node only in that group.
  void add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const override;
  std::shared_ptr<const Authorizer> frozen() const override;

 private:
  NodeAuthorizer(const NodeAuthorizer& live, std::shared_ptr<const Graph> graph);

  std::shared_ptr<const Graph> still_;  // of one that is frozen
  const Graph& graph_;                  // what decisions ask
  const Graph& live_;
  Features features_;
};

}  // namespace cardea::authz::node

#include "authz/node/node_authorizer.h"

#include <algorithm>
#include <set>

#include "base/strings.h"

namespace cardea::authz::node {
namespace {

// One question of a node.
struct Question {
  const Attributes& asked;
  std::string_view node;
  const Graph& graph;
  const Features& features;

  bool is(std::string_view group, std::string_view resource) const {
    return asked.api_group == group && asked.resource == resource;
  }
  bool verb_in(std::initializer_list<std::string_view> verbs) const {
    return std::ranges::find(verbs, asked.verb) != verbs.end();
  }

  // Whether the request is about this node's objects alone. What could not be read of a selector
  // does not count.
  bool selects_node() const {
    if (!asked.selectors) return false;
    return std::ranges::any_of(asked.selectors->fields.terms(), [this](const auto& term) {
      return term.equal && term.field == "spec.nodeName" && term.value == node;
    });
  }
};

Decision allow() {
  return Decision::allow();
}
Decision pass(const char* why = "") {
  return Decision::no_opinion(*why ? Explanation(why) : Explanation());
}

// Except for the cases below, all nodes have the same permissions.
struct StaticRule {
  std::string_view group, resource;
  std::string_view verbs[4];
};
constexpr StaticRule kStaticRules[] = {
    {"authentication.k8s.io", "tokenreviews", {"create"}},
    {"authorization.k8s.io", "localsubjectaccessreviews", {"create"}},
    {"authorization.k8s.io", "subjectaccessreviews", {"create"}},
    {"", "services", {"get", "list", "watch"}},
    {"", "events", {"create", "patch", "update"}},
    {"events.k8s.io", "events", {"create", "patch", "update"}},
    {"", "endpoints", {"get"}},
    {"certificates.k8s.io", "certificatesigningrequests", {"create", "get", "list", "watch"}},
    {"storage.k8s.io", "csidrivers", {"get", "list", "watch"}},
    {"node.k8s.io", "runtimeclasses", {"get", "list", "watch"}},
};

Decision by_static_rules(const Question& q) {
  for (const StaticRule& rule : kStaticRules)
    if (q.asked.subresource.empty() && q.is(rule.group, rule.resource) && !q.asked.verb.empty() &&
        std::ranges::find(rule.verbs, q.asked.verb) != std::end(rule.verbs))
      return allow();
  return pass();
}

// Decides by the graph.
Decision related(const Question& q, Kind kind) {
  if (q.asked.name.empty()) return pass("No Object name found");
  if (q.graph.leads_to(kind, q.asked.namespace_name, q.asked.name, q.node)) return allow();
  return Decision::no_opinion(
      cat("no relationship found between node '", q.node, "' and this object"));
}

Decision get_only(const Question& q, Kind kind) {
  if (q.asked.verb != "get") return pass("can only get individual resources of this type");
  if (!q.asked.subresource.empty()) return pass("cannot get subresource");
  return related(q, kind);
}

Decision read_namespaced(const Question& q, Kind kind) {
  if (!q.verb_in({"get", "list", "watch"})) return pass("can only read resources of this type");
  if (!q.asked.subresource.empty()) return pass("cannot read subresource");
  if (q.asked.namespace_name.empty()) return pass("can only read namespaced object of this type");
  return related(q, kind);
}

Decision secrets(const Question& q) {
  return read_namespaced(q, Kind::kSecret);
}
Decision config_maps(const Question& q) {
  return read_namespaced(q, Kind::kConfigMap);
}
Decision volumes(const Question& q) {
  return get_only(q, Kind::kVolume);
}
Decision volume_attachments(const Question& q) {
  return get_only(q, Kind::kVolumeAttachment);
}
Decision resource_claims(const Question& q) {
  return get_only(q, Kind::kResourceClaim);
}

Decision claims(const Question& q) {
  if (q.asked.subresource != "status") return get_only(q, Kind::kClaim);
  if (!q.verb_in({"update", "patch"})) return pass("can only get/update/patch this type");
  return related(q, Kind::kClaim);
}

Decision service_accounts(const Question& q) {
  constexpr const char* kTokensOnly = "can only create tokens for individual service accounts";
  if (q.asked.verb == "get" && q.asked.subresource.empty()) {
    if (!q.features.service_account_reads) return pass("not allowed to get service accounts");
    return related(q, Kind::kServiceAccount);
  }
  if (q.asked.verb != "create" || q.asked.name.empty()) return pass(kTokensOnly);
  if (q.asked.subresource != "token")
    return pass("can only create token subresource of serviceaccount");
  return related(q, Kind::kServiceAccount);
}

Decision leases(const Question& q) {
  if (!q.verb_in({"get", "create", "update", "patch", "delete"}))
    return pass("can only get, create, update, patch, or delete a node lease");
  if (q.asked.namespace_name != "kube-node-lease")
    return pass("can only access leases in the \"kube-node-lease\" system namespace");
  // A create has no name yet; NodeRestriction looks at it.
  if (q.asked.verb != "create" && q.asked.name != q.node)
    return pass("can only access node lease with the same name as the requesting node");
  return allow();
}

Decision csi_nodes(const Question& q) {
  if (!q.verb_in({"get", "create", "update", "patch", "delete"}))
    return pass("can only get, create, update, patch, or delete a CSINode");
  if (q.asked.subresource == "status" && q.features.csi_volume_health) {
    if (!*q.features.csi_volume_health)
      return pass("CSINode status access requires CSIVolumeHealth feature");
    if (!q.verb_in({"get", "update", "patch"}))
      return pass("can only get, update, or patch CSINode status");
  } else if (!q.asked.subresource.empty()) {
    return pass("cannot authorize CSINode subresources");
  }
  if (q.asked.verb != "create" && q.asked.name != q.node)
    return pass("can only access CSINode with the same name as the requesting node");
  return allow();
}

Decision resource_slices(const Question& q) {
  if (!q.asked.subresource.empty()) return pass("cannot authorize ResourceSlice subresources");
  if (q.asked.verb == "create") return allow();  // NodeRestriction looks at its node
  if (q.verb_in({"get", "update", "patch", "delete"})) return related(q, Kind::kResourceSlice);
  if (!q.verb_in({"list", "watch", "deletecollection"}))
    return pass(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, "
        "update, patch, delete, deletecollection");
  return q.selects_node() ? allow()
                          : pass(
                                "can only list/watch/deletecollection resourceslices with nodeName "
                                "field selector");
}

Decision pod_certificate_requests(const Question& q) {
  if (!q.features.pod_certificate_requests) return pass();
  if (!q.asked.subresource.empty())
    return pass("nodes may not access the status subresource of PodCertificateRequests");
  if (q.asked.verb == "create") return allow();  // NodeRestriction looks at its node
  if (q.asked.verb == "get") return related(q, Kind::kPodCertificateRequest);
  if (!q.verb_in({"list", "watch"}))
    return Decision::no_opinion(cat("nodes may not ", q.asked.verb, " podcertificaterequests"));
  return q.selects_node()
             ? allow()
             : pass("can only list/watch podcertificaterequests with nodeName field selector");
}

Decision cluster_trust_bundles(const Question& q) {
  return q.features.cluster_trust_bundles && q.asked.subresource.empty() &&
                 q.verb_in({"get", "list", "watch"})
             ? allow()
             : pass();
}

Decision nodes(const Question& q) {
  if (q.asked.subresource == "status") return q.verb_in({"update", "patch"}) ? allow() : pass();
  if (!q.asked.subresource.empty()) return pass();
  if (q.verb_in({"create", "update", "patch"}))
    return allow();  // NodeRestriction looks at the name
  if (!q.verb_in({"get", "list", "watch"})) return pass();
  if (q.asked.name == q.node) return allow();
  if (q.asked.name.empty())
    return Decision::no_opinion(
        cat("node '", q.node, "' cannot read all nodes, only its own Node object"));
  return Decision::no_opinion(
      cat("node '", q.node, "' cannot read '", q.asked.name, "', only its own Node object"));
}

Decision pods(const Question& q) {
  if (q.asked.subresource == "status") return q.verb_in({"update", "patch"}) ? allow() : pass();
  if (q.asked.subresource == "eviction") return q.asked.verb == "create" ? allow() : pass();
  if (!q.asked.subresource.empty()) return pass();
  if (q.verb_in({"create", "delete"})) return allow();  // NodeRestriction looks at the pod
  if (q.asked.verb == "get") return related(q, Kind::kPod);
  if (!q.verb_in({"list", "watch"})) return pass();
  if (q.selects_node()) return allow();
  if (q.asked.name.empty())
    return pass("can only list/watch pods with spec.nodeName field selector");
  return related(q, Kind::kPod);
}

struct Row {
  std::string_view group, resource;
  Decision (*decide)(const Question&);
};
constexpr Row kRows[] = {
    {"", "secrets", secrets},
    {"", "configmaps", config_maps},
    {"", "persistentvolumeclaims", claims},
    {"", "persistentvolumes", volumes},
    {"", "serviceaccounts", service_accounts},
    {"", "nodes", nodes},
    {"", "pods", pods},
    {"storage.k8s.io", "volumeattachments", volume_attachments},
    {"storage.k8s.io", "csinodes", csi_nodes},
    {"coordination.k8s.io", "leases", leases},
    {"resource.k8s.io", "resourceclaims", resource_claims},
    {"resource.k8s.io", "resourceslices", resource_slices},
    {"certificates.k8s.io", "podcertificaterequests", pod_certificate_requests},
    {"certificates.k8s.io", "clustertrustbundles", cluster_trust_bundles},
};

Decision decide(const Question& question) {
  for (const Row& row : kRows)
    if (question.is(row.group, row.resource)) return row.decide(question);
  return by_static_rules(question);
}

// The nodes that a question speaks of itself.
std::set<std::string> named_in(const Attributes& asked) {
  std::set<std::string> out;
  if (!asked.name.empty()) out.emplace(asked.name);
  if (asked.selectors)
    for (const auto& term : asked.selectors->fields.terms())
      if (term.equal && term.field == "spec.nodeName" && !term.value.empty())
        out.emplace(term.value);
  return out;
}

// A node that neither the question nor the graph speaks of: what it may do, every node may.
std::string any_node(const std::set<std::string>& named) {
  std::string out;
  for (const std::string& name : named)
    if (name.size() > out.size()) out = name;
  return out + '\0';
}

}  // namespace

std::optional<std::string_view> node_of(const User& user) {
  constexpr std::string_view kPrefix = "system:node:";
  std::string_view name = user.name;
  if (!name.starts_with(kPrefix) || !user.in_group("system:nodes")) return std::nullopt;
  return name.substr(kPrefix.size());
}

NodeAuthorizer::NodeAuthorizer(const Graph& graph, Features features,
                               std::optional<WriteConditions> conditions)
    : graph_(graph), live_(graph), features_(features), conditions_(conditions) {}

NodeAuthorizer::NodeAuthorizer(const NodeAuthorizer& live, std::shared_ptr<const Graph> graph)
    : still_(std::move(graph)),
      graph_(*still_),
      live_(live.live_),
      features_(live.features_),
      conditions_(live.conditions_) {}

std::shared_ptr<const Authorizer> NodeAuthorizer::frozen() const {
  if (still_) return nullptr;
  return std::shared_ptr<const Authorizer>(new NodeAuthorizer(*this, live_.frozen()));
}

std::optional<Decision> NodeAuthorizer::authorize(const Attributes& attributes) const {
  std::optional<std::string_view> node = node_of(attributes.user);
  if (!node) return Decision::no_opinion();
  if (node->empty())
    return Decision::no_opinion(cat("unknown node for user ", quoted(attributes.user.name)));
  if (!attributes.is_resource_request) return Decision::no_opinion();
  Decision decision = decide({attributes, *node, graph_, features_});
  return conditions_ ? conditions_->on(std::move(decision), attributes, *node)
                     : std::move(decision);
}

Task<Decision> NodeAuthorizer::evaluate(std::shared_ptr<const Conditions> conditions,
                                        const ConditionData& data) const {
  return WriteConditions::settle(std::move(conditions), data);
}

void NodeAuthorizer::add_allowed(const Attributes& attributes, AllowedSubjects& allowed) const {
  if (!attributes.is_resource_request) return;
  // Names and links of one moment, which is not before that of a frozen one.
  Graph::Nodes nodes = live_.nodes();
  auto may = [&](std::string_view node) {
    return decide({attributes, node, *nodes.graph, features_}).allowed();
  };
  if (conditions_ && WriteConditions::concern(attributes)) {
    allowed.incomplete = true;
    allowed.remarks.push_back("authorizer `node` decides about this by the object");
  }
  std::set<std::string> candidates = named_in(attributes);
  if (may(any_node(candidates))) {
    allowed.subjects.push_back({.kind = "Group", .name = "system:nodes"});
    return;
  }
  for (std::string& name : nodes.names) candidates.insert(std::move(name));
  for (const std::string& node : candidates)
    if (may(node)) allowed.subjects.push_back({.kind = "User", .name = cat("system:node:", node)});
}

void NodeAuthorizer::add_rules(const User& user, std::string_view, Rules& rules) const {
  if (!node_of(user)) return;
  rules.incomplete = true;
  rules.errors.emplace_back("node authorizer does not support user rule resolution");
}

}  // namespace cardea::authz::node

#include <set>

#include "base/strings.h"
#include "catalog/tables/cells.h"
#include "catalog/tables/duration.h"

// Nodes, and the kinds that govern a cluster: access, admission, certificates, flow control,
// devices.
namespace cardea::catalog::cells {

using json::Value;

namespace {

Value component_part(const Value& component, std::string_view field) {
  return condition(component["conditions"], "Healthy")[field].as_string();
}
Value component_status(const Value& component, const TableContext&) {
  const Value& healthy = condition(component["conditions"], "Healthy");
  return healthy.is_null()                         ? "Unknown"
         : healthy["status"].as_string() == "True" ? "Healthy"
                                                   : "Unhealthy";
}
Value component_message(const Value& component, const TableContext&) {
  return component_part(component, "message");
}
Value component_error(const Value& component, const TableContext&) {
  return component_part(component, "error");
}

Value node_status(const Value& node, const TableContext&) {
  const Value& ready = condition(node["status"]["conditions"], "Ready");
  std::string out = ready.is_null()                         ? "Unknown"
                    : ready["status"].as_string() == "True" ? "Ready"
                                                            : "NotReady";
  return node["spec"]["unschedulable"].as_bool() ? out + ",SchedulingDisabled" : out;
}

Value node_roles(const Value& node, const TableContext&) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  for (const auto& [key, value] : node["metadata"]["labels"].members()) {
    std::string_view label = key.as_string();
    if (label.starts_with(kPrefix) && label.size() > kPrefix.size())
      roles.emplace(label.substr(kPrefix.size()));
    else if (label == "kubernetes.io/role" && !value.as_string().empty())
      roles.emplace(value.as_string());
  }
  return or_none(join({roles.begin(), roles.end()}, ","));
}

std::string node_address(const Value& node, std::string_view type) {
  for (const Value& address : node["status"]["addresses"].items())
    if (address["type"].as_string() == type) return std::string(address["address"].as_string());
  return "<none>";
}
Value node_internal(const Value& node, const TableContext&) {
  return node_address(node, "InternalIP");
}
Value node_external(const Value& node, const TableContext&) {
  return node_address(node, "ExternalIP");
}
Value node_kernel(const Value& node, const TableContext&) {
  const Value& info = node["status"]["nodeInfo"];
  std::string kernel(info["kernelVersion"].as_string());
  if (kernel.empty()) kernel = "<unknown>";
  auto architecture = info["architecture"].as_string();
  return architecture.empty() ? kernel : cat(kernel, " (", architecture, ")");
}

Value access_policy_ready(const Value& policy, const TableContext&) {
  const Value& ready = condition(policy["status"]["conditions"], "Ready");
  return ready.is_null() ? "Unknown" : ready["status"].as_string();
}

// pods, deployments.apps/scale, or a path.
Value decision_target(const Value& decision, const TableContext&) {
  const Value& request = decision["request"];
  if (const Value& path = request["path"]; path.is_string()) return path;
  std::string out(request["resource"].as_string());
  if (auto group = request["group"].as_string(); !group.empty()) out = cat(out, ".", group);
  auto part = request["subresource"].as_string();
  return part.empty() ? out : cat(out, "/", part);
}

// Namespace policy.

std::string keys_of(const Value& object) {
  std::vector<std::string> out;
  for (const json::Member& m : object.members()) out.emplace_back(m.key());
  return out.empty() ? "<none>" : join(out, ",");
}
std::string texts_of(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items()) out.emplace_back(item.as_string());
  return join(out, ",");
}
Value policy_roles(const Value& policy, const TableContext&) {
  return keys_of(policy["roles"]);
}
Value policy_bindings(const Value& binding, const TableContext&) {
  return keys_of(binding["roleBindings"]);
}
Value policy_rule_count(const Value& role, const TableContext&) {
  return static_cast<std::int64_t>(role["rules"].size());
}
Value policy_bound_role(const Value& binding, const TableContext&) {
  return cat(binding["roleRef"]["namespace"].as_string(), "/",
             binding["roleRef"]["name"].as_string());
}
Value policy_users(const Value& binding, const TableContext&) {
  return texts_of(binding["userNames"]);
}
Value policy_groups(const Value& binding, const TableContext&) {
  return texts_of(binding["groupNames"]);
}

// Bindings of roles.

Value bound_role(const Value& binding, const TableContext&) {
  return cat(binding["roleRef"]["kind"].as_string(), "/", binding["roleRef"]["name"].as_string());
}
std::string subjects(const Value& binding, std::string_view kind) {
  std::vector<std::string> out;
  for (const Value& subject : binding["subjects"].items()) {
    if (subject["kind"].as_string() != kind) continue;
    auto subject_name = subject["name"].as_string();
    out.push_back(kind == "ServiceAccount"
                      ? cat(subject["namespace"].as_string(), "/", subject_name)
                      : std::string(subject_name));
  }
  return join(out, ", ");
}
Value bound_users(const Value& binding, const TableContext&) {
  return subjects(binding, "User");
}
Value bound_groups(const Value& binding, const TableContext&) {
  return subjects(binding, "Group");
}
Value bound_accounts(const Value& binding, const TableContext&) {
  return subjects(binding, "ServiceAccount");
}

// Admission policies.

Value parameter_kind(const Value& policy, const TableContext&) {
  const Value& kind = policy["spec"]["paramKind"];
  return kind.is_null() ? std::string("<unset>")
                        : cat(kind["apiVersion"].as_string(), "/", kind["kind"].as_string());
}
Value parameter_reference(const Value& binding, const TableContext&) {
  const Value& reference = binding["spec"]["paramRef"];
  auto parameter = reference["name"].as_string(), ns = reference["namespace"].as_string();
  if (!parameter.empty()) return cat(ns.empty() ? "*" : ns, "/", parameter);
  const Value& selector = reference["selector"];
  if (selector.is_null()) return "<unset>";
  // As Go prints the selector's own type.
  std::vector<std::string> labels;
  for (const auto& member : selector["matchLabels"].members())
    labels.push_back(cat(member.key(), ": ", member.value.as_string(), ","));
  std::string expressions;
  for (const Value& one : selector["matchExpressions"].items()) {
    std::vector<std::string> values;
    for (const Value& value : one["values"].items()) values.emplace_back(value.as_string());
    expressions += cat("LabelSelectorRequirement{Key:", one["key"].as_string(),
                       ",Operator:", one["operator"].as_string(), ",Values:[", join(values, " "),
                       "],},");
  }
  return cat("&LabelSelector{MatchLabels:map[string]string{", join(labels, ""),
             "},MatchExpressions:[]LabelSelectorRequirement{", expressions, "},}");
}

// Certificates.

Value request_duration(const Value& request, const TableContext&) {
  const Value& seconds = request["spec"]["expirationSeconds"];
  return seconds.is_null() ? "<none>" : human_duration(std::chrono::seconds(seconds.as_int()));
}
Value request_condition(const Value& request, const TableContext&) {
  const Value& conditions = request["status"]["conditions"];
  auto has = [&](std::string_view type) { return !condition(conditions, type).is_null(); };
  std::string out = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  if (has("Failed")) out += ",Failed";
  if (!request["status"]["certificate"].as_string().empty()) out += ",Issued";
  return out;
}

// Services of the API itself.

Value api_service(const Value& object, const TableContext&) {
  const Value& service = object["spec"]["service"];
  return service.is_null()
             ? std::string("Local")
             : cat(service["namespace"].as_string(), "/", service["name"].as_string());
}
Value api_available(const Value& object, const TableContext&) {
  const Value& available = condition(object["status"]["conditions"], "Available");
  if (available.is_null()) return "Unknown";
  auto status = available["status"].as_string(), reason = available["reason"].as_string();
  return status == "True" || reason.empty() ? std::string(status) : cat(status, " (", reason, ")");
}

// Flow control.

Value flow_dangling(const Value& flow, const TableContext&) {
  const Value& dangling = condition(flow["status"]["conditions"], "Dangling");
  return dangling.is_null() ? Value("?") : dangling["status"];
}
Value level_number(const Value& number) {
  return number.is_int() ? number : Value("<none>");
}
Value level_shares(const Value& level, const TableContext&) {
  return level_number(level["spec"]["limited"]["nominalConcurrencyShares"]);
}
Value level_queues(const Value& level, const TableContext&) {
  return level_number(level["spec"]["limited"]["limitResponse"]["queuing"]["queues"]);
}
Value level_hand(const Value& level, const TableContext&) {
  return level_number(level["spec"]["limited"]["limitResponse"]["queuing"]["handSize"]);
}
Value level_length(const Value& level, const TableContext&) {
  return level_number(level["spec"]["limited"]["limitResponse"]["queuing"]["queueLengthLimit"]);
}

Value claim_state(const Value& claim, const TableContext&) {
  bool deleted = claim["metadata"].has("deletionTimestamp");
  std::vector<std::string> out;
  if (deleted) out.emplace_back("deleted");
  if (claim["status"]["allocation"].is_null()) {
    if (!deleted) out.emplace_back("pending");
  } else {
    out.emplace_back("allocated");
    if (!claim["status"]["reservedFor"].empty()) out.emplace_back("reserved");
  }
  return join(out, ",");
}

constexpr Cell kComponent[] = {name(), computed(component_status), computed(component_message),
                               computed(component_error)};
constexpr Cell kNode[] = {name(),
                          computed(node_status),
                          computed(node_roles),
                          age(),
                          text("status.nodeInfo.kubeletVersion"),
                          computed(node_internal),
                          computed(node_external),
                          text("status.nodeInfo.osImage", "<unknown>"),
                          computed(node_kernel),
                          text("status.nodeInfo.containerRuntimeVersion", "<unknown>")};
constexpr Cell kBinding[] = {name(),
                             computed(bound_role),
                             age(),
                             computed(bound_users),
                             computed(bound_groups),
                             computed(bound_accounts)};
constexpr Cell kValidatingPolicy[] = {name(), count("spec.validations"), computed(parameter_kind),
                                      age()};
constexpr Cell kMutatingPolicy[] = {name(), count("spec.mutations"), computed(parameter_kind),
                                    age()};
constexpr Cell kPolicyBinding[] = {name(), text("spec.policyName"), computed(parameter_reference),
                                   age()};
constexpr Cell kWebhooks[] = {name(), count("webhooks"), age()};
constexpr Cell kRequest[] = {name(),
                             age(),
                             text("spec.signerName", "<none>"),
                             text("spec.username"),
                             computed(request_duration),
                             computed(request_condition)};
constexpr Cell kApiService[] = {name(), computed(api_service), computed(api_available), age()};
constexpr Cell kPriority[] = {name(), integer("value"), boolean("globalDefault"), age(),
                              text("preemptionPolicy")};
constexpr Cell kLease[] = {name(), text("spec.holderIdentity"), age()};
constexpr Cell kRuntime[] = {name(), text("handler"), age()};
constexpr Cell kFlow[] = {name(),
                          text("spec.priorityLevelConfiguration.name"),
                          integer("spec.matchingPrecedence"),
                          text("spec.distinguisherMethod.type", "<none>"),
                          age(),
                          computed(flow_dangling)};
constexpr Cell kLevel[] = {name(),
                           text("spec.type"),
                           computed(level_shares),
                           computed(level_queues),
                           computed(level_hand),
                           computed(level_length),
                           age()};
constexpr Cell kNameAndAge[] = {name(), age()};
constexpr Cell kClaim[] = {name(), computed(claim_state), age()};
constexpr Cell kSlice[] = {name(), text("spec.nodeName"), text("spec.driver"),
                           text("spec.pool.name"), age()};

constexpr Cell kAccessPolicy[] = {name(), text("spec.effect"), computed(access_policy_ready), age(),
                                  text("spec.description")};

constexpr Cell kPermissionMap[] = {name(), text("spec.group"), text("spec.resource"), age()};

constexpr Cell kDecision[] = {name(),
                              text("outcome"),
                              text("user"),
                              text("request.verb"),
                              computed(decision_target),
                              text("request.namespace"),
                              text("request.name"),
                              age(),
                              text("impersonator"),
                              text("reason")};

constexpr Cell kPolicy[] = {name(), computed(policy_roles), text("lastModified"), age()};
constexpr Cell kPolicyBindings[] = {name(), computed(policy_bindings), text("lastModified"), age()};
constexpr Cell kPolicyRole[] = {name(), computed(policy_rule_count), age()};
constexpr Cell kPolicyRoleBinding[] = {name(), computed(policy_bound_role), age(),
                                       computed(policy_users), computed(policy_groups)};

constexpr KindCells kKinds[] = {
    {"", "ComponentStatus", kComponent},
    {"", "Node", kNode},
    {"access.cardea.dev", "AccessPolicy", kAccessPolicy},
    {"access.cardea.dev", "ClusterAccessPolicy", kAccessPolicy},
    {"access.cardea.dev", "Decision", kDecision},
    {"access.cardea.dev", "PermissionMap", kPermissionMap},
    {"authorization.openshift.io", "Policy", kPolicy},
    {"authorization.openshift.io", "PolicyBinding", kPolicyBindings},
    {"authorization.openshift.io", "Role", kPolicyRole},
    {"authorization.openshift.io", "RoleBinding", kPolicyRoleBinding},
    {"rbac.authorization.k8s.io", "RoleBinding", kBinding},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", kBinding},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", kValidatingPolicy},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicy", kMutatingPolicy},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", kPolicyBinding},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", kPolicyBinding},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", kWebhooks},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", kWebhooks},
    {"certificates.k8s.io", "CertificateSigningRequest", kRequest},
    {"apiregistration.k8s.io", "APIService", kApiService},
    {"scheduling.k8s.io", "PriorityClass", kPriority},
    {"coordination.k8s.io", "Lease", kLease},
    {"node.k8s.io", "RuntimeClass", kRuntime},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema", kFlow, 2},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", kLevel},
    {"resource.k8s.io", "DeviceClass", kNameAndAge},
    {"resource.k8s.io", "ResourceClaim", kClaim},
    {"resource.k8s.io", "ResourceClaimTemplate", kNameAndAge},
    {"resource.k8s.io", "ResourceSlice", kSlice},
};

}  // namespace

std::span<const KindCells> cluster_cells() {
  return kKinds;
}

}  // namespace cardea::catalog::cells

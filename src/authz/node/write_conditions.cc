#include "authz/node/write_conditions.h"

#include <algorithm>
#include <array>

#include "authz/access/access_authorizer.h"
#include "authz/access/residuals.h"
#include "base/strings.h"
#include "cel/program.h"

namespace cardea::authz::node {
namespace {

// In the expressions `request` is the request of the node, whose uid is that of its Node object.
constexpr std::string_view kNode = "request.userInfo.username.substring(12)";

struct Rule {
  std::string_view group, resource, subresource;
  std::string_view verbs[4];
  std::string_view id, description;
  std::string (*expression)();
  bool needs_own_name = false;  // of a request with a name
  bool needs_uid = false;
};

// `a.b` of an object that may have none of it.
std::string field(std::string_view object, std::string_view path, std::string_view otherwise) {
  std::string out(object);
  for (std::string_view part : split(path, '.')) out += cat(".?", part);
  return cat(out, ".orValue(", otherwise, ")");
}
std::string is_node(std::string_view object, std::string_view path) {
  return cat(field(object, path, "\"\""), " == ", kNode);
}
std::string same(std::string_view path, std::string_view otherwise) {
  return cat(field("object", path, otherwise), " == ", field("oldObject", path, otherwise));
}

std::string name_is_node() {
  return is_node("object", "metadata.name");
}
std::string new_object_is_on_node() {
  return is_node("object", "spec.nodeName");
}
std::string old_object_is_on_node() {
  return is_node("oldObject", "spec.nodeName");
}

// Labels of Kubernetes' own that administrators alone may set.
constexpr std::string_view kProtectedLabel =
    R"((k.matches("^([^/]*[.])?node-restriction[.]kubernetes[.]io/") || )"
    R"((k.matches("^([^/]*[.])?(kubernetes|k8s)[.]io/") && )"
    R"(!k.matches("^([^/]*[.])?(kubelet|node)[.]kubernetes[.]io/") && )"
    R"(!(k in ["kubernetes.io/hostname", "topology.kubernetes.io/zone", )"
    R"("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone", )"
    R"("failure-domain.beta.kubernetes.io/region", "beta.kubernetes.io/instance-type", )"
    R"("kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", )"
    R"("beta.kubernetes.io/arch"]))))";

std::string own_node() {
  const std::string now = field("object", "metadata.labels", "{}"),
                    before = field("oldObject", "metadata.labels", "{}");
  const std::string created = cat("!object.?spec.?configSource.hasValue() && ", now, ".all(k, !",
                                  kProtectedLabel, ")");
  const std::string changed = cat(
      "(!object.?spec.?configSource.hasValue() || ", same("spec.configSource", "null"), ") && ",
      same("spec.taints", "[]"), " && ", now, ".all(k, (k in ", before, " && ", before,
      "[k] == ", now, "[k]) || !", kProtectedLabel, ") && ", before, ".all(k, k in ", now, " || !",
      kProtectedLabel, ") && ", same("metadata.ownerReferences", "[]"));
  return cat(name_is_node(), " && (operation == \"CREATE\" ? ", created, " : ", changed, ")");
}

// A mirror pod leads to no other API object: its node would get access to them.
constexpr std::string_view kNoReferences =
    R"(object.spec.?serviceAccountName.orValue("") == "" && )"
    R"(object.spec.?imagePullSecrets.orValue([]).all(s, s.?name.orValue("") == "") && )"
    R"(object.spec.?resourceClaims.orValue([]) == [] && )"
    R"([object.spec.?initContainers, object.spec.?containers, object.spec.?ephemeralContainers])"
    R"(.all(l, l.orValue([]).all(c, )"
    R"(c.?envFrom.orValue([]).all(e, e.?secretRef.?name.orValue("") == "" && )"
    R"(e.?configMapRef.?name.orValue("") == "") && )"
    R"(c.?env.orValue([]).all(e, e.?valueFrom.?secretKeyRef.?name.orValue("") == "" && )"
    R"(e.?valueFrom.?configMapKeyRef.?name.orValue("") == ""))) && )"
    R"(object.spec.?volumes.orValue([]).all(v, )"
    R"(["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"])"
    R"(.all(s, v[?s].?secretRef.?name.orValue("") == "") && )"
    R"(v.all(k, !(k in ["configMap", "secret", "csi", "glusterfs", "persistentVolumeClaim", )"
    R"("ephemeral", "azureFile"])) && )"
    R"(v.exists(k, k in ["awsElasticBlockStore", "azureDisk", "cephfs", "cinder", "downwardAPI", )"
    R"("emptyDir", "fc", "flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "hostPath", )"
    R"("image", "iscsi", "nfs", "photonPersistentDisk", "portworxVolume", "projected", "quobyte", )"
    R"("rbd", "scaleIO", "storageos", "vsphereVolume"]) && )"
    R"(v.?projected.?sources.orValue([]).all(s, s.all(k, k == "downwardAPI") && s.size() > 0)))";

std::string mirror_pod() {
  return cat(
      R"(object.?metadata.?annotations[?"kubernetes.io/config.mirror"].hasValue() && )",
      new_object_is_on_node(), " && object.metadata.?ownerReferences.orValue([]).size() == 1 && ",
      R"(object.metadata.ownerReferences.all(o, o.apiVersion == "v1" && o.kind == "Node" && )",
      "o.name == ", kNode,
      " && o.?controller.orValue(false) && !o.?blockOwnerDeletion.orValue(false) && "
      "o.uid == request.userInfo.uid) && ",
      kNoReferences);
}

std::string own_pod_status() {
  return cat(old_object_is_on_node(), " && ", same("metadata.labels", "{}"), " && ",
             same("status.resourceClaimStatuses", "[]"), " && ",
             same("status.extendedResourceClaimStatus", "null"));
}

// The same but for some members.
std::string same_but_for(std::string_view part, std::string_view keys) {
  const std::string now = part.empty() ? "object" : field("object", part, "{}"),
                    before = part.empty() ? "oldObject" : field("oldObject", part, "{}");
  return cat(now, ".all(k, k in ", keys, " || (k in ", before, " && ", before, "[k] == ", now,
             "[k])) && ", before, ".all(k, k in ", keys, " || k in ", now, ")");
}
std::string claim_status() {
  return cat(same_but_for("", R"(["metadata", "status"])"), " && ",
             same_but_for("metadata", R"(["resourceVersion", "managedFields"])"), " && ",
             same_but_for("status", R"(["capacity", "conditions", "allocatedResourceStatuses", )"
                                    R"("allocatedResources"])"));
}

constexpr Rule kRules[] = {
    {"",
     "nodes",
     "",
     {"create", "update", "patch"},
     "node.cardea.dev/own-node",
     "its own Node, without changes of taints, owners and protected labels",
     own_node,
     true},
    {"",
     "nodes",
     "status",
     {"update", "patch"},
     "node.cardea.dev/own-node",
     "its own Node, without changes of taints, owners and protected labels",
     own_node,
     true},
    {"",
     "pods",
     "",
     {"create"},
     "node.cardea.dev/mirror-pod",
     "mirror pods of its own, which lead to no other objects",
     mirror_pod,
     false,
     true},
    {"",
     "pods",
     "",
     {"delete"},
     "node.cardea.dev/own-pod",
     "pods that run on it",
     old_object_is_on_node},
    {"",
     "pods",
     "status",
     {"update", "patch"},
     "node.cardea.dev/own-pod-status",
     "the status of pods that run on it, without labels and claims",
     own_pod_status},
    {"",
     "pods",
     "eviction",
     {"create"},
     "node.cardea.dev/own-pod",
     "pods that run on it",
     old_object_is_on_node},
    {"",
     "persistentvolumeclaims",
     "status",
     {"update", "patch"},
     "node.cardea.dev/claim-status",
     "the sizes and conditions in the status of a claim",
     claim_status},
    {"coordination.k8s.io",
     "leases",
     "",
     {"create"},
     "node.cardea.dev/own-name",
     "an object with its own name",
     name_is_node},
    {"storage.k8s.io",
     "csinodes",
     "",
     {"create"},
     "node.cardea.dev/own-name",
     "an object with its own name",
     name_is_node},
    {"resource.k8s.io",
     "resourceslices",
     "",
     {"create"},
     "node.cardea.dev/own-nodename",
     "objects that are on it",
     new_object_is_on_node},
    {"resource.k8s.io",
     "resourceslices",
     "",
     {"delete", "deletecollection"},
     "node.cardea.dev/own-nodename",
     "objects that are on it",
     old_object_is_on_node},
    {"certificates.k8s.io",
     "podcertificaterequests",
     "",
     {"create"},
     "node.cardea.dev/own-nodename",
     "objects that are on it",
     new_object_is_on_node},
};
constexpr std::size_t kCount = std::size(kRules);

const Rule* rule_for(const Attributes& a) {
  const Rule* found = std::ranges::find_if(kRules, [&](const Rule& r) {
    return r.resource == a.resource && r.group == a.api_group && r.subresource == a.subresource &&
           !a.verb.empty() && std::ranges::find(r.verbs, a.verb) != std::end(r.verbs);
  });
  return found == std::end(kRules) ? nullptr : found;
}

const std::shared_ptr<const cel::Program>& program_of(const Rule& rule) {
  static const auto made = [] {
    std::array<std::shared_ptr<const cel::Program>, kCount> out;
    for (std::size_t i = 0; i < kCount; ++i) {
      auto program = cel::compile(kRules[i].expression(), access::language().environment);
      CARDEA_CHECK(program.has_value());
      out[i] = std::move(*program);
    }
    return out;
  }();
  return made[static_cast<std::size_t>(&rule - kRules)];
}

}  // namespace

Decision WriteConditions::on(Decision allowed, const Attributes& asked,
                             std::string_view node) const {
  const Rule* rule = allowed.allowed() ? rule_for(asked) : nullptr;
  if (!rule) return allowed;
  if (rule->needs_own_name && !asked.name.empty() && asked.name != node)
    return Decision::no_opinion(
        cat("node ", quoted(node), " is not allowed to modify node ", quoted(asked.name)));
  const User shown{.name = cat("system:node:", node),
                   .uid = rule->needs_uid ? uids_(from_, node) : ""};
  if (rule->needs_uid && shown.uid.empty())
    return Decision::no_opinion(cat("node ", quoted(node), " has no Node object"));
  const access::RequestValue request{Attributes(shown)};
  access::Variables variables;
  variables[access::Language::kRequest] = request.get();
  variables[access::Language::kImpersonatedRequest] = cel::Value::null();
  cel::Residual rest = cel::reduce(program_of(*rule), variables, access::language().unknowns,
                                   access::kLimits);
  if (rest.is_value())  // every expression reads the object
    return Decision::no_opinion("", cat("the rule ", rule->id, " cannot be evaluated"));
  Conditions::Set set;
  set.conditions.push_back({.effect = Condition::Effect::kAllow,
                            .id = std::string(rule->id),
                            .type = std::string(kCelType),
                            .text = "",
                            .description = std::string(rule->description),
                            .compiled = std::make_shared<const access::Residue>(std::move(rest))});
  return conditional_on(std::move(set), Author::kOwnChecked);
}

bool WriteConditions::concern(const Attributes& asked) {
  return rule_for(asked) != nullptr;
}

Task<Decision> WriteConditions::settle(std::shared_ptr<const Conditions> conditions,
                                       const ConditionData& data) {
  return access::settled(std::move(conditions), data);
}

}  // namespace cardea::authz::node

#include <algorithm>
#include <set>

#include "admission/plugins.h"
#include "authz/node/node_authorizer.h"
#include "authz/node/references.h"
#include "base/strings.h"
#include "catalog/kinds/certificates/pem.h"
#include "catalog/kinds/go_diff.h"
#include "catalog/kinds/go_value.h"
#include "json/print.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

// Labels of Kubernetes' own that a kubelet may set on its node; everything in the two namespaces as
// well.
constexpr std::string_view kKubeletLabels[] = {
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
};

bool in_domain(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

bool is_forbidden_label(std::string_view key) {
  auto slash = key.find('/');
  std::string_view host = slash == std::string_view::npos ? "" : key.substr(0, slash);
  if (in_domain(host, "node-restriction.kubernetes.io")) return true;
  if (!in_domain(host, "kubernetes.io") && !in_domain(host, "k8s.io")) return false;
  bool is_kubelets = std::ranges::find(kKubeletLabels, key) != std::end(kKubeletLabels) ||
                     in_domain(host, "kubelet.kubernetes.io") ||
                     in_domain(host, "node.kubernetes.io");
  return !is_kubelets;
}

// The labels that differ and must not, `a, b`.
std::string forbidden_labels(const Value& now, const Value& before) {
  std::set<std::string> keys;
  for (const json::Member& m : now.members())
    if (!(before[m.key()] == m.value) && is_forbidden_label(m.key())) keys.emplace(m.key());
  for (const json::Member& m : before.members())
    if (!now.has(m.key()) && is_forbidden_label(m.key())) keys.emplace(m.key());
  return join({keys.begin(), keys.end()}, ", ");
}

// Null and an empty list or map mean the same.
bool same(const Value& a, const Value& b) {
  return a == b || (a.empty() && b.empty() && !a.is_string() && !b.is_string() && !a.is_number() &&
                    !b.is_number() && !a.is_bool() && !b.is_bool());
}

// Sources of volumes that lead to no other API object.
constexpr std::string_view kPlainVolumes[] = {
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
};
struct Named {
  std::string_view source, objects;
};
constexpr Named kReferringVolumes[] = {
    {"configMap", "configmaps (via configmap volumes)"},
    {"secret", "secrets (via secret volumes)"},
    {"csi", "csidrivers (via CSI volumes)"},
    {"glusterfs", "endpoints (via glusterFS volumes)"},
    {"persistentVolumeClaim", "persistentvolumeclaims"},
    {"ephemeral", "persistentvolumeclaims (via ephemeral volumes)"},
    {"azureFile", "secrets (via azureFile volumes)"},
};
constexpr Named kReferringProjections[] = {
    {"configMap", "configmaps (via projected volumes)"},
    {"secret", "secrets (via projected volumes)"},
    {"serviceAccountToken", "serviceaccounts (via projected volumes)"},
    {"clusterTrustBundle", "clustertrustbundles"},
    {"podCertificate", "podcertificates"},
};

constexpr Named kFormerlyBuiltIn[] = {
    {"awsElasticBlockStore", "ebs.csi.aws.com"}, {"gcePersistentDisk", "pd.csi.storage.gke.io"},
    {"cinder", "cinder.csi.openstack.org"},      {"azureDisk", "disk.csi.azure.com"},
    {"azureFile", "file.csi.azure.com"},         {"vsphereVolume", "csi.vsphere.vmware.com"},
    {"portworxVolume", "pxd.portworx.com"},
};

// Which other API objects a volume of a pod leads to; "" when to none.
Result<std::string_view> objects_of_volume(const Value& volume) {
  for (std::string_view plain : kPlainVolumes)
    if (volume.has(plain)) return "";
  for (const Named& n : kReferringVolumes)
    if (volume.has(n.source)) return n.objects;
  if (!volume.has("projected"))
    return fail(
        bad_request(cat("unknown volume type for volume  ", quoted(volume["name"].as_string()))));
  for (const Value& source : volume["projected"]["sources"].items()) {
    for (const Named& n : kReferringProjections)
      if (source.has(n.source)) return n.objects;
    if (!source.has("downwardAPI"))
      return fail(bad_request(
          cat("unknown source for projected volume ", quoted(volume["name"].as_string()))));
  }
  return "";
}

Result<std::string_view> objects_of_pod(const Value& pod) {
  if (!pod["spec"]["serviceAccountName"].as_string().empty()) return "serviceaccounts";
  if (!authz::node::secrets_of_pod(pod).empty()) return "secrets";
  if (!authz::node::config_maps_of_pod(pod).empty()) return "configmaps";
  if (!pod["spec"]["resourceClaims"].empty()) return "resourceclaims";
  for (const Value& volume : pod["spec"]["volumes"].items()) {
    Result<std::string_view> objects = objects_of_volume(volume);
    if (!objects || !objects->empty()) return objects;
  }
  return "";
}

// Kubernetes looks these up in caches, which speak of one thing.
Error not_found(std::string_view group, std::string_view singular, std::string_view name) {
  std::string what = group.empty() ? std::string(singular) : cat(singular, ".", group);
  return Error::of(Reason::kNotFound, cat(what, " ", quoted(name), " not found"))
      .with(
          {.name = std::string(name), .group = std::string(group), .kind = std::string(singular)});
}

// A claim as Kubernetes' internal type prints: metadata inline, then every field under its Go name.
std::string show_claim(const Value& claim) {
  constexpr const char* kMeta[] = {
      "name",       "generateName",      "namespace",         "uid",
      "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
      "labels",     "annotations",       "ownerReferences",   "finalizers"};
  std::string out = "{";
  for (auto key : kMeta)
    if (const Value* v = claim["metadata"].find(key);
        v && !(v->is_object() && v->empty()) && !(v->is_array() && v->empty()))
      out += cat("\"", key, "\":", json::print(*v), ",");
  const Value &spec = claim["spec"], &status = claim["status"];
  auto field = [&out](const char* name, const Value& value) {
    out += cat("\"", name, "\":", json::print(value), ",");
  };
  auto text = [&](const char* name, const Value& value) {
    field(name, value.is_null() ? Value("") : value);
  };
  auto end = [&out](const char* brace) {
    out.back() = '}';
    out += brace;
  };
  out += "\"Spec\":{";
  field("AccessModes", spec["accessModes"]);
  field("Selector", spec["selector"]);
  out += "\"Resources\":{";
  field("Limits", spec["resources"]["limits"]);
  field("Requests", spec["resources"]["requests"]);
  end(",");
  text("VolumeName", spec["volumeName"]);
  field("StorageClassName", spec["storageClassName"]);
  field("VolumeMode", spec["volumeMode"]);
  for (auto [name, key] :
       {std::pair{"DataSource", "dataSource"}, std::pair{"DataSourceRef", "dataSourceRef"}})
    out += cat("\"", name, "\":", spec[key].is_null() ? "null" : catalog::show_go_value(spec[key]),
               ",");
  field("VolumeAttributesClassName", spec["volumeAttributesClassName"]);
  end(",");
  out += "\"Status\":{";
  text("Phase", status["phase"]);
  field("AccessModes", status["accessModes"]);
  for (auto name : {"Capacity", "Conditions", "AllocatedResources", "AllocatedResourceStatuses"})
    field(name, Value());
  field("CurrentVolumeAttributesClassName", status["currentVolumeAttributesClassName"]);
  out += cat("\"ModifyVolumeStatus\":",
             status["modifyVolumeStatus"].is_null()
                 ? "null"
                 : catalog::show_go_value(status["modifyVolumeStatus"]),
             ",");
  end("}");
  return out;
}

// Keeps kubelets to their own node, whatever authorization allows: what it cannot see, the object's
// content, is checked here.
class NodeRestriction : public Plugin {
 public:
  NodeRestriction(Objects objects, const authz::CurrentChain& authorizer, KeepsKubelets when)
      : objects_(objects), authorizer_(authorizer), when_(when) {}
  std::string_view name() const override { return "NodeRestriction"; }
  bool refuses_plainly() const override { return true; }

  bool handles(const Review& r) const override {
    return r.operation != Operation::kConnect && authz::node::node_of(r.user).has_value() &&
           is_on();
  }

  Task<Result<void>> mutate(Review& r) const override {
    std::string_view node = *authz::node::node_of(r.user);
    if (node.empty())
      co_return fail(forbidden(r, cat("could not determine node from user ", quoted(r.user.name))));
    if (is(r, "", "serviceaccounts")) {
      Result<void> admitted = co_await admit_token(r, node);
      co_return admitted;
    }
    co_return admit(r, node);
  }

 private:
  // The chain may change while the server runs.
  bool is_on() const {
    return when_ == KeepsKubelets::kAlways ||
           std::ranges::any_of(authorizer_.get()->authorizers(),
                               [](const auto& a) { return a->type() == "Node"; });
  }
  static bool is(const Review& r, std::string_view group, std::string_view resource) {
    return r.resource.group == group && r.resource.name == resource;
  }

  Result<void> admit(const Review& r, std::string_view node) const {
    if (is(r, "", "pods")) {
      if (r.subresource.empty()) return admit_pod(r, node);
      if (r.subresource == "status") return admit_pod_status(r, node);
      if (r.subresource == "eviction") return admit_eviction(r, node);
      return fail(forbidden(r, cat("unexpected pod subresource ", quoted(r.subresource),
                                   ", only 'status' and 'eviction' are allowed")));
    }
    if (is(r, "", "nodes")) return admit_node(r, node);
    if (is(r, "", "persistentvolumeclaims")) return admit_claim(r, node);
    if (is(r, "coordination.k8s.io", "leases")) return admit_lease(r, node);
    if (is(r, "storage.k8s.io", "csinodes"))
      return admit_same_name(r, node,
                             "can only access CSINode with the same name as the requesting node");
    if (is(r, "resource.k8s.io", "resourceslices")) return admit_slice(r, node);
    if (is(r, "certificates.k8s.io", "certificatesigningrequests"))
      return admit_signing_request(r, node);
    if (is(r, "certificates.k8s.io", "podcertificaterequests"))
      return admit_pod_certificate(r, node);
    return {};
  }

  Result<void> admit_pod(const Review& r, std::string_view node) const {
    if (r.operation == Operation::kCreate) return admit_mirror_pod(r, node);
    if (r.operation != Operation::kDelete)
      return fail(
          forbidden(r, cat("unexpected operation ", quoted(operation_name(r.operation)), ", node ",
                           quoted(node), " can only create and delete mirror pods")));
    if ((*r.old_object)["spec"]["nodeName"].as_string() != node)
      return fail(forbidden(
          r, cat("node ", quoted(node), " can only delete pods with spec.nodeName set to itself")));
    return {};
  }

  Result<void> admit_mirror_pod(const Review& r, std::string_view node) const {
    const Value& pod = r.object;
    if (!pod["metadata"]["annotations"].has(kMirror))
      return fail(forbidden(r, cat("pod does not have ", quoted(kMirror), " annotation, node ",
                                   quoted(node), " can only create mirror pods")));
    if (pod["spec"]["nodeName"].as_string() != node)
      return fail(forbidden(
          r, cat("node ", quoted(node), " can only create pods with spec.nodeName set to itself")));
    if (auto owned = check_owner(r, node); !owned) return owned;
    Result<std::string_view> objects = objects_of_pod(pod);
    if (!objects)
      return fail(forbidden(
          r, cat("error checking mirror pod for API references: ", objects.error().message)));
    if (!objects->empty())
      return fail(forbidden(
          r, cat("node ", quoted(node), " can not create pods that reference ", *objects)));
    return {};
  }

  Result<void> check_owner(const Review& r, std::string_view node) const {
    const Value& owners = r.object["metadata"]["ownerReferences"];
    auto only = [&](std::string_view what) {
      return fail(forbidden(
          r, cat("node ", quoted(node), " can only create pods with ", what, " set to itself")));
    };
    if (owners.size() > 1) return only("a single owner reference");
    const Value& owner = owners[0];
    if (owners.empty() || owner["apiVersion"].as_string() != "v1" ||
        owner["kind"].as_string() != "Node" || owner["name"].as_string() != node)
      return only("an owner reference");
    if (!owner["controller"].as_bool()) return only("a controller owner reference");
    if (owner["blockOwnerDeletion"].as_bool())
      return fail(forbidden(
          r, cat("node ", quoted(node), " must not set blockOwnerDeletion on an owner reference")));
    Value found = objects_.get(r.catalog, "", "nodes", "", node);
    if (found.is_null()) return fail(not_found("", "node", node));
    std::string_view uid = found["metadata"]["uid"].as_string();
    if (owner["uid"].as_string() != uid)
      return fail(forbidden(r, cat("node ", node, " UID mismatch: expected ",
                                   owner["uid"].as_string(), " got ", uid)));
    return {};
  }

  static Result<void> admit_pod_status(const Review& r, std::string_view node) {
    if (r.operation != Operation::kUpdate)
      return fail(forbidden(r, cat("unexpected operation ", quoted(operation_name(r.operation)))));
    const Value& old = *r.old_object;
    if (old["spec"]["nodeName"].as_string() != node)
      return fail(forbidden(
          r, cat("node ", quoted(node),
                 " can only update pod status for pods with spec.nodeName set to itself")));
    if (!same(old["metadata"]["labels"], r.object["metadata"]["labels"]))
      return fail(
          forbidden(r, cat("node ", quoted(node), " cannot update labels through pod status")));
    if (!same(old["status"]["resourceClaimStatuses"], r.object["status"]["resourceClaimStatuses"]))
      return fail(
          forbidden(r, cat("node ", quoted(node), " cannot update resource claim statues")));
    if (!(old["status"]["extendedResourceClaimStatus"] ==
          r.object["status"]["extendedResourceClaimStatus"]))
      return fail(forbidden(
          r, cat("node ", quoted(node), " cannot update extended resource claim status")));
    return {};
  }

  Result<void> admit_eviction(const Review& r, std::string_view node) const {
    if (r.operation != Operation::kCreate)
      return fail(forbidden(r, cat("unexpected operation ", operation_name(r.operation))));
    Value pod = objects_.get(r.catalog, "", "pods", r.namespace_name, r.name);
    if (pod.is_null()) return fail(not_found("", "pod", r.name));
    if (pod["spec"]["nodeName"].as_string() != node)
      return fail(forbidden(
          r, cat("node ", node, " can only evict pods with spec.nodeName set to itself")));
    return {};
  }

  static Result<void> admit_node(const Review& r, std::string_view node) {
    if (r.name != node)
      return fail(forbidden(
          r, cat("node ", quoted(node), " is not allowed to modify node ", quoted(r.name))));
    static const Value kNone;
    const Value& spec = r.object["spec"];
    if (r.operation == Operation::kCreate) {
      if (spec.has("configSource"))
        return fail(
            forbidden(r, cat("node ", quoted(node),
                             " is not allowed to create pods with a non-nil configSource")));
      if (std::string labels = forbidden_labels(r.object["metadata"]["labels"], kNone);
          !labels.empty())
        return fail(forbidden(r, cat("node ", quoted(node),
                                     " is not allowed to set the following labels: ", labels)));
      return {};
    }
    if (r.operation != Operation::kUpdate) return {};
    const Value& old = *r.old_object;
    if (spec.has("configSource") && !(spec["configSource"] == old["spec"]["configSource"]))
      return fail(forbidden(
          r, cat("node ", quoted(node),
                 " is not allowed to update configSource to a new non-nil configSource")));
    if (!same(spec["taints"], old["spec"]["taints"]))
      return fail(forbidden(r, cat("node ", quoted(node), " is not allowed to modify taints")));
    if (std::string labels = forbidden_labels(r.object["metadata"]["labels"],
                                              old["metadata"]["labels"]);
        !labels.empty())
      return fail(forbidden(r, cat("is not allowed to modify labels: ", labels)));
    // A node that owned others, or were owned, could have them collected.
    if (!same(r.object["metadata"]["ownerReferences"], old["metadata"]["ownerReferences"]))
      return fail(
          forbidden(r, cat("node ", quoted(node), " is not allowed to modify ownerReferences")));
    return {};
  }

  static Result<void> admit_claim(const Review& r, std::string_view node) {
    if (r.subresource != "status") return fail(forbidden(r, "may only update PVC status"));
    if (r.operation != Operation::kUpdate)
      return fail(forbidden(r, cat("unexpected operation ", quoted(operation_name(r.operation)))));
    auto rest_of = [](Value claim) {
      for (auto key : {"resourceVersion", "managedFields"}) claim.member("metadata").erase(key);
      for (auto key : {"capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"})
        claim.member("status").erase(key);
      // A claim without a status has an empty one.
      if (claim["status"].empty()) claim.erase("status");
      return claim;
    };
    Value before = rest_of(*r.old_object), after = rest_of(r.object);
    if (before == after) return {};
    return fail(forbidden(
        r,
        cat("node ", quoted(node),
            " is not allowed to update fields other than status.quantity and status.conditions: ",
            catalog::unified_diff(catalog::indent_json(show_claim(before)),
                                  catalog::indent_json(show_claim(after))))));
  }

  static Result<void> admit_lease(const Review& r, std::string_view node) {
    if (r.namespace_name != "kube-node-lease")
      return fail(
          forbidden(r, "can only access leases in the \"kube-node-lease\" system namespace"));
    return admit_same_name(r, node,
                           "can only access node lease with the same name as the requesting node");
  }

  static Result<void> admit_same_name(const Review& r, std::string_view node,
                                      std::string_view otherwise) {
    std::string_view name = r.operation == Operation::kCreate
                                ? r.object["metadata"]["name"].as_string()
                                : r.name;
    if (name != node) return fail(forbidden(r, otherwise));
    return {};
  }

  static Result<void> admit_slice(const Review& r, std::string_view node) {
    if (r.operation == Operation::kCreate && r.object["spec"]["nodeName"].as_string() != node)
      return fail(forbidden(
          r, "can only create ResourceSlice with the same NodeName as the requesting node"));
    if (r.operation == Operation::kDelete &&
        (*r.old_object)["spec"]["nodeName"].as_string() != node)
      return fail(forbidden(
          r, "can only delete ResourceSlice with the same NodeName as the requesting node"));
    return {};
  }

  static Result<void> admit_signing_request(const Review& r, std::string_view node) {
    if (r.operation != Operation::kCreate) return {};
    std::string_view signer = r.object["spec"]["signerName"].as_string();
    if (signer != "kubernetes.io/kubelet-serving" &&
        signer != "kubernetes.io/kube-apiserver-client-kubelet")
      return {};
    Result<catalog::RequestSubject> subject = catalog::request_subject(
        r.object["spec"]["request"].as_string());
    if (!subject) return fail(forbidden(r, cat("unable to parse csr: ", subject.error().message)));
    if (subject->common_name != cat("system:node:", node))
      return fail(forbidden(r, cat("can only create a node CSR with CN=system:node:", node)));
    return {};
  }

  static Result<void> admit_pod_certificate(const Review& r, std::string_view node) {
    if (r.operation != Operation::kCreate || !r.subresource.empty()) return {};
    std::string_view wanted = r.object["spec"]["nodeName"].as_string();
    if (wanted != node)
      return fail(forbidden(r, cat("PodCertificateRequest.Spec.NodeName=", quoted(wanted),
                                   ", which is not the requesting node ", quoted(node))));
    return {};
  }

  // A node asks for tokens of the pods that run on it, for an audience that the pod names.
  Task<Result<void>> admit_token(const Review& r, std::string_view node) const {
    if (r.operation != Operation::kCreate || r.subresource != "token") co_return Result<void>{};
    const Value& bound = r.object["spec"]["boundObjectRef"];
    std::string_view pod_name = bound["name"].as_string(), uid = bound["uid"].as_string();
    if (bound["apiVersion"].as_string() != "v1" || bound["kind"].as_string() != "Pod" ||
        pod_name.empty())
      co_return fail(forbidden(r, "node requested token not bound to a pod"));
    if (uid.empty())
      co_return fail(forbidden(r, "node requested token with a pod binding without a uid"));
    Value pod = objects_.get(r.catalog, "", "pods", r.namespace_name, pod_name);
    if (pod.is_null()) co_return fail(not_found("", "pod", pod_name));
    if (pod["metadata"]["uid"].as_string() != uid)
      co_return fail(forbidden(r, cat("the UID in the bound object reference (", uid,
                                      ") does not match the UID in record. The object might have "
                                      "been deleted and then recreated")));
    if (pod["spec"]["nodeName"].as_string() != node)
      co_return fail(
          forbidden(r, "node requested token bound to a pod scheduled on a different node"));
    const Value& audiences = r.object["spec"]["audiences"];
    if (audiences.size() > 1)
      co_return fail(forbidden(r, "node may only request 0 or 1 audiences"));
    std::string audience(audiences[0].as_string());
    Result<bool> named = names_audience(r, pod, audience);
    if (named && *named) co_return Result<void>{};
    if (!named)
      co_return fail(forbidden(
          r, cat("error validating audience ", quoted(audience), ": ", named.error().message)));
    authz::Attributes attributes(r.user);
    attributes.is_resource_request = true;
    attributes.verb = "request-serviceaccounts-token-audience";
    attributes.api_version = "v1";
    attributes.namespace_name = r.namespace_name;
    attributes.resource = audience;
    attributes.name = r.name;
    authz::Chain::Verdict verdict = co_await authorizer_.authorize(attributes);
    if (verdict.decision.allowed()) co_return Result<void>{};
    std::string why = cat("audience ", quoted(audience), " not found in pod spec volume, ");
    if (!verdict.decision.error.empty())
      co_return fail(
          forbidden(r, cat(why, "error authorizing ", r.user.name,
                           " to request tokens for this audience: ", verdict.decision.error)));
    co_return fail(forbidden(
        r, cat(why, r.user.name, " is not authorized to request tokens for this audience")));
  }

  // Whether a volume of the pod brings a token for this audience: a projected one, or one that a
  // CSI driver asks for.
  Result<bool> names_audience(const Review& r, const Value& pod, std::string_view audience) const {
    std::vector<std::string> errors;
    for (const Value& volume : pod["spec"]["volumes"].items()) {
      for (const Value& source : volume["projected"]["sources"].items())
        if (source.has("serviceAccountToken") &&
            source["serviceAccountToken"]["audience"].as_string() == audience)
          return true;
      Result<std::string> driver = csi_driver(r, pod, volume);
      if (!driver) errors.push_back(driver.error().message);
      if (!driver || driver->empty()) continue;
      Value found = objects_.get(r.catalog, "storage.k8s.io", "csidrivers", "", *driver);
      if (found.is_null())
        errors.push_back(not_found("storage.k8s.io", "csidriver", *driver).message);
      for (const Value& request : found["spec"]["tokenRequests"].items())
        if (request["audience"].as_string() == audience) return true;
    }
    if (errors.empty()) return false;
    return fail(internal_error(errors.size() == 1 ? errors[0] : cat("[", join(errors, ", "), "]")));
  }

  // "" when no CSI driver is behind the volume.
  Result<std::string> csi_driver(const Review& r, const Value& pod, const Value& volume) const {
    if (std::string_view driver = driver_of(volume); !driver.empty()) return std::string(driver);
    std::string claim_name(volume["persistentVolumeClaim"]["claimName"].as_string());
    if (volume.has("ephemeral"))
      claim_name = cat(pod["metadata"]["name"].as_string(), "-", volume["name"].as_string());
    if (claim_name.empty()) return "";
    Value claim = objects_.get(r.catalog, "", "persistentvolumeclaims", r.namespace_name,
                               claim_name);
    if (claim.is_null()) return fail(not_found("", "persistentvolumeclaim", claim_name));
    std::string_view volume_name = claim["spec"]["volumeName"].as_string();
    Value found = volume_name.empty()
                      ? Value()
                      : objects_.get(r.catalog, "", "persistentvolumes", "", volume_name);
    if (found.is_null()) return fail(not_found("", "persistentvolume", volume_name));
    return std::string(driver_of(found["spec"]));
  }

  // The driver that a source of a volume names, or that stands for what was once built in.
  static std::string_view driver_of(const Value& source) {
    if (source.has("csi")) return source["csi"]["driver"].as_string();
    for (const Named& n : kFormerlyBuiltIn)
      if (source.has(n.source)) return n.objects;
    return "";
  }

  Objects objects_;
  const authz::CurrentChain& authorizer_;
  const KeepsKubelets when_;
};

}  // namespace

std::unique_ptr<Plugin> node_restriction(Objects objects, const authz::CurrentChain& authorizer,
                                         KeepsKubelets when) {
  return std::make_unique<NodeRestriction>(objects, authorizer, when);
}

}  // namespace cardea::admission

#include <algorithm>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/claims.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/core/volume_sources.h"
#include "catalog/kinds/core/volume_warnings.h"
#include "catalog/kinds/go_diff.h"
#include "catalog/kinds/go_value.h"

namespace cardea::catalog {
namespace {

// Secrets of cluster-wide volumes are in a namespace that must be named.
void require_secret_namespace(const Value& s, const Path& path, FieldErrors& out) {
  if (present(s, "secretRef")) require_text(s["secretRef"], "namespace", path / "secretRef", out);
}

void validate_cluster_cinder(const Value& s, const Path& path, FieldErrors& out) {
  validate_cinder(s, path, out);
  require_secret_namespace(s, path, out);
}

void validate_cluster_storageos(const Value& s, const Path& path, FieldErrors& out) {
  validate_storageos(s, path, out);
  require_secret_namespace(s, path, out);
}

// For this kind of volume Kubernetes has no rule about the beginning of a name.
void validate_cluster_iscsi(const Value& s, const Path& path, FieldErrors& out) {
  FieldErrors found;
  validate_iscsi(s, path, found);
  for (auto& error : found) {
    if (error.detail == "must be valid format starting with iqn, eui, or naa")
      error.detail = "must be valid format";
    if (error.field == (path / "initiatorname").text() && present(s, "secretRef") &&
        text(s["secretRef"], "name").empty())
      out.push_back(json::required(path / "secretRef" / "name"));
    out.push_back(std::move(error));
  }
}

struct Source {
  std::string_view key;
  VolumeSourceCheck check;
  std::string_view reported_as = "";
};

constexpr Source kSources[] = {
    {"hostPath", validate_host_path},
    {"gcePersistentDisk", validate_gce_disk, "persistentDisk"},
    {"awsElasticBlockStore", validate_aws_disk},
    {"glusterfs", validate_glusterfs},
    {"flocker", validate_flocker},
    {"nfs", validate_nfs},
    {"rbd", validate_rbd},
    {"quobyte", validate_quobyte},
    {"cephfs", validate_cephfs},  // a second source is reported as cephFS
    {"iscsi", validate_cluster_iscsi},
    {"cinder", validate_cluster_cinder},
    {"fc", validate_fc},
    {"flexVolume", validate_flex},
    {"azureFile", validate_azure_file},
    {"vsphereVolume", validate_vsphere},
    {"photonPersistentDisk", validate_photon},
    {"portworxVolume", validate_portworx},
    {"azureDisk", validate_azure_disk},
    {"scaleIO", validate_scale_io},
    {"local", validate_local_volume},
    {"storageos", validate_cluster_storageos},
    {"csi", validate_persistent_csi},
};

bool is_source(std::string_view key) {
  return std::ranges::any_of(kSources, [&](const Source& s) { return s.key == key; });
}

void default_spec(Value& spec) {
  default_to(spec, "persistentVolumeReclaimPolicy", "Retain");
  default_to(spec, "volumeMode", "Filesystem");
  default_resource_list(spec, "capacity");
  edit_member(spec, "hostPath", [](Value& path) {
    if (path["type"].is_null()) path.set("type", "");
  });
  edit_member(spec, "iscsi", [](Value& iscsi) { default_to(iscsi, "iscsiInterface", "default"); });
  edit_member(spec, "rbd", [](Value& rbd) {
    default_to(rbd, "pool", "rbd");
    default_to(rbd, "user", "admin");
    default_to(rbd, "keyring", "/etc/ceph/keyring");
  });
  edit_member(spec, "azureDisk", [](Value& disk) {
    default_to(disk, "cachingMode", "ReadWrite");
    default_to(disk, "fsType", "ext4");
    default_to(disk, "kind", "Shared");
    if (disk["readOnly"].is_null()) disk.set("readOnly", false);
  });
  edit_member(spec, "scaleIO", [](Value& io) {
    default_to(io, "storageMode", "ThinProvisioned");
    default_to(io, "fsType", "xfs");
  });
}

void defaults(Value& object, const StrategyContext&) {
  default_spec(object_member(object, "spec"));
  default_to(object_member(object, "status"), "phase", "Pending");
}

void prepare_create(Value& object, const StrategyContext& context) {
  protect_storage(object, "kubernetes.io/pv-protection");
  object.set("status",
             Value::object({{"phase", "Pending"}, {"lastPhaseTransitionTime", context.now}}));
}

void prepare_status(Value& object, const Value& old, const StrategyContext& context) {
  keep_spec(object, old, context);
  Value& status = object_member(object, "status");
  const Value &time = status["lastPhaseTransitionTime"],
              &before = old["status"]["lastPhaseTransitionTime"];
  if (text(status, "phase") != text(old["status"], "phase")) {
    // A caller that writes a time of its own keeps it.
    if (time.is_null() || time == before) status.set("lastPhaseTransitionTime", context.now);
  } else if (time.is_null() && !before.is_null()) {
    status.set("lastPhaseTransitionTime", before);
  }
}

void validate_access_modes(const Value& spec, FieldErrors& out) {
  if (spec["accessModes"].empty()) out.push_back(json::required("spec.accessModes"));
  bool once_pod = false, other = false;
  for (const Value& mode : spec["accessModes"].items()) {
    std::size_t before = out.size();
    check_one_of("spec.accessModes", mode.as_string(),
                 {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}, out);
    if (mode.as_string() == "ReadWriteOncePod")
      once_pod = true;
    else if (out.size() == before)
      other = true;
  }
  if (once_pod && other)
    out.push_back(json::forbidden("spec.accessModes",
                                  "may not use ReadWriteOncePod with other access modes"));
}

void validate_capacity(const Value& spec, FieldErrors& out) {
  const Value& capacity = spec["capacity"];
  if (capacity.empty()) out.push_back(json::required("spec.capacity"));
  if (!capacity.has("storage") || capacity.size() > 1)
    out.push_back(json::not_supported("spec.capacity", capacity, {"storage"}));
  for (const json::Member& m : capacity.members()) {
    Path path = Path("spec.capacity").key(m.key());
    if (quantity_of(m.value).value() < 0)
      out.push_back(
          json::invalid(path, quantity_of(m.value).value(), "must be a valid resource quantity"));
    if (quantity_of(m.value).sign() <= 0)
      out.push_back(json::invalid(path, show_quantity(m.value), "must be greater than zero"));
  }
}

// Whether the volume names nodes at all; other checks of the spec use this.
bool validate_node_affinity(const Value& spec, FieldErrors& out) {
  const Value& affinity = spec["nodeAffinity"];
  if (affinity.is_null()) return false;
  if (!present(affinity, "required")) {
    out.push_back(
        json::required("spec.nodeAffinity.required", "must specify required node constraints"));
    return true;
  }
  validate_node_selector(affinity["required"], "spec.nodeAffinity.required", out);
  return true;
}

void validate_source(const Value& spec, bool has_node_affinity, FieldErrors& out) {
  Path path = "spec";
  int found = 0;
  for (const Source& source : kSources) {
    const Value& value = spec[source.key];
    if (value.is_null()) continue;
    if (found++ > 0) {
      out.push_back(json::forbidden(path / (source.key == "cephfs" ? "cephFS" : source.key),
                                    "may not specify more than 1 volume type"));
      continue;
    }
    source.check(value, path / (source.reported_as.empty() ? source.key : source.reported_as), out);
    if (source.key == "local" && !has_node_affinity)
      out.push_back(json::required(path / "nodeAffinity", "Local volume requires node affinity"));
  }
  if (found == 0) out.push_back(json::required(path, "must specify a volume type"));
}

void validate_spec(const Value& spec, FieldErrors& out) {
  validate_access_modes(spec, out);
  validate_capacity(spec, out);
  if (std::string_view policy = text(spec, "persistentVolumeReclaimPolicy"); !policy.empty())
    check_one_of("spec.persistentVolumeReclaimPolicy", policy, {"Delete", "Recycle", "Retain"},
                 out);
  bool has_node_affinity = validate_node_affinity(spec, out);
  validate_source(spec, has_node_affinity, out);
  std::string_view host_path = text(spec["hostPath"], "path");
  if (!host_path.empty() && host_path.find_first_not_of('/') == std::string_view::npos &&
      text(spec, "persistentVolumeReclaimPolicy") == "Recycle")
    out.push_back(json::forbidden("spec.persistentVolumeReclaimPolicy",
                                  "may not be 'recycle' for a hostPath mount of '/'"));
  if (std::string_view name = text(spec, "storageClassName"); !name.empty())
    complain("spec.storageClassName", name, dns1123_subdomain(name), out);
  if (present(spec, "volumeMode"))
    check_one_of("spec.volumeMode", text(spec, "volumeMode"), {"Block", "Filesystem"}, out);
  if (present(spec, "volumeAttributesClassName")) {
    std::string_view name = text(spec, "volumeAttributesClassName");
    if (name.empty())
      out.push_back(
          json::required("spec.volumeAttributesClassName", "an empty string is disallowed"));
    else
      complain("spec.volumeAttributesClassName", name, dns1123_subdomain(name), out);
    if (!present(spec, "csi"))
      out.push_back(
          json::required("spec.csi", "has to be specified when using volumeAttributesClassName"));
  }
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_spec(object["spec"], out);
  return out;
}

Value only_source(const Value& spec) {
  Value out = Value::object();
  for (const json::Member& m : spec.members())
    if (is_source(m.key())) out.set(m.key(), m.value);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  // On update Kubernetes checks the whole volume twice, and reports its errors twice.
  FieldErrors out = validate(object, context);
  for (auto& error : validate(object, context)) out.push_back(std::move(error));
  Value now = only_source(object["spec"]), before = only_source(old["spec"]);
  if (present(now["csi"], "controllerExpandSecretRef") && present(before, "csi") &&
      !present(before["csi"], "controllerExpandSecretRef"))
    now.member("csi").erase("controllerExpandSecretRef");
  if (!semantically_equal(now, before))
    out.push_back(json::forbidden(
        "spec.persistentvolumesource",
        cat("spec.persistentvolumesource is immutable after creation\n",
            unified_diff(indent_json(show_go_value(before)), indent_json(show_go_value(now))))));
  validate_immutable(object["spec"]["volumeMode"], old["spec"]["volumeMode"], "volumeMode", out);
  const Value& affinity = old["spec"]["nodeAffinity"];
  if (!affinity.is_null() && !semantically_equal(affinity, object["spec"]["nodeAffinity"]))
    out.push_back(json::shown_as(
        json::invalid("nodeAffinity", {},
                      "field is immutable, except for updating from beta label to GA"),
        show_go_value(object["spec"]["nodeAffinity"])));
  if (present(old["spec"], "volumeAttributesClassName") &&
      !present(object["spec"], "volumeAttributesClassName"))
    out.push_back(json::forbidden("spec.volumeAttributesClassName",
                                  "update from non-nil value to nil is forbidden"));
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value*, const StrategyContext&) {
  std::vector<std::string> out;
  const Value &annotations = object["metadata"]["annotations"], &spec = object["spec"];
  if (annotations.has("volume.beta.kubernetes.io/storage-class"))
    out.push_back(
        "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
        "\"storageClassName\" attribute instead");
  if (annotations.has("volume.beta.kubernetes.io/mount-options"))
    out.push_back(
        "metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; "
        "use "
        "\"mountOptions\" attribute instead");
  if (text(spec, "persistentVolumeReclaimPolicy") == "Recycle")
    out.push_back(
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
        "the "
        "recommended approach is to use dynamic provisioning.");
  each(spec["nodeAffinity"]["required"], "nodeSelectorTerms", "spec.nodeAffinity.required",
       [&](const Value& term, const Path& at) {
         warn_about_node_selector_term(term, false, at, out);
       });
  warn_about_volume_source(spec, "spec", out);
  return out;
}

}  // namespace

const Strategy& persistent_volume_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = prepare_status,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog

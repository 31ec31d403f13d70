#include "catalog/kinds/core/volume_sources.h"

#include <re2/re2.h>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"

namespace cardea::catalog {
namespace {

using json::FieldErrors;
using json::Value;
using std::string_view;

void require_all(const Value& s, std::initializer_list<string_view> keys, const Path& path,
                 FieldErrors& out) {
  for (string_view key : keys) require_text(s, key, path, out);
}

void require_list(const Value& s, string_view key, const Path& path, FieldErrors& out) {
  if (s[key].empty()) out.push_back(json::required(path / key));
}

// A secret of a persistent volume must name its namespace. Pods use secrets of their own namespace
// only, and cannot name one.
void require_secret_name(const Value& s, const Path& path, FieldErrors& out) {
  if (present(s, "secretRef") && text(s["secretRef"], "name").empty())
    out.push_back(json::required(path / "secretRef" / "name"));
}

void validate_partition(const Value& partition, const Path& path, FieldErrors& out) {
  if (partition.as_int() < 0 || partition.as_int() > 255)
    out.push_back(json::invalid(path, partition, inclusive_range_error(1, 255)));
}

void validate_lun(const Value& lun, const Path& path, FieldErrors& out) {
  if (lun.as_int() < 0 || lun.as_int() > 255)
    out.push_back(json::invalid(path, lun, inclusive_range_error(0, 255)));
}

void validate_iscsi_name(string_view name, const Path& path, FieldErrors& out) {
  static const RE2 iqn(R"(iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$)"),
      eui("^eui.[[:alnum:]]{16}$"), naa("^naa.[[:alnum:]]{32}$");
  re2::StringPiece piece(name.data(), name.size());
  const RE2* form = name.starts_with("iqn")   ? &iqn
                    : name.starts_with("eui") ? &eui
                    : name.starts_with("naa") ? &naa
                                              : nullptr;
  if (!form)
    out.push_back(json::invalid(path, name, "must be valid format starting with iqn, eui, or naa"));
  else if (!RE2::PartialMatch(piece, *form))
    out.push_back(json::invalid(path, name, "must be valid format"));
}

bool is_host_port(string_view text) {
  std::size_t colon = text.rfind(':');
  if (colon == string_view::npos) return false;
  string_view host = text.substr(0, colon);
  return host.starts_with('[') ? host.ends_with(']') : host.find(':') == string_view::npos;
}

void validate_secret_reference(const Value& csi, const char* key, const Path& path,
                               FieldErrors& out) {
  if (!present(csi, key)) return;
  require_name(csi[key], "name", dns1123_subdomain, path / key, out);
  require_name(csi[key], "namespace", dns1123_label, path / key, out);
}

}  // namespace

void validate_host_path(const Value& s, const Path& path, FieldErrors& out) {
  if (text(s, "path").empty()) return out.push_back(json::required(path / "path"));
  pod::validate_no_backsteps(text(s, "path"), path / "path", out);
  if (present(s, "type"))
    check_one_of(path / "type", text(s, "type"),
                 {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
                  "FileOrCreate", "Socket"},
                 out);
}

void validate_gce_disk(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "pdName", path, out);
  validate_partition(s["partition"], path / "partition", out);
}

void validate_aws_disk(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "volumeID", path, out);
  validate_partition(s["partition"], path / "partition", out);
}

void validate_nfs(const Value& s, const Path& path, FieldErrors& out) {
  require_all(s, {"server", "path"}, path, out);
  if (!text(s, "path").starts_with('/'))
    out.push_back(json::invalid(path / "path", text(s, "path"), "must be an absolute path"));
}

void validate_iscsi(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "targetPortal", path, out);
  if (text(s, "iqn").empty())
    out.push_back(json::required(path / "iqn"));
  else
    validate_iscsi_name(text(s, "iqn"), path / "iqn", out);
  validate_lun(s["lun"], path / "lun", out);
  if ((s["chapAuthDiscovery"].as_bool() || s["chapAuthSession"].as_bool()) &&
      !present(s, "secretRef"))
    out.push_back(json::required(path / "secretRef"));
  if (present(s, "initiatorName"))
    validate_iscsi_name(text(s, "initiatorName"), path / "initiatorname", out);
}

void validate_glusterfs(const Value& s, const Path& path, FieldErrors& out) {
  require_all(s, {"endpoints", "path"}, path, out);
  if (!present(s, "endpointsNamespace")) return;
  string_view ns = text(s, "endpointsNamespace");
  if (ns.empty())
    out.push_back(
        json::invalid(path / "endpointsNamespace", ns,
                      "if the endpointnamespace is set, it must be a valid namespace name"));
  else
    complain(path / "endpointsNamespace", ns, dns1123_label(ns), out);
}

void validate_flocker(const Value& s, const Path& path, FieldErrors& out) {
  string_view name = text(s, "datasetName"), uuid = text(s, "datasetUUID");
  if (name.empty() && uuid.empty())
    out.push_back(json::required(path, "one of datasetName and datasetUUID is required"));
  if (!name.empty() && !uuid.empty())
    out.push_back(json::invalid(path, "resource",
                                "datasetName and datasetUUID can not be specified simultaneously"));
  if (name.find('/') != string_view::npos)
    out.push_back(json::invalid(path / "datasetName", name, "must not contain '/'"));
}

void validate_rbd(const Value& s, const Path& path, FieldErrors& out) {
  require_list(s, "monitors", path, out);
  require_text(s, "image", path, out);
}

void validate_cinder(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "volumeID", path, out);
  require_secret_name(s, path, out);
}

void validate_cephfs(const Value& s, const Path& path, FieldErrors& out) {
  require_list(s, "monitors", path, out);
}

void validate_quobyte(const Value& s, const Path& path, FieldErrors& out) {
  constexpr const char* kPairs = "must be a host:port pair or multiple pairs separated by commas";
  string_view registry = text(s, "registry");
  if (registry.empty())
    out.push_back(json::required(path / "registry", kPairs));
  else if (text(s, "tenant").size() >= 65)
    out.push_back(json::required(path / "tenant",
                                 "must be a UUID and may not exceed a length of 64 characters"));
  else
    for (string_view pair : split(registry, ','))
      if (!is_host_port(pair)) out.push_back(json::invalid(path / "registry", registry, kPairs));
  require_text(s, "volume", path, out);
}

void validate_fc(const Value& s, const Path& path, FieldErrors& out) {
  const Value &targets = s["targetWWNs"], &ids = s["wwids"];
  if (targets.empty() && ids.empty())
    out.push_back(json::required(path / "targetWWNs",
                                 "must specify either targetWWNs or wwids, but not both"));
  if (!targets.empty() && !ids.empty())
    out.push_back(json::invalid(path / "targetWWNs", targets,
                                "targetWWNs and wwids can not be specified simultaneously"));
  if (targets.empty()) return;
  if (!present(s, "lun"))
    out.push_back(json::required(path / "lun", "lun is required if targetWWNs is specified"));
  else
    validate_lun(s["lun"], path / "lun", out);
}

void validate_flex(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "driver", path, out);
  for (const json::Member& option : s["options"].members()) {
    std::string domain = cat(".", lower(option.key().substr(0, option.key().find('/'))));
    if (domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io"))
      out.push_back(json::invalid((path / "options").key(option.key()), option.key(),
                                  "kubernetes.io and k8s.io namespaces are reserved"));
  }
}

void validate_azure_file(const Value& s, const Path& path, FieldErrors& out) {
  require_all(s, {"secretName", "shareName"}, path, out);
  if (present(s, "secretNamespace")) require_text(s, "secretNamespace", path, out);
}

void validate_vsphere(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "volumePath", path, out);
}
void validate_photon(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "pdID", path, out);
}
void validate_portworx(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "volumeID", path, out);
}

void validate_azure_disk(const Value& s, const Path& path, FieldErrors& out) {
  require_all(s, {"diskName", "diskURI"}, path, out);
  string_view kind = text(s, "kind"), uri = text(s, "diskURI");
  check_one_of(path / "cachingMode", text(s, "cachingMode"), {"None", "ReadOnly", "ReadWrite"},
               out);
  check_one_of(path / "kind", kind, {"Dedicated", "Managed", "Shared"}, out);
  if (kind == "Managed" && !uri.starts_with("/subscriptions/"))
    out.push_back(json::not_supported(path / "diskURI", uri,
                                      {"/subscriptions/{sub-id}/resourcegroups/{group-name}/"
                                       "providers/microsoft.compute/disks/{disk-id}"}));
  if (kind != "Managed" && !uri.starts_with("https://"))
    out.push_back(json::not_supported(
        path / "diskURI", uri,
        {"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"}));
}

void validate_storageos(const Value& s, const Path& path, FieldErrors& out) {
  require_name(s, "volumeName", dns1123_label, path, out);
  if (string_view ns = text(s, "volumeNamespace"); !ns.empty())
    complain(path / "volumeNamespace", ns, dns1123_label(ns), out);
  require_secret_name(s, path, out);
}

void validate_scale_io(const Value& s, const Path& path, FieldErrors& out) {
  require_all(s, {"gateway", "system", "volumeName"}, path, out);
}

void validate_local_volume(const Value& s, const Path& path, FieldErrors& out) {
  if (text(s, "path").empty()) return out.push_back(json::required(path / "path"));
  pod::validate_no_backsteps(text(s, "path"), path / "path", out);
}

void validate_persistent_csi(const Value& s, const Path& path, FieldErrors& out) {
  validate_csi_driver_name(text(s, "driver"), path / "driver", out);
  require_text(s, "volumeHandle", path, out);
  for (const char* key : {"controllerPublishSecretRef", "controllerExpandSecretRef",
                          "nodePublishSecretRef", "nodeExpandSecretRef"})
    validate_secret_reference(s, key, path, out);
}

void validate_csi_driver_name(string_view name, const Path& path, FieldErrors& out) {
  if (name.empty()) return out.push_back(json::required(path));
  if (name.size() > 63) out.push_back(json::too_long(path, 63));
  complain(path, name, dns1123_subdomain(lower(name)), out);
}

}  // namespace cardea::catalog

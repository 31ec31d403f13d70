#include "catalog/kinds/check.h"
#include "catalog/kinds/core/claims.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/core/volume_sources.h"

// The volumes of a pod.
namespace cardea::catalog::pod {
namespace {

using std::string_view;

constexpr string_view kFileMode = "must be a number between 0 and 0777 (octal), both inclusive";

void validate_mode(const Value& mode, const Path& path, FieldErrors& out) {
  if (!mode.is_null() && (mode.as_int() < 0 || mode.as_int() > 0777))
    out.push_back(json::invalid(path, mode, std::string(kFileMode)));
}

void validate_key_to_path(const Value& item, const Path& path, FieldErrors& out) {
  require_text(item, "key", path, out);
  require_text(item, "path", path, out);
  validate_local_path(text(item, "path"), path / "path", out);
  validate_mode(item["mode"], path / "mode", out);
}

void validate_keyed_source(const Value& source, const char* name_key, const Path& path,
                           FieldErrors& out) {
  require_text(source, name_key, path, out);
  validate_mode(source["defaultMode"], path / "defaultMode", out);
  each(source, "items", path,
       [&](const Value& item, const Path& at) { validate_key_to_path(item, at, out); });
}

void validate_secret(const Value& s, const Path& path, FieldErrors& out) {
  validate_keyed_source(s, "secretName", path, out);
}
void validate_config_map(const Value& s, const Path& path, FieldErrors& out) {
  validate_keyed_source(s, "name", path, out);
}

void validate_empty_dir(const Value& s, const Path& path, FieldErrors& out) {
  if (present(s, "sizeLimit") && quantity_of(s["sizeLimit"]).sign() < 0)
    out.push_back(
        json::forbidden(path / "sizeLimit", "SizeLimit field must be a valid resource quantity"));
}

void validate_git_repo(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "repository", path, out);
  validate_relative_path(text(s, "directory"), path / "directory", out);
}

void validate_claim(const Value& s, const Path& path, FieldErrors& out) {
  require_text(s, "claimName", path, out);
}

void validate_downward_api(const Value& s, const Path& path, FieldErrors& out) {
  validate_mode(s["defaultMode"], path / "defaultMode", out);
  // Reported at the volume: Kubernetes gives no index here.
  for (const Value& file : s["items"].items()) validate_downward_file(file, path, out);
}

// No two sources of one projected volume may write the same file.
class ProjectedFiles {
 public:
  ProjectedFiles(const Path& path, FieldErrors& out) : path_(path), out_(out) {}
  void add(string_view file, string_view shown) {
    if (!file.empty() && !taken_.insert(file).second)
      out_.push_back(json::invalid(path_, shown, "conflicting duplicate paths"));
  }

 private:
  const Path& path_;
  FieldErrors& out_;
  std::set<string_view> taken_;
};

void validate_token_projection(const Value& token, const Path& path, const Path& volume_path,
                               FieldErrors& out) {
  const Value& seconds = token["expirationSeconds"];
  if (seconds.as_int() < 600)
    out.push_back(json::invalid(path / "expirationSeconds", seconds,
                                "may not specify a duration less than 10 minutes"));
  if (seconds.as_int() > (std::int64_t{1} << 32))
    out.push_back(json::invalid(path / "expirationSeconds", seconds,
                                "may not specify a duration larger than 2^32 seconds"));
  if (text(token, "path").empty())
    out.push_back(json::required(volume_path / "path"));
  else
    validate_local_path(text(token, "path"), volume_path / "path", out);
}

void validate_projected(const Value& s, const Path& path, FieldErrors& out) {
  validate_mode(s["defaultMode"], path / "defaultMode", out);
  ProjectedFiles files(path, out);
  each(s, "sources", path, [&](const Value& source, const Path& at) {
    int kinds = 0;
    for (const char* key : {"secret", "configMap"}) {
      if (!present(source, key)) continue;
      ++kinds;
      require_text(source[key], "name", at / key, out);
      each(source[key], "items", at / key, [&](const Value& item, const Path& item_path) {
        validate_key_to_path(item, item_path, out);
        files.add(text(item, "path"), text(source[key], "name"));
      });
    }
    if (present(source, "downwardAPI")) {
      ++kinds;
      for (const Value& file : source["downwardAPI"]["items"].items()) {
        validate_downward_file(file, at / "downwardAPI", out);
        files.add(text(file, "path"), text(file, "path"));
      }
    }
    if (present(source, "serviceAccountToken")) {
      ++kinds;
      validate_token_projection(source["serviceAccountToken"], at / "serviceAccountToken", path,
                                out);
    }
    if (kinds > 1)
      out.push_back(json::forbidden(at, "may not specify more than 1 volume type per source"));
  });
}

void validate_csi(const Value& s, const Path& path, FieldErrors& out) {
  validate_csi_driver_name(text(s, "driver"), path / "driver", out);
  const Value& secret = s["nodePublishSecretRef"];
  if (secret.is_null()) return;
  if (text(secret, "name").empty())
    out.push_back(json::required(path / "nodePublishSecretRef" / "name"));
  else
    complain(path / "name", text(secret, "name"), dns1123_subdomain(text(secret, "name")), out);
}

void validate_ephemeral(const Value& s, const Path& path, FieldErrors& out) {
  if (!present(s, "volumeClaimTemplate"))
    out.push_back(json::required(path / "volumeClaimTemplate"));
  else
    validate_claim_template(s["volumeClaimTemplate"], path / "volumeClaimTemplate", out);
}

void validate_image(const Value& s, const Path& path, FieldErrors& out) {
  require_one_of_or_missing(text(s, "pullPolicy"), {"Always", "IfNotPresent", "Never"},
                            path / "pullPolicy", out);
}

struct Source {
  string_view key;
  VolumeSourceCheck check;
  string_view reported_as = "";  // where Kubernetes' own path differs
};

// In the order in which Kubernetes looks for them. The first source is the volume, any further one
// is an error.
constexpr Source kSources[] = {
    {"emptyDir", validate_empty_dir},
    {"hostPath", validate_host_path},
    {"gitRepo", validate_git_repo},
    {"gcePersistentDisk", validate_gce_disk, "persistentDisk"},
    {"awsElasticBlockStore", validate_aws_disk},
    {"secret", validate_secret},
    {"nfs", validate_nfs},
    {"iscsi", validate_iscsi},
    {"glusterfs", validate_glusterfs},
    {"flocker", validate_flocker},
    {"persistentVolumeClaim", validate_claim},
    {"rbd", validate_rbd},
    {"cinder", validate_cinder},
    {"cephfs", validate_cephfs},
    {"quobyte", validate_quobyte},
    {"downwardAPI", validate_downward_api},
    {"fc", validate_fc},
    {"flexVolume", validate_flex},
    {"configMap", validate_config_map},
    {"azureFile", validate_azure_file},
    {"vsphereVolume", validate_vsphere},
    {"photonPersistentDisk", validate_photon},
    {"portworxVolume", validate_portworx},
    {"azureDisk", validate_azure_disk},
    {"storageos", validate_storageos},
    {"projected", validate_projected},
    {"scaleIO", validate_scale_io},
    {"csi", validate_csi},
    {"ephemeral", validate_ephemeral},
    {"image", validate_image},
};

}  // namespace

void validate_volume_source(const Value& volume, const Path& path, const PodRules& rules,
                            FieldErrors& out) {
  int found = 0;
  for (const Source& source : kSources) {
    const Value& value = volume[source.key];
    if (value.is_null()) continue;
    if (found++ > 0)
      out.push_back(json::forbidden(path / source.key, "may not specify more than 1 volume type"));
    else
      source.check(value, path / (source.reported_as.empty() ? source.key : source.reported_as),
                   out);
    if (source.key == "image" && rules.is_pod)
      require_text(value, "reference", path / "image", out);
    if (source.key == "iscsi" && present(value, "initiatorName") &&
        cat(text(volume, "name"), ":", text(value, "targetPortal")).size() > 64)
      out.push_back(
          json::invalid(path / "name", text(volume, "name"),
                        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 "
                        "characters if iscsi.initiatorName is specified."));
    if (source.key == "ephemeral" && rules.meta && !text(*rules.meta, "name").empty() &&
        !text(volume, "name").empty()) {
      std::string claim = cat(text(*rules.meta, "name"), "-", text(volume, "name"));
      for (const std::string& message : dns1123_subdomain(claim))
        out.push_back(json::invalid(path / "name", text(volume, "name"),
                                    cat("PVC name ", quoted(claim), ": ", message)));
    }
  }
  if (found == 0) out.push_back(json::required(path, "must specify a volume type"));
}

void validate_volumes(const Value& spec, const Path& path, const PodRules& rules,
                      std::map<std::string, Value, std::less<>>& volumes, FieldErrors& out) {
  std::set<std::string> created_claims;
  if (rules.meta && !text(*rules.meta, "name").empty())
    for (const Value& volume : spec["volumes"].items())
      if (present(volume, "ephemeral"))
        created_claims.insert(cat(text(*rules.meta, "name"), "-", text(volume, "name")));
  each(spec, "volumes", path, [&](const Value& volume, const Path& at) {
    FieldErrors own;
    validate_volume_source(volume, at, rules, own);
    require_name(volume, "name", dns1123_label, at, own);
    if (volumes.contains(text(volume, "name")))
      own.push_back(json::duplicate(at / "name", text(volume, "name")));
    if (own.empty()) volumes.emplace(text(volume, "name"), volume);
    std::ranges::move(own, std::back_inserter(out));
    string_view claim = text(volume["persistentVolumeClaim"], "claimName");
    if (present(volume, "persistentVolumeClaim") && created_claims.contains(std::string(claim)))
      out.push_back(
          json::invalid(at / "persistentVolumeClaim" / "claimName", claim,
                        "must not reference a PVC that gets created for an ephemeral volume"));
  });
}

}  // namespace cardea::catalog::pod

#include "authz/node/references.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authz::node {

using json::Value;

namespace {

constexpr std::string_view kContainerLists[] = {"initContainers", "containers",
                                                "ephemeralContainers"};

// Where a volume of a pod names a secret.
constexpr std::pair<std::string_view, std::string_view> kVolumeSecrets[] = {
    {"cephfs", "secretRef"},    {"cinder", "secretRef"},         {"flexVolume", "secretRef"},
    {"rbd", "secretRef"},       {"scaleIO", "secretRef"},        {"iscsi", "secretRef"},
    {"storageos", "secretRef"}, {"csi", "nodePublishSecretRef"},
};

// Where a PersistentVolume of a sort other than CSI and Azure names one.
constexpr std::string_view kPlainSources[] = {"cephfs",  "cinder", "flexVolume", "rbd",
                                              "scaleIO", "iscsi",  "storageos"};

void add_name(std::vector<std::string>& names, const Value& name) {
  if (!name.as_string().empty()) names.emplace_back(name.as_string());
}

// `env_key` and `from_key` name the reference in env and envFrom.
void add_environment(std::vector<std::string>& names, const Value& spec, const char* env_key,
                     const char* from_key) {
  for (std::string_view list : kContainerLists)
    for (const Value& container : spec[list].items()) {
      for (const Value& from : container["envFrom"].items())
        add_name(names, from[from_key]["name"]);
      for (const Value& env : container["env"].items())
        add_name(names, env["valueFrom"][env_key]["name"]);
    }
}

void add_all(std::vector<Vertex>& to, Kind kind, std::string_view namespace_name,
             std::vector<std::string> names) {
  for (std::string& n : names) to.push_back({kind, std::string(namespace_name), std::move(n)});
}

std::vector<std::string> claims_of(const Value& pod) {
  std::vector<std::string> names;
  for (const Value& v : pod["spec"]["volumes"].items()) {
    if (v.has("persistentVolumeClaim"))
      add_name(names, v["persistentVolumeClaim"]["claimName"]);
    else if (v.has("ephemeral"))
      names.push_back(cat(pod["metadata"]["name"].as_string(), "-", v["name"].as_string()));
  }
  return names;
}

// The name a claim made from a template got, once it was made.
const Value& generated_claim(const Value& pod, std::string_view name) {
  static const Value kNone;
  for (const Value& s : pod["status"]["resourceClaimStatuses"].items())
    if (s["name"].as_string() == name) return s["resourceClaimName"];
  return kNone;
}

std::vector<std::string> resource_claims_of(const Value& pod) {
  std::vector<std::string> names;
  for (const Value& c : pod["spec"]["resourceClaims"].items()) {
    if (c.has("resourceClaimName"))
      add_name(names, c["resourceClaimName"]);
    else if (c.has("resourceClaimTemplateName"))
      add_name(names, generated_claim(pod, c["name"].as_string()));
  }
  add_name(names, pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"]);
  return names;
}

void settle(std::vector<Vertex>& objects) {
  std::ranges::sort(objects);
  auto repeated = std::ranges::unique(objects);
  objects.erase(repeated.begin(), repeated.end());
}

}  // namespace

std::vector<std::string> secrets_of_pod(const Value& pod) {
  std::vector<std::string> names;
  const Value& spec = pod["spec"];
  for (const Value& s : spec["imagePullSecrets"].items()) add_name(names, s["name"]);
  add_environment(names, spec, "secretKeyRef", "secretRef");
  for (const Value& v : spec["volumes"].items()) {
    add_name(names, v["azureFile"]["secretName"]);
    add_name(names, v["secret"]["secretName"]);
    for (auto [source, reference] : kVolumeSecrets) add_name(names, v[source][reference]["name"]);
    for (const Value& s : v["projected"]["sources"].items()) add_name(names, s["secret"]["name"]);
  }
  return names;
}

std::vector<std::string> config_maps_of_pod(const Value& pod) {
  std::vector<std::string> names;
  const Value& spec = pod["spec"];
  add_environment(names, spec, "configMapKeyRef", "configMapRef");
  for (const Value& v : spec["volumes"].items()) {
    add_name(names, v["configMap"]["name"]);
    for (const Value& s : v["projected"]["sources"].items())
      add_name(names, s["configMap"]["name"]);
  }
  return names;
}

Placement placement_of_pod(const Value& pod) {
  const Value& meta = pod["metadata"];
  std::string_view in = meta["namespace"].as_string();
  Placement p{.node = std::string(pod["spec"]["nodeName"].as_string()), .objects = {}};
  if (p.node.empty()) return p;
  p.objects.push_back({Kind::kPod, std::string(in), std::string(meta["name"].as_string())});
  if (meta["annotations"].has("kubernetes.io/config.mirror")) return p;
  if (std::string_view account = pod["spec"]["serviceAccountName"].as_string(); !account.empty())
    p.objects.push_back({Kind::kServiceAccount, std::string(in), std::string(account)});
  add_all(p.objects, Kind::kSecret, in, secrets_of_pod(pod));
  add_all(p.objects, Kind::kConfigMap, in, config_maps_of_pod(pod));
  add_all(p.objects, Kind::kClaim, in, claims_of(pod));
  add_all(p.objects, Kind::kResourceClaim, in, resource_claims_of(pod));
  settle(p.objects);
  return p;
}

Placement placement_of(Kind kind, const Value& object) {
  Placement p{.node = std::string(object["spec"]["nodeName"].as_string()), .objects = {}};
  if (p.node.empty()) return p;
  const Value& meta = object["metadata"];
  p.objects.push_back(
      {kind, std::string(meta["namespace"].as_string()), std::string(meta["name"].as_string())});
  return p;
}

Binding binding_of(const Value& volume) {
  const Value& spec = volume["spec"];
  Binding b;
  if (!spec["claimRef"].is_object()) return b;
  b.claim_namespace = spec["claimRef"]["namespace"].as_string();
  b.claim_name = spec["claimRef"]["name"].as_string();
  auto add_secret = [&b](std::string_view given, std::string_view name) {
    if (!name.empty())
      b.objects.push_back({Kind::kSecret, std::string(given.empty() ? b.claim_namespace : given),
                           std::string(name)});
  };
  if (const Value* azure = spec.find("azureFile"))
    add_secret((*azure)["secretNamespace"].as_string(), (*azure)["secretName"].as_string());
  for (std::string_view source : kPlainSources) {
    const Value& reference = spec[source]["secretRef"];
    add_secret(reference["namespace"].as_string(), reference["name"].as_string());
  }
  // Of a CSI driver's secrets those of the controller are not for kubelets.
  for (auto key : {"nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"}) {
    const Value& reference = spec["csi"][key];
    add_secret(reference["namespace"].as_string(), reference["name"].as_string());
  }
  settle(b.objects);
  b.objects.insert(b.objects.begin(),
                   {Kind::kVolume, "", std::string(volume["metadata"]["name"].as_string())});
  return b;
}

}  // namespace cardea::authz::node

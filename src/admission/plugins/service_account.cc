// ServiceAccount: every pod runs as a service account that exists, and finds its token where
// clients look for it.
#include <array>
#include <set>

#include "admission/plugins.h"
#include "base/random.h"
#include "base/strings.h"
#include "net/pause.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kEnforce = "kubernetes.io/enforce-mountable-secrets";
constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kVolumePrefix = "kube-api-access-";
constexpr std::array kContainerLists = {"initContainers", "containers", "ephemeralContainers"};

// A new namespace gets its default account a moment after it was made: so long and so often is it
// looked for.
constexpr std::chrono::milliseconds kPatience(20);
constexpr int kLooks = 50;

// The token, the CA to verify the server by, and the namespace; as client libraries expect them.
Value token_volume(std::string_view name) {
  Value token = Value::object(
      {{"serviceAccountToken", Value::object({{"expirationSeconds", 3607}, {"path", "token"}})}});
  Value ca = Value::object(
      {{"configMap",
        Value::object(
            {{"name", "kube-root-ca.crt"},
             {"items", Value::array({Value::object({{"key", "ca.crt"}, {"path", "ca.crt"}})})}})}});
  Value field = Value::object({{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}});
  Value own = Value::object(
      {{"downwardAPI",
        Value::object({{"items", Value::array({Value::object(
                                     {{"path", "namespace"}, {"fieldRef", field}})})}})}});
  return Value::object({{"name", name},
                        {"projected", Value::object({{"sources", Value::array({token, ca, own})},
                                                     {"defaultMode", 420}})}});
}

bool wants_mount(const Value& account, const Value& pod) {
  for (const Value* v :
       {&pod["spec"]["automountServiceAccountToken"], &account["automountServiceAccountToken"]})
    if (!v->is_null()) return v->as_bool();
  return true;
}

// Whether the container has to be given the mount. One that has something there keeps it.
bool lacks_mount(const Value& container) {
  for (const Value& mount : container["volumeMounts"].items())
    if (mount["mountPath"].as_string() == kMountPath) return false;
  return true;
}

void mount_token(Value& pod, Random& random) {
  Value& spec = pod.member("spec");
  std::string volume;
  for (const Value& v : spec["volumes"].items())
    if (volume.empty() && v["name"].as_string().starts_with(kVolumePrefix))
      volume = v["name"].as_string();
  bool has_volume = !volume.empty(), is_used = false;
  if (!has_volume) volume = cat(kVolumePrefix, name_suffix(random));
  for (const char* list : {"initContainers", "containers"})
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      if (!lacks_mount(spec[list][i])) continue;
      spec.member(list)
          .item(i)
          .member("volumeMounts")
          .push_back(
              Value::object({{"name", volume}, {"readOnly", true}, {"mountPath", kMountPath}}));
      is_used = true;
    }
  if (is_used && !has_volume) spec.member("volumes").push_back(token_volume(volume));
}

// Where a volume names a secret. An empty `field` means the source itself has the name.
struct SecretField {
  const char *source, *field, *name;
};
constexpr SecretField kSecretFields[] = {
    {"secret", "", "secretName"},        {"azureFile", "", "secretName"},
    {"cephfs", "secretRef", "name"},     {"cinder", "secretRef", "name"},
    {"flexVolume", "secretRef", "name"}, {"rbd", "secretRef", "name"},
    {"scaleIO", "secretRef", "name"},    {"iscsi", "secretRef", "name"},
    {"storageos", "secretRef", "name"},  {"csi", "nodePublishSecretRef", "name"},
};

bool names_secret(const Value& volume) {
  for (const SecretField& f : kSecretFields) {
    const Value& source = volume[f.source];
    const Value& holder = *f.field ? source[f.field] : source;
    if (!holder[f.name].as_string().empty()) return true;
  }
  for (const Value& source : volume["projected"]["sources"].items())
    if (!source["secret"].is_null()) return true;
  return false;
}

bool references_secrets(const Value& pod) {
  const Value& spec = pod["spec"];
  if (!spec["imagePullSecrets"].empty()) return true;
  for (const char* list : kContainerLists)
    for (const Value& container : spec[list].items()) {
      for (const Value& from : container["envFrom"].items())
        if (!from["secretRef"].is_null()) return true;
      for (const Value& env : container["env"].items())
        if (!env["valueFrom"]["secretKeyRef"].is_null()) return true;
    }
  for (const Value& volume : spec["volumes"].items())
    if (names_secret(volume)) return true;
  return false;
}

// The kubelet's picture of a pod that it runs from a file. It may not be changed, nor reach for
// what the API keeps.
std::string wrong_with_mirror(const Value& pod) {
  if (!pod["spec"]["serviceAccountName"].as_string().empty())
    return "a mirror pod may not reference service accounts";
  if (references_secrets(pod)) return "a mirror pod may not reference secrets";
  for (const Value& volume : pod["spec"]["volumes"].items())
    for (const Value& source : volume["projected"]["sources"].items())
      if (!source["serviceAccountToken"].is_null())
        return "a mirror pod may not use ServiceAccountToken volume projections";
  return "";
}

std::set<std::string, std::less<>> names_in(const Value& references) {
  std::set<std::string, std::less<>> out;
  for (const Value& r : references.items()) out.emplace(r["name"].as_string());
  return out;
}

// For an account that is annotated so: only secrets that it lists may be used.
std::string wrong_in_containers(const Value& pod, const char* list,
                                const std::set<std::string, std::less<>>& allowed,
                                std::string_view account) {
  std::string_view called = list == kContainerLists[0]   ? "init container "
                            : list == kContainerLists[1] ? "container "
                                                         : "ephemeral container ";
  for (const Value& container : pod["spec"][list].items()) {
    std::string_view name = container["name"].as_string();
    auto wrong = [&](std::string_view by, std::string_view secret) {
      return cat(called, name, " with ", by, " referencing secret.secretName=\"", secret,
                 "\" is not allowed because service account ", account,
                 " does not reference that secret");
    };
    for (const Value& env : container["env"].items())
      if (const Value& ref = env["valueFrom"]["secretKeyRef"];
          !ref.is_null() && !allowed.contains(ref["name"].as_string()))
        return wrong(cat("envVar ", env["name"].as_string()), ref["name"].as_string());
    for (const Value& from : container["envFrom"].items())
      if (const Value& ref = from["secretRef"];
          !ref.is_null() && !allowed.contains(ref["name"].as_string()))
        return wrong("envFrom", ref["name"].as_string());
  }
  return "";
}

std::string wrong_secret(const Value& pod, const Value& account) {
  auto allowed = names_in(account["secrets"]), pull = names_in(account["imagePullSecrets"]);
  std::string_view name = account["metadata"]["name"].as_string();
  for (const Value& volume : pod["spec"]["volumes"].items()) {
    const Value& secret = volume["secret"];
    if (!secret.is_null() && !allowed.contains(secret["secretName"].as_string()))
      return cat("volume with secret.secretName=\"", secret["secretName"].as_string(),
                 "\" is not allowed because service account ", name,
                 " does not reference that secret");
  }
  for (const char* list : {kContainerLists[0], kContainerLists[1]})
    if (std::string why = wrong_in_containers(pod, list, allowed, name); !why.empty()) return why;
  const Value& references = pod["spec"]["imagePullSecrets"];
  for (std::size_t i = 0; i < references.size(); ++i)
    if (std::string_view given = references[i]["name"].as_string(); !pull.contains(given))
      return cat("imagePullSecrets[", i, "].name=\"", given,
                 "\" is not allowed because service account ", name,
                 " does not reference that imagePullSecret");
  return "";
}

class ServiceAccount : public Plugin {
 public:
  explicit ServiceAccount(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "ServiceAccount"; }

  bool handles(const Review& r) const override {
    if (!r.resource.group.empty() || r.resource.name != "pods") return false;
    return (r.operation == Operation::kCreate && r.subresource.empty()) ||
           (r.operation == Operation::kUpdate && r.subresource == "ephemeralcontainers");
  }

  Task<Result<void>> mutate(Review& r) const override {
    // Refusals come before all other errors of the pod, as in Kubernetes.
    if (r.operation != Operation::kCreate || is_mirror(r)) co_return check(r);
    Value& spec = r.object.member("spec");
    if (spec["serviceAccountName"].as_string().empty()) {
      spec.set("serviceAccountName", "default");
      spec.set("serviceAccount", "default");
    }
    for (int look = 1; r.loop && look < kLooks && is_default(r) && account_of(r).is_null();
         ++look) {
      bool waited = co_await net::pause(*r.loop, kPatience);
      (void)waited;
    }
    Value account = account_of(r);
    if (account.is_null()) co_return fail(missing(r));
    if (wants_mount(account, r.object)) mount_token(r.object, random_);
    if (r.object["spec"]["imagePullSecrets"].empty())
      for (const Value& secret : account["imagePullSecrets"].items())
        r.object.member("spec")
            .member("imagePullSecrets")
            .push_back(Value::object({{"name", secret["name"]}}));
    co_return check(r);
  }

  Task<Result<void>> validate(const Review& r) const override { co_return check(r); }

 private:
  static bool is_mirror(const Review& r) {
    return r.object["metadata"]["annotations"].has(kMirror);
  }
  static bool is_default(const Review& r) {
    return r.object["spec"]["serviceAccountName"].as_string() == "default";
  }

  Value account_of(const Review& r) const {
    return objects_.get(r.catalog, "", "serviceaccounts", r.namespace_name,
                        r.object["spec"]["serviceAccountName"].as_string());
  }
  static Error missing(const Review& r) {
    std::string_view name = r.object["spec"]["serviceAccountName"].as_string();
    return forbidden(r, cat("error looking up service account ", r.namespace_name, "/", name,
                            ": serviceaccount ", quoted(name), " not found"));
  }

  Result<void> check(const Review& r) const {
    if (r.operation == Operation::kCreate && is_mirror(r)) {
      if (std::string why = wrong_with_mirror(r.object); !why.empty())
        return fail(forbidden(r, why));
      return {};
    }
    std::string_view name = r.object["spec"]["serviceAccountName"].as_string();
    if (name.empty() && r.operation == Operation::kCreate)
      return fail(forbidden(
          r, cat("no service account specified for pod ", r.namespace_name, "/", r.name)));
    if (name.empty()) return {};
    Value account = account_of(r);
    if (account.is_null()) return fail(missing(r));
    if (account["metadata"]["annotations"][kEnforce].as_string() != "true") return {};
    std::string why = r.operation == Operation::kCreate
                          ? wrong_secret(r.object, account)
                          : wrong_in_containers(r.object, kContainerLists[2],
                                                names_in(account["secrets"]),
                                                account["metadata"]["name"].as_string());
    if (!why.empty()) return fail(forbidden(r, why));
    return {};
  }

  Objects objects_;
  mutable SystemRandom random_;  // for names that mean nothing
};

}  // namespace

std::unique_ptr<Plugin> service_account(Objects objects) {
  return std::make_unique<ServiceAccount>(objects);
}

}  // namespace cardea::admission

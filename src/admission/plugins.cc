#include "admission/plugins.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::admission {
namespace {

struct Row {
  std::string_view name;
  bool on_by_default;
  std::unique_ptr<Plugin> (*make)(Objects);  // null: known by name, not built yet
  std::unique_ptr<Plugin> (*make_asking)(Objects, const authz::CurrentChain&) = nullptr;  // or this
                                                                                          // one
  Result<std::unique_ptr<Plugin>> (*make_following)(Objects, const authz::CurrentChain&,
                                                    const Outside*) = nullptr;  // or this
  bool needs_outside = false;
  std::unique_ptr<Plugin> (*make_set)(Objects, const Settings&) = nullptr;  // or this
};

// A plugin that settings change.
constexpr Row with_settings(std::string_view name,
                            std::unique_ptr<Plugin> (*make)(Objects, const Settings&)) {
  return {.name = name, .on_by_default = true, .make = nullptr, .make_set = make};
}

// A plugin that could not begin is none.
std::unique_ptr<Plugin> or_null(Result<std::unique_ptr<Plugin>> made) {
  return made ? std::move(*made) : nullptr;
}

constexpr std::string_view kNodeRestriction = "NodeRestriction";

// In Kubernetes' order. The order decides which plugins see the changes of which others.
constexpr Row kRows[] = {
    {"AuthorizationConditionsEnforcer", true, conditions_enforcer},  // Cardea's own plugin: before
                                                                     // all others that validate
    {"AlwaysAdmit", false, nullptr},
    {"NamespaceAutoProvision", false, nullptr},
    {"NamespaceLifecycle", true, namespace_lifecycle},
    {"NamespaceExists", false, nullptr},
    {"LimitPodHardAntiAffinityTopology", false, nullptr},
    {"LimitRanger", true, limit_ranger},
    {"ServiceAccount", true, service_account},
    {kNodeRestriction, true, nullptr},  // made below
    {"TaintNodesByCondition", true, [](Objects) { return taint_nodes_by_condition(); }},
    {"AlwaysPullImages", false, nullptr},
    {"ImagePolicyWebhook", false, nullptr},
    with_settings("PodSecurity", pod_security),
    {"PodNodeSelector", false, nullptr},
    {"PodTopologyLabels", true, pod_topology_labels},
    {"Priority", true, priority},
    with_settings("DefaultTolerationSeconds", default_toleration_seconds),
    {"PodTolerationRestriction", false, nullptr},
    {"EventRateLimit", false, nullptr},
    {"ExtendedResourceToleration", false, nullptr},
    {"DefaultStorageClass", true, default_storage_class},
    {"StorageObjectInUseProtection", true,
     [](Objects) { return storage_object_in_use_protection(); }},
    {"OwnerReferencesPermissionEnforcement", true, nullptr,
     [](Objects, const authz::CurrentChain& a) { return owner_references(a); }},
    {"PersistentVolumeClaimResize", true, persistent_volume_claim_resize},
    {"RuntimeClass", true, runtime_class},
    {"CertificateApproval", true, nullptr,
     [](Objects, const authz::CurrentChain& a) { return certificate_approval(a); }},
    {"CertificateSigning", true, nullptr,
     [](Objects, const authz::CurrentChain& a) { return certificate_signing(a); }},
    {"ClusterTrustBundleAttest", true, nullptr,
     [](Objects, const authz::CurrentChain& a) { return cluster_trust_bundle_attest(a); }},
    {"CertificateSubjectRestriction", true,
     [](Objects) { return certificate_subject_restriction(); }},
    {"DefaultIngressClass", true, default_ingress_class},
    {"PodGroupWorkloadExists", false, nullptr},
    {"DenyServiceExternalIPs", false, nullptr},
    {"MutatingAdmissionPolicy", true, nullptr, nullptr, mutating_admission_policy},
    {"MutatingAdmissionWebhook", true, nullptr, nullptr, mutating_admission_webhook, true},
    {"ValidatingAdmissionPolicy", true, nullptr, nullptr, validating_admission_policy},
    {"ValidatingAdmissionWebhook", true, nullptr, nullptr, validating_admission_webhook, true},
    with_settings("ResourceQuota", resource_quota),
    {"AlwaysDeny", false, nullptr},
};

bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool has_node_authorizer(const authz::CurrentChain& chain) {
  return std::ranges::any_of(chain.get()->authorizers(),
                             [](const auto& a) { return a->type() == "Node"; });
}

Result<void> check_names(const std::vector<std::string>& names) {
  for (const std::string& n : names)
    if (!n.empty() && std::ranges::find(kRows, std::string_view(n), &Row::name) == std::end(kRows))
      return fail(bad_request(cat("unknown admission plugin `", n, "`")));
  return {};
}

}  // namespace

Result<Selected> select_plugins(Objects objects, const authz::CurrentChain& authorizer,
                                const std::vector<std::string>& enable,
                                const std::vector<std::string>& disable, const Outside* outside,
                                const Settings& settings) {
  if (auto ok = check_names(enable); !ok) return fail(ok.error());
  if (auto ok = check_names(disable); !ok) return fail(ok.error());
  if (has(disable, kNodeRestriction) && has_node_authorizer(authorizer))
    return fail(bad_request(
        "the authorizer `Node`, which is in the chain, needs the admission plugin "
        "`NodeRestriction`: without it a kubelet could get the rights of cluster-admin"));
  Selected selected;
  for (const Row& row : kRows) {
    if (has(enable, row.name) && has(disable, row.name))
      return fail(
          bad_request(cat("admission plugin `", row.name, "` is both enabled and disabled")));
    // Left out or not: a reload may bring the authorizer Node.
    if (row.name == kNodeRestriction) {
      selected.plugins.push_back(node_restriction(
          objects, authorizer,
          has(enable, row.name) ? KeepsKubelets::kAlways : KeepsKubelets::kWithNodeAuthorizer));
      continue;
    }
    bool wanted = has(enable, row.name) || (row.on_by_default && !has(disable, row.name));
    if (!wanted) continue;
    const bool follows = row.make_following && (outside || !row.needs_outside);
    const bool is_there = row.make || row.make_asking || row.make_set || follows;
    if (row.make)
      selected.plugins.push_back(row.make(objects));
    else if (row.make_set)
      selected.plugins.push_back(row.make_set(objects, settings));
    else if (row.make_asking)
      selected.plugins.push_back(row.make_asking(objects, authorizer));
    else if (follows)
      selected.plugins.push_back(or_null(row.make_following(objects, authorizer, outside)));
    if (is_there && !selected.plugins.back())
      return fail(internal_error(cat("admission plugin `", row.name, "` cannot follow the store")));
    if (!is_there && has(enable, row.name))
      selected.warnings.push_back(
          cat("admission plugin ", row.name, " is not built yet and does nothing"));
  }
  return selected;
}

}  // namespace cardea::admission

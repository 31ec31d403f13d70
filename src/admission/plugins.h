#pragma once
#include <memory>
#include <string>
#include <vector>

#include "admission/objects.h"
#include "admission/outside.h"
#include "admission/plugin.h"
#include "authz/current_chain.h"

namespace cardea::admission {

// Kubernetes' own plugins, by their names there.
// The first of those that validate, and the one that conditional authorization cannot do without.
std::unique_ptr<Plugin> conditions_enforcer(Objects objects);
std::unique_ptr<Plugin> namespace_lifecycle(Objects objects);
std::unique_ptr<Plugin> service_account(Objects objects);
std::unique_ptr<Plugin> priority(Objects objects);
std::unique_ptr<Plugin> default_toleration_seconds();
std::unique_ptr<Plugin> taint_nodes_by_condition();
std::unique_ptr<Plugin> default_storage_class(Objects objects);
std::unique_ptr<Plugin> default_ingress_class(Objects objects);
std::unique_ptr<Plugin> runtime_class(Objects objects);
std::unique_ptr<Plugin> storage_object_in_use_protection();
std::unique_ptr<Plugin> limit_ranger(Objects objects);
// When kubelets are kept to their node: always, or while the authorizer Node, which relies on it,
// is in the chain.
enum class KeepsKubelets : bool { kAlways, kWithNodeAuthorizer };
std::unique_ptr<Plugin> node_restriction(Objects objects, const authz::CurrentChain& authorizer,
                                         KeepsKubelets when);
std::unique_ptr<Plugin> pod_security(Objects objects);
std::unique_ptr<Plugin> pod_topology_labels(Objects objects);
std::unique_ptr<Plugin> persistent_volume_claim_resize(Objects objects);
std::unique_ptr<Plugin> certificate_approval(const authz::CurrentChain& authorizer);
std::unique_ptr<Plugin> certificate_signing(const authz::CurrentChain& authorizer);
std::unique_ptr<Plugin> certificate_subject_restriction();
std::unique_ptr<Plugin> cluster_trust_bundle_attest(const authz::CurrentChain& authorizer);
std::unique_ptr<Plugin> resource_quota(Objects objects);
std::unique_ptr<Plugin> owner_references(const authz::CurrentChain& authorizer);

// Those that follow policies in the store. `outside` may be null: nobody counts what is evaluated.
Result<std::unique_ptr<Plugin>> validating_admission_policy(Objects objects,
                                                            const authz::CurrentChain& authorizer,
                                                            const Outside* outside = nullptr);
Result<std::unique_ptr<Plugin>> mutating_admission_policy(Objects objects,
                                                          const authz::CurrentChain& authorizer,
                                                          const Outside* outside = nullptr);

// Those that ask webhooks.
Result<std::unique_ptr<Plugin>> mutating_admission_webhook(Objects objects,
                                                           const authz::CurrentChain& authorizer,
                                                           const Outside* outside);
Result<std::unique_ptr<Plugin>> validating_admission_webhook(Objects objects,
                                                             const authz::CurrentChain& authorizer,
                                                             const Outside* outside);

struct Selected {
  std::vector<std::unique_ptr<Plugin>> plugins;
  std::vector<std::string> warnings;  // known names that this version does not have
};

// The plugins that are on by default, with the given ones added and left out. An unknown name is an
// error. NodeRestriction is on whenever the authorizer Node is in the chain, also when that comes
// later; to leave it out then is an error. Those that ask whether somebody may do something else
// too ask `authorizer`, which outlives them. Without `outside` nobody asks webhooks.
Result<Selected> select_plugins(Objects objects, const authz::CurrentChain& authorizer,
                                const std::vector<std::string>& enable,
                                const std::vector<std::string>& disable,
                                const Outside* outside = nullptr);

}  // namespace cardea::admission

#pragma once
#include <memory>
#include <string>
#include <vector>

#include "admission/objects.h"
#include "admission/outside.h"
#include "admission/plugin.h"
#include "admission/settings.h"
#include "authz/current_chain.h"

namespace cardea::admission {

// Kubernetes' own plugins, by their names in Kubernetes. The first is the first that validates;
// conditional authorization needs it.
std::unique_ptr<Plugin> conditions_enforcer(Objects objects);
std::unique_ptr<Plugin> namespace_lifecycle(Objects objects);
std::unique_ptr<Plugin> service_account(Objects objects);
std::unique_ptr<Plugin> priority(Objects objects);
std::unique_ptr<Plugin> default_toleration_seconds(Objects objects, const Settings& settings);
std::unique_ptr<Plugin> taint_nodes_by_condition();
std::unique_ptr<Plugin> default_storage_class(Objects objects);
std::unique_ptr<Plugin> default_ingress_class(Objects objects);
std::unique_ptr<Plugin> runtime_class(Objects objects);
std::unique_ptr<Plugin> storage_object_in_use_protection();
std::unique_ptr<Plugin> limit_ranger(Objects objects);
// When kubelets are limited to their node: always, or while the authorizer Node, which depends
// on this plugin, is in the chain.
enum class KeepsKubelets : bool { kAlways, kWithNodeAuthorizer };
std::unique_ptr<Plugin> node_restriction(Objects objects, const authz::CurrentChain& authorizer,
                                         KeepsKubelets when);
std::unique_ptr<Plugin> pod_security(Objects objects, const Settings& settings = {});
std::unique_ptr<Plugin> pod_topology_labels(Objects objects);
std::unique_ptr<Plugin> persistent_volume_claim_resize(Objects objects);
std::unique_ptr<Plugin> certificate_approval(const authz::CurrentChain& authorizer);
std::unique_ptr<Plugin> certificate_signing(const authz::CurrentChain& authorizer);
std::unique_ptr<Plugin> certificate_subject_restriction();
std::unique_ptr<Plugin> cluster_trust_bundle_attest(const authz::CurrentChain& authorizer);
std::unique_ptr<Plugin> resource_quota(Objects objects, const Settings& settings = {});
std::unique_ptr<Plugin> owner_references(const authz::CurrentChain& authorizer);

// Plugins that follow policies in the store. `outside` may be null: then evaluations are not
// counted.
Result<std::unique_ptr<Plugin>> validating_admission_policy(Objects objects,
                                                            const authz::CurrentChain& authorizer,
                                                            const Outside* outside = nullptr);
Result<std::unique_ptr<Plugin>> mutating_admission_policy(Objects objects,
                                                          const authz::CurrentChain& authorizer,
                                                          const Outside* outside = nullptr);

// Plugins that call webhooks.
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

// The plugins that are on by default, plus and minus the given ones. An unknown name is an
// error. NodeRestriction is on whenever the authorizer Node is in the chain, also when Node is
// added later; removing it then is an error. Plugins that check further permissions ask
// `authorizer`, which must outlive them. Without `outside` webhooks are not called.
Result<Selected> select_plugins(Objects objects, const authz::CurrentChain& authorizer,
                                const std::vector<std::string>& enable,
                                const std::vector<std::string>& disable,
                                const Outside* outside = nullptr, const Settings& settings = {});

}  // namespace cardea::admission

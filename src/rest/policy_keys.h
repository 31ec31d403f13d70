#pragma once
#include <string>
#include <vector>

namespace cardea::rest {

// The prefixes of the keys that decide what is allowed. Where several servers share a store, a
// change of one of them is marked (store::Store::marked_revision), and a write that was decided
// about before the change is not stored.
inline std::vector<std::string> policy_prefixes() {
  return {"/registry/roles/",
          "/registry/rolebindings/",
          "/registry/clusterroles/",
          "/registry/clusterrolebindings/",
          "/registry/access.cardea.dev/",
          "/registry/authorization.openshift.io/",
          "/registry/permissionconfig.k8s.io/",
          "/registry/validatingadmissionpolicies/",
          "/registry/validatingadmissionpolicybindings/",
          "/registry/mutatingadmissionpolicies/",
          "/registry/mutatingadmissionpolicybindings/",
          "/registry/validatingwebhookconfigurations/",
          "/registry/mutatingwebhookconfigurations/"};
}

// Those that a kube-apiserver on the same etcd changes, and by which it forbids: a new or changed
// one counts at once (store::EtcdOptions::guarded). One that it deletes forbids less. Roles and
// bindings only allow; what a write is allowed by is compared by itself (rest/write/commit.cc).
inline std::vector<std::string> admission_prefixes() {
  return {
      "/registry/validatingadmissionpolicies/",     "/registry/validatingadmissionpolicybindings/",
      "/registry/mutatingadmissionpolicies/",       "/registry/mutatingadmissionpolicybindings/",
      "/registry/validatingwebhookconfigurations/", "/registry/mutatingwebhookconfigurations/"};
}

}  // namespace cardea::rest

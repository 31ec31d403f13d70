#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace cardea::admission {

// Kubernetes' Pod Security Standards: three levels of what a pod may ask for, each as of a minor
// version.
enum class SecurityLevel { kPrivileged, kBaseline, kRestricted };
std::optional<SecurityLevel> parse_security_level(std::string_view text);

struct SecurityPolicy {
  static constexpr int kLatest = 1'000'000;
  SecurityLevel level = SecurityLevel::kPrivileged;
  int minor = kLatest;  // of version 1

  std::string print() const;  // "baseline:latest", "restricted:v1.24"
  friend bool operator==(const SecurityPolicy&, const SecurityPolicy&) = default;
};
// "latest" or "v1.24".
std::optional<int> parse_policy_version(std::string_view text);

// One feature of a pod that a standard forbids.
struct SecurityViolation {
  std::string reason;  // "host namespaces"
  std::string detail;  // "hostNetwork=true"
};

// All violations of the standard by a pod or a pod template; baseline first, then restricted,
// each in the order of Kubernetes' checks. `metadata` and `spec` are those of the pod. A pure
// function.
std::vector<SecurityViolation> violations(const SecurityPolicy& policy, const json::Value& metadata,
                                          const json::Value& spec);

}  // namespace cardea::admission

#pragma once
#include <string>
#include <string_view>

#include "json/value.h"

namespace cardea::catalog {

// Groups under k8s.io and kubernetes.io belong to the Kubernetes community. A definition in them
// has an annotation with the approval.
bool is_protected_group(std::string_view group);

inline constexpr std::string_view kApprovalAnnotation = "api-approved.kubernetes.io";

struct Approval {
  enum State { kInvalid, kApproved, kBypassed, kMissing };
  State state;
  std::string reason;
};
Approval approval_of(const json::Value& annotations);

}  // namespace cardea::catalog

#include "admission/policy/policy_invocations.h"

#include "admission/policy/policy_match.h"
#include "admission/policy/policy_params.h"

namespace cardea::admission {

void for_each_invocation(
    const BoundPolicy& bound, const Review& review, const Objects& objects,
    const std::function<void(const PolicyBinding*, const Error&)>& misconfigured,
    const std::function<void(PolicyInvocation)>& use) {
  const Policy& policy = *bound.policy;
  const auto matched = match_request(policy.spec["matchConstraints"], review, objects);
  if (!matched) return misconfigured(nullptr, matched.error());
  if (!*matched) return;
  const auto kind = param_resource(policy.spec, review.catalog);
  if (!kind) return misconfigured(nullptr, kind.error());
  for (const auto& binding : bound.bindings) {
    const auto applies = match_request(binding->spec["matchResources"], review, objects);
    if (!applies) {
      misconfigured(binding.get(), applies.error());
      continue;
    }
    if (!*applies) continue;
    const auto params = collect_params(*kind, binding->spec, review, objects);
    if (!params) {
      misconfigured(binding.get(), params.error());
      continue;
    }
    for (const json::Value& param : *params)
      use({&policy, binding.get(), (*matched)->resource, param});
  }
}

}  // namespace cardea::admission

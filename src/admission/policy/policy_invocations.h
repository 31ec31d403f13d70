#pragma once
#include <functional>

#include "admission/objects.h"
#include "admission/plugin.h"
#include "admission/policy/policy_set.h"

namespace cardea::admission {

// One policy, one binding, one parameter object: the unit of evaluation and of reinvocation.
struct PolicyInvocation {
  const Policy* policy;
  const PolicyBinding* binding;
  const catalog::Resource* as;  // the resource the policy sees the object as
  json::Value param;            // null: none
};

// Returns every invocation of a policy with its bindings for this request. Errors in the policy
// (then without a binding) or in one of its bindings go to `misconfigured`: the failure policy
// decides whether they refuse the request.
void for_each_invocation(
    const BoundPolicy& bound, const Review& review, const Objects& objects,
    const std::function<void(const PolicyBinding*, const Error&)>& misconfigured,
    const std::function<void(PolicyInvocation)>& use);

}  // namespace cardea::admission

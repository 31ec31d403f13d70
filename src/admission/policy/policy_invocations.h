#pragma once
#include <functional>

#include "admission/objects.h"
#include "admission/plugin.h"
#include "admission/policy/policy_set.h"

namespace cardea::admission {

// One policy, one binding, one parameter object: what runs, and perhaps runs again.
struct PolicyInvocation {
  const Policy* policy;
  const PolicyBinding* binding;
  const catalog::Resource* as;  // the resource the policy sees the object as
  json::Value param;            // null: none
};

// Gives every invocation that a policy with its bindings amounts to for this request. What is wrong
// with the policy (no binding then) or with one of its bindings goes to `misconfigured` instead: it
// is for the policy to say whether that refuses.
void for_each_invocation(
    const BoundPolicy& bound, const Review& review, const Objects& objects,
    const std::function<void(const PolicyBinding*, const Error&)>& misconfigured,
    const std::function<void(PolicyInvocation)>& use);

}  // namespace cardea::admission

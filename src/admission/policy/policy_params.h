#pragma once
#include <vector>

#include "admission/objects.h"
#include "admission/plugin.h"

namespace cardea::admission {

// The resource that a policy's paramKind names; the error says that it does not exist. Null
// when the policy has no paramKind.
Result<const catalog::Resource*> param_resource(const json::Value& policy_spec,
                                                const catalog::Catalog& catalog);

// The parameter objects that a binding selects for a request; the policy is evaluated with
// each. One null object when the policy has no parameters or the binding selects none; empty
// when the selected objects are missing and the binding permits this.
Result<std::vector<json::Value>> collect_params(const catalog::Resource* kind,
                                                const json::Value& binding_spec,
                                                const Review& review, const Objects& objects);

}  // namespace cardea::admission

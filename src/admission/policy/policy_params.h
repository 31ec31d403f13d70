#pragma once
#include <vector>

#include "admission/objects.h"
#include "admission/plugin.h"

namespace cardea::admission {

// The resource a policy's paramKind names; the error says that there is none. Null when the policy
// has no paramKind.
Result<const catalog::Resource*> param_resource(const json::Value& policy_spec,
                                                const catalog::Catalog& catalog);

// The parameter objects a binding chooses for a request, each to be evaluated with. One null object
// when the policy has no parameters or the binding chooses none; empty when those it chooses are
// missing and that is fine with it.
Result<std::vector<json::Value>> collect_params(const catalog::Resource* kind,
                                                const json::Value& binding_spec,
                                                const Review& review, const Objects& objects);

}  // namespace cardea::admission

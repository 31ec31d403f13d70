#pragma once
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest::policy {

// The reviews of authorization.openshift.io: may a user do something in a namespace, and which
// users may. In the original form (v1beta3: a spec with the question and a status with the
// answer) and in the flat form of current OpenShift clients (v1: another kind is the answer).
// Both ask the whole chain; conditions on the object are evaluated with `content`. In v1 also
// the rules that a user holds in a namespace.
bool serves_review(const catalog::Resource& resource);
Task<Result<Answer>> serve_review(Call& call);

}  // namespace cardea::rest::policy

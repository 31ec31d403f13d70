#pragma once
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest::policy {

// The reviews of authorization.openshift.io: may somebody do something in a namespace, and who may.
// In the shape in which they were first drawn (v1beta3: a spec that is asked and a status that
// answers) and in the flat one of today's OpenShift clients (v1: another kind answers). Both ask
// the whole chain; `content` settles what depends on the object. In v1 also the rules that somebody
// holds in a namespace.
bool serves_review(const catalog::Resource& resource);
Task<Result<Answer>> serve_review(Call& call);

}  // namespace cardea::rest::policy

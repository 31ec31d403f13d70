#pragma once
#include "base/result.h"
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// A request for a part of an object: status, scale, binding, eviction, approval... call.subresource
// is set.
Task<Result<Answer>> serve_subresource(Call& call);

// Resources that are asked and not kept: bindings and reviews.
Task<Result<Answer>> serve_unstored(Call& call);

Task<Result<Answer>> review_self(Call& call);          // who am I?
Task<Result<Answer>> review_token(Call& call);         // whose is this token?
Task<Result<Answer>> request_token(Call& call);        // serviceaccounts/token
Task<Result<Answer>> review_access(Call& call);        // may they?
Task<Result<Answer>> review_local_access(Call& call);  // may they, in this namespace?
Task<Result<Answer>> review_own_access(Call& call);    // may I?
Task<Result<Answer>> review_own_rules(Call& call);     // what may I?
Task<Result<Answer>> review_batch(Call& call);         // may they, a thousand times?
Task<Result<Answer>> review_who_can(Call& call);       // who may?
Task<Result<Answer>> review_conditions(Call& call);    // do these conditions hold?
Task<Result<Answer>> serve_scale(Call& call);
Task<Result<Answer>> bind_pod(Call& call);   // pods/binding, and bindings themselves
Task<Result<Answer>> evict_pod(Call& call);  // pods/eviction
// exec, attach, portforward, log, proxy: what a server without reachable nodes has to say.
Task<Result<Answer>> connect(Call& call);

}  // namespace cardea::rest

#pragma once
#include "base/result.h"
#include "base/task.h"
#include "rest/call.h"
#include "rest/verbs/options.h"
#include "rest/write/write.h"

namespace cardea::rest {

// The verbs. A Call exists only after authorization; each verb answers it once. The Call outlives
// the task.
Task<Result<Answer>> get(Call& call);
Task<Result<Answer>> list(Call& call);
Task<Result<Answer>> create(Call& call);
Task<Result<Answer>> update(Call& call);
Task<Result<Answer>> patch(Call& call);
Task<Result<Answer>> remove(Call& call);  // delete
// `kind`: kDelete, or kEviction for a deletion that was admitted as an Eviction.
Task<Result<Answer>> remove_with(Call& call, DeleteOptions options, WriteKind kind);
Task<Result<Answer>> remove_collection(Call& call);  // deletecollection

}  // namespace cardea::rest

#pragma once
#include "base/task.h"
#include "json/patch.h"
#include "rest/call.h"

namespace cardea::rest {

// Callers who may write an object that they may not read.
//
// A permission on single fields, a permission under conditions and the permission to delete do not
// include the permission to read. The answer to such a caller tells nothing about the object beyond
// what the permission itself implies: the same status and the same text whatever the object holds.
// (A caller who holds the whole verb `update` or `patch` sees the object in the answer, as in
// Kubernetes, and is not blind; unless reading is denied to them.)
//
// Three rules make it so:
//  1. The fields that the request names are judged before the object is read, whether or not they
//  change.
//  2. A write that changes nothing is written all the same: the resourceVersion of the answer does
//  not tell.
//  3. What the gateway sends is `seen_blindly`: identity and what was sent, or an error without its
//  reason.

// Whether the permission of this request is one that does not include reading.
bool may_be_blind(const Call& call);
// Whether the caller may not read the object that this request writes. Asks the chain at most once
// for a request, and nothing for callers who hold the whole verb.
Task<bool> is_blind(Call& call);
// The same when it was asked already; false before.
bool is_known_blind(const Call& call);

// What a JSON patch means whose place is not there: whether it is, a blind caller is not told.
inline json::Missing missing_for(const Call& call) {
  return is_known_blind(call) ? json::Missing::kIsMade : json::Missing::kFails;
}

// Before the object of an update or a patch is read: refuses what a blind caller's request reads
// from it, and the fields that it names without permission. Nothing for others.
Task<Result<void>> judge_blindly(Call& call);

// Whether this answer, or what comes with it, could say something about the object.
bool tells_of_object(const Call& call, const Result<Answer>& answer);
// What a blind caller is told instead of `answer`.
Result<Answer> seen_blindly(Call& call, Result<Answer> answer);

}  // namespace cardea::rest

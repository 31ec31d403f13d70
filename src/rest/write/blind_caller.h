#pragma once
#include "base/task.h"
#include "json/patch.h"
#include "rest/call.h"

namespace cardea::rest {

// Callers that may write an object but not read it ("blind" callers).
//
// A permission on single fields, a permission under conditions and the permission to delete do not
// include the permission to read. The answer for such a caller shows nothing about the object
// beyond what the permission itself implies: the same status and the same text whatever the content
// of the object is. (A caller with the whole verb `update` or `patch` sees the object in the
// answer, as in Kubernetes, and is not blind, unless reading is denied to the caller.)
//
// Whoever acts for another user under conditions on the object is blind until they are settled,
// whatever the other user may read.
//
// Three rules ensure this:
//  1. The fields that the request names are judged before the object is read, whether or not they
//     change.
//  2. A write that changes nothing is written all the same: the resourceVersion of the answer does
//     not show the difference.
//  3. The gateway sends `seen_blindly`: identity and the content of the request, or an error
//  without
//     its reason.

// Whether the permission of this request does not include reading.
bool may_be_blind(const Call& call);
// Whether the caller may not read the object that this request writes. Asks the chain at most
// once for a request, and never for callers with the whole verb.
Task<bool> is_blind(Call& call);
// The same if it was asked already; false before.
bool is_known_blind(const Call& call);

// The meaning of a JSON patch operation on a missing field: a blind caller must not learn
// whether the field exists.
inline json::Missing missing_for(const Call& call) {
  return is_known_blind(call) ? json::Missing::kIsMade : json::Missing::kFails;
}

// Before the object of an update or a patch is read: refuses operations of a blind caller that
// read the object, and named fields without permission. Does nothing for other callers.
Task<Result<void>> judge_blindly(Call& call);

// Whether this answer, or its headers, could show something about the object.
bool tells_of_object(const Call& call, const Result<Answer>& answer);
// The answer for a blind caller instead of `answer`.
Result<Answer> seen_blindly(Call& call, Result<Answer> answer);

}  // namespace cardea::rest

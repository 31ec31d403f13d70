#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace cardea::json {

constexpr std::size_t kMaxPatchOperations = 10000;

// JSON Patch (RFC 6902) as Kubernetes applies it. `patch` is the parsed body.
//
// It differs from the RFC where Kubernetes does: `replace` of a missing member adds it, `copy` of a
// missing member writes null, `test` of a missing member for null holds, a missing `value` is null,
// negative indexes count from the end, and only `replace` may name the whole document (path "").
//
// A body of the wrong shape is a BadRequest, too many operations RequestEntityTooLarge. An
// operation that does not apply is the bare 422 that Kubernetes gives, without a word about which
// one it was. Copies are bounded together, and so are the depth of the outcome and the work done,
// whatever the operations say.
//
// `missing` says what an operation means whose place is not there: for a client who may not know,
// removing is nothing and adding makes the objects on the way.
enum class Missing : bool { kFails, kIsMade };
Result<Value> apply_json_patch(const Value& document, const Value& patch,
                               Missing missing = Missing::kFails);

// The names and indexes of a JSON pointer (RFC 6901). What stands before the first slash is
// ignored, as Kubernetes ignores it.
std::vector<std::string> pointer_tokens(std::string_view path);

// JSON Merge Patch (RFC 7386): null removes, objects merge, anything else replaces. A patch that is
// no object is a BadRequest, as it is in Kubernetes.
Result<Value> apply_merge_patch(const Value& document, const Value& patch);

}  // namespace cardea::json

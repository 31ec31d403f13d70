#pragma once
#include "base/result.h"
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

// Strategic merge patch: a merge patch that knows, from `patch_strategy` and `patch_merge_key` in
// the schema, which lists merge by key and which are replaced.
//
// Directives: `$patch` (replace, delete, merge) in objects and list items, `$retainKeys`,
// `$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>`. What the schema does not know
// merges as objects and replaces lists. A patch that makes no sense is a BadRequest in Kubernetes'
// words (where Kubernetes says 500 to some of them).
//
// Only for built-in kinds: Kubernetes answers 415 for custom resources, which the caller must do.
Result<json::Value> apply_strategic_merge_patch(const json::Value& document,
                                                const json::Value& patch, const Schema& schema);

}  // namespace cardea::schema

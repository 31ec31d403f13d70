#pragma once
#include "json/value.h"
#include "schema/ownership/field_set.h"
#include "schema/schema.h"

namespace cardea::schema {

// The lists of type set and map whose items changed places: items that both documents have follow
// each other in another order. Comparing by identity does not see this, and yet order means
// something: init containers run in it, environment variables refer to earlier ones, the first
// webhook is called first.
//
// Lists in which order means nothing are left out: `metadata.finalizers`,
// `metadata.ownerReferences` and `status.conditions`. Atomic lists are left out too: they are
// compared as one value, order included.
//
// Pure; costs little where both documents share their parts.
FieldSet reordered_lists(const json::Value& before, const json::Value& after, const Schema& schema);

}  // namespace cardea::schema

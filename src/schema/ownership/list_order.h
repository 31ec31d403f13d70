#pragma once
#include "schema/ownership/compare.h"
#include "schema/ownership/field_set.h"
#include "schema/schema.h"

namespace cardea::schema {

// The lists of type set and map whose items changed places: the items of both documents have
// another order. A comparison by identity does not see this, but order has a meaning: init
// containers run in it, environment variables refer to earlier ones, the first webhook is
// called first.
//
// Lists without a meaning of order are left out: `metadata.finalizers`,
// `metadata.ownerReferences` and `status.conditions`. Atomic lists are left out too: they are
// compared as one value, order included.
FieldSet reordered_lists(const Comparison& comparison, const Schema& schema);

}  // namespace cardea::schema

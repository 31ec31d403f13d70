#pragma once
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

// Fills in what a custom resource's schema has defaults for: absent fields, and nulls where null is
// not allowed, at every depth that is there. Idempotent; what needs no default is shared with
// `value`.
json::Value apply_defaults(const Schema& schema, const json::Value& value);

// True when a default stands anywhere below: callers skip the walk otherwise.
bool has_defaults(const Schema& schema);

}  // namespace cardea::schema

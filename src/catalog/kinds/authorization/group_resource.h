#pragma once
#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// A resource by its `group` (empty: the core group) and its `resource`, the plural without a
// subresource. `at` is the place of the object that has both.
void check_group_resource(const Path& at, const json::Value& named, json::FieldErrors& out);

}  // namespace cardea::catalog

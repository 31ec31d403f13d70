#pragma once
#include <string>
#include <vector>

#include "json/value.h"
#include "schema/ownership/field_set.h"
#include "schema/schema.h"

namespace cardea::schema {

// `config` laid over `live`: maps and identified lists merge, everything else is taken from
// `config`. Items keep the order of `config` among themselves and stay among their live neighbours
// as far as that allows.
json::Value merge(const json::Value& live, const json::Value& config, const Schema& schema);

// `value` without the paths of `paths` and what is below them. A container that loses everything
// stays as an empty one, or as null where that is allowed: in structs of built-in types and parts
// without schema.
json::Value without(const json::Value& value, const FieldSet& paths, const Schema& schema);

// The errors that prevent `config` from being an object of this schema: `.spec.foo: field not
// declared in schema`. Types, unknown fields, and items of a list that cannot be distinguished.
std::vector<std::string> type_errors(const json::Value& config, const Schema& schema);

}  // namespace cardea::schema

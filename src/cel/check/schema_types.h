#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cel/environment.h"
#include "json/value.h"

// Types and values of custom resources, as `x-kubernetes-validations` sees them.
namespace cardea::cel {

// The type of a structural schema; its records are declared in `environment` under `name`. Null if
// rules cannot see such data (no type). `root`: apiVersion, kind and metadata.name are present
// although the schema does not list them.
const Type* declare_schema(Environment& environment, std::string_view name,
                           const json::Value& schema, bool root);

// `document` with the types of its schema: integers of a `number` are doubles, formatted strings
// are bytes, durations and timestamps, fields that are null or not in the schema are absent, names
// are escaped. An error if it does not fit.
Value typed_value(Frame& frame, const json::Value& document, const json::Value& schema, bool root);

// The name by which a property is selected: `a-b` is a__dash__b, `in` is __in__. nullopt if it
// cannot be selected.
std::optional<std::string> escape_property(std::string_view name);
// The reverse; nullopt if the name contains an unknown escape.
std::optional<std::string> unescape_property(std::string_view name);

}  // namespace cardea::cel

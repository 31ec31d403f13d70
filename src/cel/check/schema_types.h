#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cel/environment.h"
#include "json/value.h"

// Types and values of custom resources, as `x-kubernetes-validations` sees them.
namespace cardea::cel {

// The type that a structural schema gives, its records declared in `environment` under `name`. Null
// when rules cannot see such data (no type). `root`: apiVersion, kind and metadata.name are there
// without being written.
const Type* declare_schema(Environment& environment, std::string_view name,
                           const json::Value& schema, bool root);

// `document` as its schema says it is: integers of a `number` are doubles, formatted strings are
// bytes, durations and timestamps, fields that are null or not in the schema are absent, names are
// escaped. An error when it does not fit.
Value typed_value(Frame& frame, const json::Value& document, const json::Value& schema, bool root);

// The name under which a property is selected, or nothing when it cannot be: `a-b` is a__dash__b,
// `in` is __in__.
std::optional<std::string> escape_property(std::string_view name);
// The way back; nullopt when the name holds an escape that means nothing.
std::optional<std::string> unescape_property(std::string_view name);

}  // namespace cardea::cel

#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/parse.h"
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

// A body as Kubernetes' typed server holds and prints it.
struct Decoded {
  json::Value value;
  // What a strict reader objects to, ready to print: `unknown field "spec.foo"`, `duplicate field
  // "data.a"`; in the order of the body, at most a hundred.
  std::vector<std::string> strict;
};

// Reads a body of a built-in type.
//
// Wrong types are an error, worded as Go's decoder words them (`json: cannot unmarshal string into
// Go struct field DeploymentSpec.spec.replicas of type int32`); of several the one that comes first
// in the body. Unknown fields are dropped and noted. Quantities, times, durations and bytes take
// their canonical form, and then everything is normalized.
//
// `text` is the JSON text the document was read from; it decides the order of what is reported.
// Where there is none (YAML, patched objects) the order is that of sorted keys.
//
// Pure; what needs no change is shared with the document.
Result<Decoded> decode(const Schema& schema, const json::Document& document, std::string_view text);

// The value in the form of the built-in type, by Property::held and its omit flags: `null` and
// empty values are left out or written as the type does; a struct held by value is present even
// if the client did not write it. Idempotent.
json::Value normalize(const Schema& schema, const json::Value& value);

// `strict decoding error: unknown field "a", duplicate field "b"`.
std::string strict_error(const std::vector<std::string>& strict);

// Sorts paths (`spec.containers[0].name`) by where their keys first stand in a JSON text; `second`
// paths by where they stand the second time. Paths that are not there come last. Gives indexes into
// `paths`.
struct TextPath {
  std::string path;
  bool second = false;
};
std::vector<std::size_t> order_in_text(std::string_view text, const std::vector<TextPath>& paths);

}  // namespace cardea::schema

#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/parse.h"

namespace cardea::json {

// Reads the first YAML document as JSON, resolving plain scalars as Kubernetes does (YAML 1.1: `yes` and
// `on` are booleans, `0777` and `0o777` octal, `1_000` a number, `~` null; quoted is always a string).
// Duplicate keys are reported, the last one stands. Aliases may expand to at most `max_bytes` of text.
Result<Document> parse_yaml(std::string_view text, std::size_t max_bytes);

// Prints in YAML's block style with sorted keys; strings are quoted where they would read as something else.
std::string print_yaml(const Value& value);

}  // namespace cardea::json

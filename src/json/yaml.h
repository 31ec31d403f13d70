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

// Whether an unquoted scalar stands for its own text rather than for a number, a boolean or nothing.
bool yaml_reads_as_string(std::string_view plain);

// Prints in YAML's block style as Kubernetes does: keys in an order people expect (`p9` before `p10`), strings
// plain where they read as themselves, several lines as a literal block, quoted otherwise.
std::string print_yaml(const Value& value);

}  // namespace cardea::json

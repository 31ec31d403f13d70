#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace cardea::json {

constexpr int kMaxDepth = 1000;

struct Document {
  Value value;
  // Paths of keys that appear more than once in their object, such as `spec.containers[0].name`;
  // the last value stands in `value`.
  std::vector<std::string> duplicates;
  // The same for YAML, in the words of its reader: `line 7: key "a" already set in map`.
  std::vector<std::string> duplicate_lines;
};

// Reads one JSON text. Integers beyond 64 bits become doubles; numbers beyond double, invalid
// UTF-8, lone surrogates and nesting deeper than kMaxDepth are errors. Messages are worded as
// Kubernetes' decoder words them: `invalid character 'x' looking for beginning of value`.
Result<Document> parse_document(std::string_view text);

// The same for callers that do not care about duplicate keys.
Result<Value> parse(std::string_view text, int max_depth = kMaxDepth);

}  // namespace cardea::json

#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace cardea::schema {

struct Format;  // schema/custom/formats.h

// The value validations of one node of a custom resource's schema, read once from its OpenAPI
// keywords so that checking a value parses and compiles nothing. Immutable; shared between threads.
struct ValueRules {
  std::string type;  // as messages name it: "integer", "integer,string"; empty for any
  const Format* format = nullptr;  // of strings; null when Kubernetes does not know it
  std::string format_name;         // as written, when it means something for the type

  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length, max_length;
  std::optional<std::int64_t> min_items, max_items;
  std::optional<std::int64_t> min_properties, max_properties;
  bool unique_items = false;
  std::vector<std::string> required;

  std::string pattern;
  std::shared_ptr<const re2::RE2> regex;  // of the pattern; null when there is none or it is
                                          // malformed

  // A map whose values have no schema (additionalProperties: true).
  bool any_additional = false;
};

}  // namespace cardea::schema

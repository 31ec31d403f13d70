#pragma once
#include <string_view>

namespace cardea::schema {

// A form of text that a schema can ask for with `format`.
struct Format {
  std::string_view name;  // without dashes: "datetime"
  bool (*accepts)(std::string_view text);
};

// The format of this name, dashes ignored; nullptr for one that Kubernetes ignores.
const Format* find_format(std::string_view name);

}  // namespace cardea::schema

#include "catalog/kinds/go_value.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

std::string capitalised(std::string_view name) {
  std::string out(name);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

}  // namespace

std::string show_go_value(const json::Value& value) {
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const json::Value& item : value.items()) parts.push_back(show_go_value(item));
    return cat("[", join(parts, ","), "]");
  }
  if (!value.is_object()) return json::print(value);
  for (const json::Member& m : value.members())
    parts.push_back(cat("\"", capitalised(m.key()), "\":", show_go_value(m.value)));
  return cat("{", join(parts, ","), "}");
}

std::string show_go_struct(const json::Value& object,
                           std::initializer_list<std::string_view> fields) {
  std::vector<std::string> parts;
  for (std::string_view field : fields) {
    std::size_t colon = field.find(':');
    std::string_view key = field.substr(0, colon);
    std::string name = colon == std::string_view::npos ? capitalised(key)
                                                       : std::string(field.substr(colon + 1));
    parts.push_back(cat("\"", name, "\":", show_go_value(object[key])));
  }
  return cat("{", join(parts, ","), "}");
}

}  // namespace cardea::catalog

#include "catalog/object_types.h"

#include "base/strings.h"

namespace cardea::catalog {

std::string ObjectTypes::type_of(const schema::Schema* s) {
  using Type = schema::Schema::Type;
  if (!s) return "dyn";
  switch (s->type) {
    case Type::kString:
      if (s->format == "date-time") return reads_formats_ ? "timestamp" : "dyn";
      if (s->format == "byte") return reads_formats_ ? "bytes" : "dyn";
      return "string";
    case Type::kBoolean:
      return "bool";
    case Type::kInteger:
      return "int";
    case Type::kNumber:
      return "double";
    case Type::kArray:
      return cat("list(", type_of(s->items), ")");
    case Type::kObject:
      break;
    default:
      return "dyn";
  }
  if (s->preserve_unknown_fields) return "dyn";
  if (s->properties.empty())
    return s->additional ? cat("map(string, ", type_of(s->additional), ")") : "dyn";
  if (const auto known = names_.find(s); known != names_.end()) return known->second;
  const std::string name = cat("served.T", names_.size());
  names_.emplace(s, "." + name);
  std::vector<std::pair<std::string, std::string>> fields;
  for (const schema::Property& p : s->properties) fields.emplace_back(p.name, type_of(p.schema));
  environment_.record(name, std::vector<std::pair<std::string_view, std::string_view>>(
                                fields.begin(), fields.end()));
  return "." + name;
}

}  // namespace cardea::catalog

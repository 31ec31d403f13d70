#include "catalog/label_text.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace cardea::catalog {

using json::Value;

namespace {

struct Requirement {
  std::string key, text;
};

std::string expression_text(const Value& expression) {
  std::string key(expression["key"].as_string());
  std::string_view operation = expression["operator"].as_string();
  if (operation == "Exists") return key;
  if (operation == "DoesNotExist") return "!" + key;
  std::vector<std::string> values;
  for (const Value& value : expression["values"].items()) values.emplace_back(value.as_string());
  std::ranges::sort(values);
  return cat(key, operation == "In" ? " in (" : " notin (", join(values, ","), ")");
}

}  // namespace

std::string labels_text(const Value& labels) {
  std::vector<std::string> out;
  for (const auto& member : labels.members())
    out.push_back(cat(member.key(), "=", member.value.as_string()));
  return join(out, ",");
}

std::string selector_text(const Value& selector) {
  std::vector<Requirement> requirements;
  for (const auto& member : selector["matchLabels"].members())
    requirements.push_back(
        {std::string(member.key()), cat(member.key(), "=", member.value.as_string())});
  for (const Value& expression : selector["matchExpressions"].items())
    requirements.push_back(
        {std::string(expression["key"].as_string()), expression_text(expression)});
  std::ranges::stable_sort(requirements, {}, &Requirement::key);
  std::vector<std::string> out;
  for (Requirement& requirement : requirements) out.push_back(std::move(requirement.text));
  return join(out, ",");
}

}  // namespace cardea::catalog

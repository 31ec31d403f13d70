#include "catalog/kinds/label_selector.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

using json::Value;

void validate_requirement(const Value& requirement, const Path& path, json::FieldErrors& out) {
  std::string_view op = requirement["operator"].as_string();
  const Value& values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.empty())
      out.push_back(
          json::required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty())
      out.push_back(json::forbidden(
          path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else {
    out.push_back(json::invalid(path / "operator", op, "not a valid selector operator"));
  }
  std::string_view key = requirement["key"].as_string();
  complain(path / "key", key, qualified_name(key), out);
  for (std::size_t i = 0; i < values.size(); ++i)
    complain((path / "values").index(i), values[i].as_string(), label_value(values[i].as_string()),
             out);
}

}  // namespace

void validate_label_selector(const Value& selector, const Path& path, json::FieldErrors& out) {
  validate_labels(selector["matchLabels"], path / "matchLabels", out);
  auto expressions = selector["matchExpressions"].items();
  for (std::size_t i = 0; i < expressions.size(); ++i)
    validate_requirement(expressions[i], (path / "matchExpressions").index(i), out);
}

bool selector_is_usable(const Value& selector) {
  json::FieldErrors errors;
  validate_label_selector(selector, {}, errors);
  return errors.empty();
}

std::string show_selector(const Value& selector) {
  if (!selector.is_object()) return "null";
  std::vector<std::string> parts;
  if (!selector["matchLabels"].empty())
    parts.push_back(cat("\"matchLabels\":", json::print(selector["matchLabels"])));
  std::vector<std::string> expressions;
  for (const Value& e : selector["matchExpressions"].items())
    expressions.push_back(print_in_order(e, {"key", "operator", "values"}));
  if (!expressions.empty())
    parts.push_back(cat("\"matchExpressions\":[", join(expressions, ","), "]"));
  return cat("{", join(parts, ","), "}");
}

}  // namespace cardea::catalog

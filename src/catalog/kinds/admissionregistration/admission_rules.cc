#include "catalog/kinds/admissionregistration/admission_rules.h"

#include <algorithm>
#include <set>

#include "catalog/kinds/label_selector.h"
#include "cel/policy.h"

namespace cardea::catalog {
namespace {

constexpr int kMostConditions = 64;

bool has(const Value& list, std::string_view text) {
  return std::ranges::any_of(list.items(), [&](const Value& v) { return v.as_string() == text; });
}

// A list that is only the wildcard, or has no wildcard.
void validate_list(const Value& list, const Path& path, std::string_view others,
                   bool allow_empty_text, FieldErrors& out) {
  if (list.empty()) out.push_back(json::required(path));
  if (list.size() > 1 && has(list, "*"))
    out.push_back(
        json::invalid(path, list, cat("if '*' is present, must not specify other ", others)));
  for (std::size_t i = 0; !allow_empty_text && i < list.size(); ++i)
    if (list[i].as_string().empty()) out.push_back(json::required(path.index(i)));
}

void validate_resources(const Value& resources, const Path& path, FieldErrors& out) {
  if (resources.empty()) {
    out.push_back(json::required(path));
    return;
  }
  std::set<std::string_view> with_all_subresources, subresources_of_all;
  bool single_wildcard = false, double_wildcard = false, resource_without_subresource = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    std::string_view text = resources[i].as_string();
    Path at = path.index(i);
    if (text.empty()) {
      out.push_back(json::required(at));
      continue;
    }
    double_wildcard |= text == "*/*";
    single_wildcard |= text == "*";
    auto slash = text.find('/');
    if (slash == text.npos) {
      resource_without_subresource |= text != "*";
      continue;
    }
    std::string_view resource = text.substr(0, slash), sub = text.substr(slash + 1);
    if (with_all_subresources.contains(resource))
      out.push_back(json::invalid(
          at, resources[i], cat("if '", resource, "/*' is present, must not specify ", text)));
    if (subresources_of_all.contains(sub))
      out.push_back(json::invalid(at, resources[i],
                                  cat("if '*/", sub, "' is present, must not specify ", text)));
    if (sub == "*") with_all_subresources.insert(resource);
    if (resource == "*") subresources_of_all.insert(sub);
  }
  if (resources.size() > 1 && double_wildcard)
    out.push_back(
        json::invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  if (single_wildcard && resource_without_subresource)
    out.push_back(
        json::invalid(path, resources,
                      "if '*' is present, must not specify other resources without subresources"));
}

void validate_named_rules(const Value& rules, const Path& path, FieldErrors& out) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Path at = path.index(i);
    std::set<std::string_view> seen;
    for (std::size_t j = 0; j < rules[i]["resourceNames"].size(); ++j) {
      const Value& name = rules[i]["resourceNames"][j];
      Path name_path = (at / "resourceNames").index(j);
      complain(name_path, name, name_is_path_segment(name.as_string(), false), out);
      if (!seen.insert(name.as_string()).second) out.push_back(json::duplicate(name_path, name));
    }
    validate_rule(rules[i], at, out);
  }
}

}  // namespace

void default_rules(Value& owner, std::string_view key) {
  if (owner[key].empty()) return;
  Value& rules = owner.member(key);
  for (std::size_t i = 0; i < rules.size(); ++i) set_default(rules.item(i), "scope", "*");
}

void default_match_resources(Value& match) {
  default_to(match, "matchPolicy", "Equivalent");
  set_default(match, "namespaceSelector", Value::object());
  set_default(match, "objectSelector", Value::object());
  default_rules(match, "resourceRules");
  default_rules(match, "excludeResourceRules");
}

void validate_rule(const Value& rule, const Path& path, FieldErrors& out) {
  const Value& operations = rule["operations"];
  if (operations.empty()) out.push_back(json::required(path / "operations"));
  if (operations.size() > 1 && has(operations, "*"))
    out.push_back(json::invalid(path / "operations", operations,
                                "if '*' is present, must not specify other operations"));
  for (std::size_t i = 0; i < operations.size(); ++i)
    check_one_of((path / "operations").index(i), operations[i],
                 {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}, out);
  validate_list(rule["apiGroups"], path / "apiGroups", "API groups", true, out);
  validate_list(rule["apiVersions"], path / "apiVersions", "API versions", false, out);
  validate_resources(rule["resources"], path / "resources", out);
  if (!rule["scope"].is_null())
    check_one_of(path / "scope", rule["scope"], {"*", "Cluster", "Namespaced"}, out);
}

void validate_match_resources(const Value& match, const Path& path, FieldErrors& out) {
  if (!match["matchPolicy"].is_null())
    check_one_of(path / "matchPolicy", match["matchPolicy"], {"Equivalent", "Exact"}, out);
  validate_label_selector(match["namespaceSelector"], path / "namespaceSelector", out);
  validate_label_selector(match["objectSelector"], path / "objectSelector", out);
  validate_named_rules(match["resourceRules"], path / "resourceRules", out);
  validate_named_rules(match["excludeResourceRules"], path / "excludeResourceRules", out);
}

void report_expression(const Path& path, const Value& expression, const std::string& error,
                       FieldErrors& out) {
  if (!error.empty()) out.push_back(json::invalid(path, expression, error));
}

void validate_match_conditions(const Value& conditions, const Path& path, bool params,
                               FieldErrors& out) {
  cel::PolicyCompiler compiler(params, false);
  if (conditions.size() > static_cast<std::size_t>(kMostConditions))
    out.push_back(json::too_many(path, static_cast<int>(conditions.size()), kMostConditions));
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& name = conditions[i]["name"];
    Path at = path.index(i);
    const Value& expression = conditions[i]["expression"];
    if (trim(expression.as_string()).empty())
      out.push_back(json::required(at / "expression"));
    else
      report_expression(at / "expression", expression,
                        compiler.match_condition(expression.as_string()).error, out);
    if (name.as_string().empty()) {
      out.push_back(json::required(at / "name"));
      continue;
    }
    complain(at / "name", name, qualified_name(name.as_string()), out);
    if (!seen.insert(name.as_string()).second) out.push_back(json::duplicate(at / "name", name));
  }
}

}  // namespace cardea::catalog

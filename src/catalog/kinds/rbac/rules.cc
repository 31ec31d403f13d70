#include "catalog/kinds/rbac/rules.h"

#include "catalog/kinds/names.h"

namespace cardea::catalog {

void default_rbac_subjects(Value& object, std::string_view key) {
  if (object[key].empty()) return;
  Value& subjects = object.member(key);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    std::string_view kind = subjects[i]["kind"].as_string();
    if (kind == "User" || kind == "Group") default_to(subjects.item(i), "apiGroup", kRbacGroup);
  }
}

void validate_rbac_subject(const Path& path, const Value& subject, bool namespaced,
                           FieldErrors& out) {
  const Value& name = subject["name"];
  std::string_view kind = subject["kind"].as_string();
  if (name.as_string().empty()) out.push_back(json::required(path / "name"));
  if (kind == "ServiceAccount") {
    if (!name.as_string().empty())
      complain(path / "name", name, name_is_dns_subdomain(name.as_string(), false), out);
    if (!subject["apiGroup"].as_string().empty())
      out.push_back(json::not_supported(path / "apiGroup", subject["apiGroup"], {""}));
    if (!namespaced && subject["namespace"].as_string().empty())
      out.push_back(json::required(path / "namespace"));
  } else if (kind == "User" || kind == "Group") {
    if (subject["apiGroup"].as_string() != kRbacGroup)
      out.push_back(
          json::not_supported(path / "apiGroup", subject["apiGroup"], {std::string(kRbacGroup)}));
  } else {
    out.push_back(
        json::not_supported(path / "kind", Value(kind), {"ServiceAccount", "User", "Group"}));
  }
}

void validate_policy_rule(const Path& path, const Value& rule, bool namespaced, FieldErrors& out) {
  if (rule["verbs"].empty())
    out.push_back(json::required(path / "verbs", "verbs must contain at least one value"));
  const Value& urls = rule["nonResourceURLs"];
  if (!urls.empty()) {
    if (namespaced)
      out.push_back(json::invalid(path / "nonResourceURLs", urls,
                                  "namespaced rules cannot apply to non-resource URLs"));
    if (!rule["apiGroups"].empty() || !rule["resources"].empty() || !rule["resourceNames"].empty())
      out.push_back(
          json::invalid(path / "nonResourceURLs", urls,
                        "rules cannot apply to both regular resources and non-resource URLs"));
    return;
  }
  if (rule["apiGroups"].empty())
    out.push_back(
        json::required(path / "apiGroups", "resource rules must supply at least one api group"));
  if (rule["resources"].empty())
    out.push_back(
        json::required(path / "resources", "resource rules must supply at least one resource"));
}

}  // namespace cardea::catalog

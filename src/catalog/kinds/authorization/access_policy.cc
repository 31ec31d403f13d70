// ClusterAccessPolicy and AccessPolicy: the checks for their writers. Whether an expression
// compiles is reported in the status, not here: a policy that only a later version can compile
// must stay stored.
#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::size_t kMostSubjects = 1024, kMostRules = 1024, kLongestExpression = 10240,
                      kLongestDescription = 1024;
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

void default_subjects(Value& object, const StrategyContext&) {
  if (object["spec"]["subjects"].empty()) return;
  Value& subjects = object.member("spec").member("subjects");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    std::string_view kind = subjects[i]["kind"].as_string();
    if (kind == "User" || kind == "Group") default_to(subjects.item(i), "apiGroup", kRbac);
  }
}

void check_subject(const Path& path, const Value& subject, bool namespaced, FieldErrors& out) {
  const Value& name = subject["name"];
  std::string_view kind = subject["kind"].as_string(), group = subject["apiGroup"].as_string();
  if (name.as_string().empty()) out.push_back(json::required(path / "name"));
  if (kind == "ServiceAccount") {
    if (!name.as_string().empty())
      complain(path / "name", name, name_is_dns_subdomain(name.as_string(), false), out);
    if (!group.empty())
      out.push_back(json::not_supported(path / "apiGroup", subject["apiGroup"], {""}));
    if (!namespaced && subject["namespace"].as_string().empty())
      out.push_back(json::required(path / "namespace"));
  } else if (kind == "User" || kind == "Group") {
    if (group != kRbac)
      out.push_back(
          json::not_supported(path / "apiGroup", subject["apiGroup"], {std::string(kRbac)}));
  } else {
    out.push_back(
        json::not_supported(path / "kind", Value(kind), {"ServiceAccount", "User", "Group"}));
  }
}

void check_rule(const Path& path, const Value& rule, bool namespaced, FieldErrors& out) {
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

void check_length(const Path& path, const Value& text, std::size_t most, FieldErrors& out) {
  if (text.as_string().size() > most) out.push_back(json::too_long(path, static_cast<int>(most)));
}

FieldErrors check_policy(const Value& object, bool namespaced) {
  FieldErrors out;
  validate_kind_meta(object, namespaced, name_is_dns_subdomain, out);
  const Value& spec = object["spec"];
  Path at = "spec";
  if (check_required(at / "effect", spec["effect"], out))
    check_one_of(at / "effect", spec["effect"], {"Allow", "Deny", "NoOpinion"}, out);
  const Value &subjects = spec["subjects"], &rules = spec["rules"];
  if (subjects.size() > kMostSubjects)
    out.push_back(json::too_many(at / "subjects", static_cast<int>(subjects.size()),
                                 static_cast<int>(kMostSubjects)));
  if (rules.size() > kMostRules)
    out.push_back(
        json::too_many(at / "rules", static_cast<int>(rules.size()), static_cast<int>(kMostRules)));
  for (std::size_t i = 0; i < subjects.size(); ++i)
    check_subject((at / "subjects").index(i), subjects[i], namespaced, out);
  for (std::size_t i = 0; i < rules.size(); ++i)
    check_rule((at / "rules").index(i), rules[i], namespaced, out);
  check_length(at / "expression", spec["expression"], kLongestExpression, out);
  check_length(at / "description", spec["description"], kLongestDescription, out);
  return out;
}

void forget_status(Value& object, const StrategyContext&) {
  object.erase("status");
}
void keep_status(Value& object, const Value& old, const StrategyContext&) {
  if (old.has("status"))
    object.set("status", old["status"]);
  else
    object.erase("status");
}

template <bool kNamespaced>
FieldErrors check_new(const Value& object, const StrategyContext&) {
  return check_policy(object, kNamespaced);
}
template <bool kNamespaced>
FieldErrors check_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out = check_policy(object, kNamespaced);
  validate_kind_meta_update(object, old, out);
  return out;
}

template <bool kNamespaced>
const Strategy& strategy_of() {
  static const Strategy strategy{
      .defaults = default_subjects,
      .prepare_for_create = forget_status,
      .prepare_for_update = keep_status,
      .validate_create = check_new<kNamespaced>,
      .validate_update = check_update<kNamespaced>,
      .has_generation = true,
      .allow_create_on_update = true,
  };
  return strategy;
}

}  // namespace

const Strategy& cluster_access_policy_strategy() {
  return strategy_of<false>();
}
const Strategy& access_policy_strategy() {
  return strategy_of<true>();
}

}  // namespace cardea::catalog

#include "catalog/kinds/check.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

void default_binding(Value& object, const StrategyContext&) {
  default_to(object_member(object, "roleRef"), "apiGroup", kGroup);
  if (object["subjects"].empty()) return;
  Value& subjects = object.member("subjects");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    std::string_view kind = subjects[i]["kind"].as_string();
    if (kind == "User" || kind == "Group") default_to(subjects.item(i), "apiGroup", kGroup);
  }
}

void validate_rule(const Path& path, const Value& rule, bool namespaced, FieldErrors& out) {
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

void validate_rules(const Value& object, bool namespaced, FieldErrors& out) {
  for (std::size_t i = 0; i < object["rules"].size(); ++i)
    validate_rule(Path("rules").index(i), object["rules"][i], namespaced, out);
}

void validate_aggregation(const Value& rule, FieldErrors& out) {
  if (rule.is_null()) return;
  Path path = "aggregationRule.clusterRoleSelectors";
  const Value& selectors = rule["clusterRoleSelectors"];
  if (selectors.empty())
    out.push_back(json::required(
        path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    FieldErrors found;
    validate_label_selector(selectors[i], path.index(i), found);
    if (!found.empty())
      found.push_back(json::invalid(path.index(i), Value(), "invalid label selector."));
    out.insert(out.end(), found.begin(), found.end());
  }
}

void validate_subject(const Path& path, const Value& subject, bool namespaced, FieldErrors& out) {
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
    if (subject["apiGroup"].as_string() != kGroup)
      out.push_back(
          json::not_supported(path / "apiGroup", subject["apiGroup"], {std::string(kGroup)}));
  } else {
    out.push_back(
        json::not_supported(path / "kind", Value(kind), {"ServiceAccount", "User", "Group"}));
  }
}

void validate_binding(const Value& object, bool namespaced, FieldErrors& out) {
  validate_kind_meta(object, namespaced, name_is_path_segment, out);
  const Value& role = object["roleRef"];
  if (role["apiGroup"].as_string() != kGroup)
    out.push_back(json::not_supported("roleRef.apiGroup", role["apiGroup"], {std::string(kGroup)}));
  check_one_of("roleRef.kind", role["kind"],
               namespaced ? std::vector<std::string>{"Role", "ClusterRole"}
                          : std::vector<std::string>{"ClusterRole"},
               out);
  if (check_required("roleRef.name", role["name"], out))
    complain("roleRef.name", role["name"], name_is_path_segment(role["name"].as_string(), false),
             out);
  for (std::size_t i = 0; i < object["subjects"].size(); ++i)
    validate_subject(Path("subjects").index(i), object["subjects"][i], namespaced, out);
}

void validate_binding_update(const Value& object, const Value& old, bool namespaced,
                             FieldErrors& out) {
  validate_binding(object, namespaced, out);
  validate_kind_meta_update(object, old, out);
  const Value& role = object["roleRef"];
  if (!(role == old["roleRef"]))
    out.push_back(invalid_shown("roleRef",
                                shown_struct({{"APIGroup", shown_or(role["apiGroup"], "")},
                                              {"Kind", shown_or(role["kind"], "")},
                                              {"Name", shown_or(role["name"], "")}}),
                                "cannot change roleRef"));
}

template <bool kNamespaced>
FieldErrors validate_role_kind(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, kNamespaced, name_is_path_segment, out);
  validate_rules(object, kNamespaced, out);
  if (!kNamespaced) validate_aggregation(object["aggregationRule"], out);
  return out;
}

template <bool kNamespaced>
FieldErrors validate_role_kind_update(const Value& object, const Value& old,
                                      const StrategyContext& context) {
  FieldErrors out = validate_role_kind<kNamespaced>(object, context);
  validate_kind_meta_update(object, old, out);
  return out;
}

template <bool kNamespaced>
FieldErrors validate_binding_kind(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_binding(object, kNamespaced, out);
  return out;
}

template <bool kNamespaced>
FieldErrors validate_binding_kind_update(const Value& object, const Value& old,
                                         const StrategyContext&) {
  FieldErrors out;
  validate_binding_update(object, old, kNamespaced, out);
  return out;
}

}  // namespace

// An empty list of rules is stored as an absent list: Kubernetes' encoding does not keep a list
// without items.
static void drop_empty_rules(Value& object) {
  if (object["rules"].is_array() && object["rules"].empty()) object.set("rules", Value());
}

template <bool kNamespaced>
static const Strategy& role_kind() {
  static const Strategy strategy{
      .prepare_for_create = [](Value& object, const StrategyContext&) { drop_empty_rules(object); },
      .prepare_for_update = [](Value& object, const Value&,
                               const StrategyContext&) { drop_empty_rules(object); },
      .validate_create = validate_role_kind<kNamespaced>,
      .validate_update = validate_role_kind_update<kNamespaced>,
      .name_rule = Strategy::NameRule::kPathSegment,
      .allow_create_on_update = true,
  };
  return strategy;
}

template <bool kNamespaced>
static const Strategy& binding_kind() {
  static const Strategy strategy{
      .defaults = default_binding,
      .validate_create = validate_binding_kind<kNamespaced>,
      .validate_update = validate_binding_kind_update<kNamespaced>,
      .name_rule = Strategy::NameRule::kPathSegment,
      .allow_create_on_update = true,
  };
  return strategy;
}

const Strategy& role_strategy() {
  return role_kind<true>();
}
const Strategy& cluster_role_strategy() {
  return role_kind<false>();
}
const Strategy& role_binding_strategy() {
  return binding_kind<true>();
}
const Strategy& cluster_role_binding_strategy() {
  return binding_kind<false>();
}

}  // namespace cardea::catalog

#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/rbac/rules.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

void default_binding(Value& object, const StrategyContext&) {
  default_to(object_member(object, "roleRef"), "apiGroup", kRbacGroup);
  default_rbac_subjects(object, "subjects");
}

void validate_rules(const Value& object, bool namespaced, FieldErrors& out) {
  for (std::size_t i = 0; i < object["rules"].size(); ++i)
    validate_policy_rule(Path("rules").index(i), object["rules"][i], namespaced, out);
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

void validate_binding(const Value& object, bool namespaced, FieldErrors& out) {
  validate_kind_meta(object, namespaced, name_is_path_segment, out);
  const Value& role = object["roleRef"];
  if (role["apiGroup"].as_string() != kRbacGroup)
    out.push_back(
        json::not_supported("roleRef.apiGroup", role["apiGroup"], {std::string(kRbacGroup)}));
  check_one_of("roleRef.kind", role["kind"],
               namespaced ? std::vector<std::string>{"Role", "ClusterRole"}
                          : std::vector<std::string>{"ClusterRole"},
               out);
  if (check_required("roleRef.name", role["name"], out))
    complain("roleRef.name", role["name"], name_is_path_segment(role["name"].as_string(), false),
             out);
  for (std::size_t i = 0; i < object["subjects"].size(); ++i)
    validate_rbac_subject(Path("subjects").index(i), object["subjects"][i], namespaced, out);
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

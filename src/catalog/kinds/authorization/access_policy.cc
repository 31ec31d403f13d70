// ClusterAccessPolicy and AccessPolicy: the checks for their writers. Whether an expression
// compiles is reported in the status, not here: a policy that only a later version can compile
// must stay stored.
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/rbac/rules.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::size_t kMostSubjects = 1024, kMostRules = 1024, kLongestExpression = 10240,
                      kLongestDescription = 1024;

void default_policy(Value& object, const StrategyContext&) {
  if (!object["spec"]["subjects"].empty()) default_rbac_subjects(object.member("spec"), "subjects");
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
    validate_rbac_subject((at / "subjects").index(i), subjects[i], namespaced, out);
  for (std::size_t i = 0; i < rules.size(); ++i)
    validate_policy_rule((at / "rules").index(i), rules[i], namespaced, out);
  check_length(at / "expression", spec["expression"], kLongestExpression, out);
  check_length(at / "description", spec["description"], kLongestDescription, out);
  return out;
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
      .defaults = default_policy,
      .prepare_for_create = drop_status,
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

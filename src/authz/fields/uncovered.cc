#include "authz/fields/uncovered.h"

#include <algorithm>

#include "authz/namespace_policy/words.h"

namespace cardea::authz::fields {
namespace {

void add_to(Uncovered::Excluded& excluded, const json::Value& spec) {
  for (const json::Value& verb : spec["uncoveredPermissions"].items()) {
    excluded.verbs.add(verb.as_string());
    if (!spec["admissionMayWrite"].as_bool()) excluded.guarded_from_admission.add(verb.as_string());
  }
}

bool names_resources(const json::Value& list) {
  return list.is_array() && !list.empty() &&
         std::ranges::none_of(list.items(), [](const json::Value& one) {
           return one["resource"].as_string().empty();
         });
}

}  // namespace

void Uncovered::add(const json::Value& spec) {
  const json::Value& resources = spec["resources"];
  if (!names_resources(resources)) {
    add_to(everywhere_, spec);
    for (auto& [resource, excluded] : of_one_) add_to(excluded, spec);
    return;
  }
  for (const json::Value& one : resources.items())
    add_to(of_one_
               .try_emplace({std::string(one["group"].as_string()),
                             std::string(one["resource"].as_string())},
                            everywhere_)
               .first->second,
           spec);
}

bool Uncovered::excludes(std::string_view group, std::string_view resource,
                         std::string_view verb) const {
  auto has = [&](const Excluded& excluded) {
    return std::ranges::any_of(excluded.verbs.verbs, [&](const std::string& one) {
      return namespace_policy::same_verb(one, verb);
    });
  };
  if (group != "*" && resource != "*") return has(on(group, resource));
  auto is_meant = [](std::string_view pattern, std::string_view word) {
    return pattern == "*" || pattern == word;
  };
  return has(everywhere_) || std::ranges::any_of(of_one_, [&](const auto& one) {
           return is_meant(group, one.first.first) && is_meant(resource, one.first.second) &&
                  has(one.second);
         });
}

const Uncovered::Excluded& Uncovered::on(std::string_view group, std::string_view resource) const {
  if (of_one_.empty()) return everywhere_;
  auto at = of_one_.find({std::string(group), std::string(resource)});
  return at == of_one_.end() ? everywhere_ : at->second;
}

}  // namespace cardea::authz::fields

#include "authz/fields/uncovered.h"

#include <algorithm>

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

const Uncovered::Excluded& Uncovered::on(std::string_view group, std::string_view resource) const {
  if (of_one_.empty()) return everywhere_;
  auto at = of_one_.find({std::string(group), std::string(resource)});
  return at == of_one_.end() ? everywhere_ : at->second;
}

}  // namespace cardea::authz::fields

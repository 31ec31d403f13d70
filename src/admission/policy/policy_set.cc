#include "admission/policy/policy_set.h"

#include <algorithm>
#include <set>

#include "cel/policy.h"

namespace cardea::admission {
namespace {

using json::Value;

PolicyExpression made(std::string_view text, cel::PolicyCompiler::Outcome outcome) {
  return {std::string(text), std::move(outcome.program), std::move(outcome.error)};
}

PolicyExpressions compiled(const Value& spec, bool mutating) {
  PolicyExpressions out;
  const bool params = !spec["paramKind"].is_null();
  cel::PolicyCompiler compiler(params, mutating || !spec["variables"].empty());
  for (const Value& c : spec["matchConditions"].items())
    out.match_conditions.push_back(
        made(c["expression"].as_string(), compiler.match_condition(c["expression"].as_string())));
  for (const Value& v : spec["variables"].items()) {
    const std::string_view name = v["name"].as_string(), text = v["expression"].as_string();
    out.variables.push_back({std::string(name), made(text, compiler.variable(name, text))});
  }
  for (const Value& v : spec["validations"].items()) {
    const std::string_view text = v["expression"].as_string(),
                           message = v["messageExpression"].as_string();
    out.validations.push_back(
        {made(text, compiler.validation(text)),
         message.empty() ? PolicyExpression() : made(message, compiler.message(message)), v});
  }
  for (const Value& a : spec["auditAnnotations"].items()) {
    const std::string_view text = trim(a["valueExpression"].as_string());
    out.annotations.push_back(
        {std::string(a["key"].as_string()), made(text, compiler.audit_annotation(text))});
  }
  for (const Value& m : spec["mutations"].items()) {
    const bool patch = m["patchType"].as_string() == "JSONPatch";
    const std::string_view text = trim(
        m[patch ? "jsonPatch" : "applyConfiguration"]["expression"].as_string());
    out.mutations.push_back({patch, made(text, patch ? compiler.json_patch(text)
                                                     : compiler.apply_configuration(text))});
  }
  return out;
}

}  // namespace

const PolicyExpressions& Policy::expressions() const {
  std::call_once(once_, [this] {
    expressions_ = std::make_unique<const PolicyExpressions>(compiled(spec, is_mutating));
  });
  return *expressions_;
}

PolicySet::PolicySet(const Policies& policies, const Bindings& bindings) {
  std::unordered_map<std::string_view, std::vector<std::shared_ptr<const PolicyBinding>>> bound;
  for (const auto& [name, binding] : bindings)
    bound[binding->spec["policyName"].as_string()].push_back(binding);
  for (auto& [name, list] : bound) {
    const auto policy = policies.find(std::string(name));
    if (policy == policies.end()) continue;
    std::ranges::sort(list, {}, [](const auto& b) { return b->name; });
    all_.push_back({policy->second, std::move(list)});
  }
  std::ranges::sort(all_, {}, [](const BoundPolicy& p) { return p.policy->name; });
  std::vector<std::set<std::string, std::less<>>> named(all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i)
    for (const Value& rule : all_[i].policy->spec["matchConstraints"]["resourceRules"].items())
      for (const Value& resource : rule["resources"].items())
        named[i].insert(std::string(split(resource.as_string(), '/')[0]));
  const auto is_any = [&](std::size_t i) { return named[i].contains("*"); };
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (is_any(i)) any_.push_back(&all_[i]);
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (!is_any(i))
      for (const std::string& resource : named[i]) by_resource_[resource].push_back(&all_[i]);
  // Each list is complete, so that a look-up is one.
  for (auto& [resource, list] : by_resource_) {
    list.insert(list.end(), any_.begin(), any_.end());
    std::ranges::sort(list, {},
                      [](const BoundPolicy* p) { return std::string_view(p->policy->name); });
  }
}

std::span<const BoundPolicy* const> PolicySet::about(std::string_view resource) const {
  const auto at = by_resource_.find(resource);
  return at == by_resource_.end() ? any_ : at->second;
}

}  // namespace cardea::admission

#include "authz/access/delegation.h"

#include <algorithm>

#include "authz/access/residuals.h"
#include "authz/rbac/covers.h"
#include "base/strings.h"
#include "cel/partial/implication.h"

namespace cardea::authz::access {
namespace {

using rbac::PolicyRule;
using Texts = std::vector<std::string>;

constexpr std::size_t kMostHeld = 256;  // policies of one user

// What every user's request has alike.
constexpr std::string_view kOfRequests[] = {
    "verb", "apiGroup", "apiVersion", "resource",      "subresource",
    "name", "path",     "namespace",  "fieldSelector", "labelSelector"};

// Everything but the user.
const cel::Unknowns& all_but_user() {
  static const cel::Unknowns made = [] {
    std::vector<cel::UnknownPattern> patterns;
    for (const cel::Variable& v : language().environment->variables())
      if (v.name != "request") patterns.push_back({v.name, {}});
    for (std::string_view field : kOfRequests)
      patterns.push_back({"request", {{.key = cel::Value::of_text(field)}}});
    return cel::Unknowns(*language().environment, patterns);
  }();
  return made;
}

// Whether a condition is about the request and the objects alone, whoever asks.
bool is_about_no_user(const cel::Residual& condition) {
  constexpr std::uint64_t kOfUsers = cel::slot_bit(Language::kAuthorizer) |
                                     cel::slot_bit(Language::kRequestResource) |
                                     cel::slot_bit(Language::kImpersonatedRequest);
  if (condition.node()->has_effects || (condition.node()->reads & kOfUsers) != 0) return false;
  return std::ranges::all_of(condition.reads(), [](std::string_view read) {
    if (!read.starts_with("request")) return true;
    return std::ranges::any_of(kOfRequests, [&](std::string_view field) {
      const std::string known = cat("request.", field);
      return read == known || read.starts_with(known + ".") || read.starts_with(known + "[");
    });
  });
}

// The requests that a policy selects.
std::vector<PolicyRule> selected_by(const Policy& policy) {
  if (!policy.rules().empty()) return policy.rules();
  std::vector<PolicyRule> all{{{"*"}, {"*"}, {"*"}, {}, {}}};
  if (policy.namespace_name().empty()) all.push_back({{"*"}, {}, {}, {}, {"*"}});
  return all;
}

// What the requests of a permission have in common.
std::vector<cel::KnownAttribute> known_of(const PolicyRule& permission,
                                          std::string_view namespace_name) {
  std::vector<cel::KnownAttribute> out;
  auto add = [&](const char* attribute, std::string_view text) {
    out.push_back({attribute, cel::Value::of_text(text)});
  };
  auto only = [](const Texts& list) { return list.size() == 1 && list[0] != "*"; };
  if (only(permission.verbs)) add("request.verb", permission.verbs[0]);
  if (!permission.non_resource_urls.empty()) return out;
  if (only(permission.api_groups)) add("request.apiGroup", permission.api_groups[0]);
  if (permission.resource_names.size() == 1) add("request.name", permission.resource_names[0]);
  if (!namespace_name.empty()) add("request.namespace", namespace_name);
  if (!only(permission.resources)) return out;
  const std::string_view resource = permission.resources[0];
  const std::size_t slash = std::min(resource.find('/'), resource.size());
  if (resource.substr(0, slash) != "*") add("request.resource", resource.substr(0, slash));
  const std::string_view part = resource.substr(std::min(slash + 1, resource.size()));
  if (part != "*") add("request.subresource", part);
  return out;
}

}  // namespace

ConditionalHoldings::ConditionalHoldings(const Index& index, const User& user,
                                         std::string_view namespace_name)
    : namespace_name_(namespace_name) {
  Attributes question(user);
  const RequestValue request(question);
  Variables variables;
  variables[Language::kRequest] = request.get();
  Budget budget(kMostTogether);
  index.for_each_about(user, namespace_name, [&](const Policy& policy) {
    const bool is_here = policy.namespace_name().empty() ||
                         policy.namespace_name() == namespace_name;
    if (policy.effect() != Condition::Effect::kAllow || !policy.program() || !is_here ||
        held_.size() == kMostHeld || budget.is_used_up())
      return;
    cel::Residual condition = budget.reduce(policy.program(), variables, all_but_user());
    if (condition.is_value() ? condition.value().is_true() : is_about_no_user(condition))
      held_.push_back({&policy, std::move(condition)});
  });
}

bool ConditionalHoldings::Held::covers(const PolicyRule& permission) const {
  return rbac::missing_rules(selected_by(*policy), {permission}).empty();
}

bool ConditionalHoldings::hold_sometimes(const PolicyRule& permission) const {
  return std::ranges::any_of(held_, [&](const Held& held) { return held.covers(permission); });
}

bool ConditionalHoldings::hold(const PolicyRule& permission, const Policy& given) const {
  // One that does not compile allows nothing, but perhaps in the next version of the server.
  if (!given.problem().empty()) return false;
  std::vector<const cel::Node*> any_of;
  for (const Held& held : held_) {
    if (!held.covers(permission)) continue;
    if (held.condition.is_value()) return true;
    any_of.push_back(held.condition.node());
  }
  if (any_of.empty() || !given.program()) return false;
  return cel::implies(&given.program()->root(), any_of, known_of(permission, namespace_name_));
}

}  // namespace cardea::authz::access

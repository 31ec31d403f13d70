#include "authz/denied_grants.h"

#include <algorithm>

#include "authz/effects.h"
#include "base/strings.h"

namespace cardea::authz {
namespace {

using rbac::PolicyRule;
using Texts = std::vector<std::string>;

bool has(const Texts& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool share(const Texts& a, const Texts& b) {
  return has(a, "*") || has(b, "*") ||
         std::ranges::any_of(a, [&](const std::string& word) { return has(b, word); });
}

// Subresources are taken for what they belong to, and `*` before a slash for everything.
Texts without_subresources(Texts resources) {
  for (std::string& r : resources) r = r.substr(0, r.find('/'));
  return resources;
}

// The rule, and all that it comes to.
PolicyRule with_effects(const PolicyRule& rule) {
  PolicyRule out = rule;
  auto add = [](Texts& list, std::string_view word) {
    if (!has(list, word)) list.emplace_back(word);
  };
  const User nobody;
  for (const std::string& resource : rule.resources)
    for (const std::string& verb : rule.verbs)
      for (const std::string& group : rule.api_groups) {
        Attributes a(nobody);
        a.is_resource_request = true;
        a.verb = verb;
        a.api_group = group == "*" ? std::string_view() : std::string_view(group);
        auto slash = resource.find('/');
        a.resource = std::string_view(resource).substr(0, slash);
        if (slash != std::string::npos) a.subresource = std::string_view(resource).substr(slash + 1);
        for (const IndirectEffect& e : effects_of(a)) {
          add(out.verbs, e.attributes.verb);
          add(out.resources, e.attributes.resource);
          add(out.api_groups, e.attributes.api_group);
        }
      }
  return out;
}

bool may_be_denied(const Rules& rules, const PolicyRule& granted) {
  if (!granted.non_resource_urls.empty())
    return std::ranges::any_of(rules.denied_paths, [](const NonResourceRule& r) { return !r.to_everybody; });
  const PolicyRule all = with_effects(granted);
  return std::ranges::any_of(rules.denied_resources, [&](const ResourceRule& denied) {
    if (denied.to_everybody) return false;
    bool names = granted.resource_names.empty() || denied.resource_names.empty() ||
                 share(granted.resource_names, denied.resource_names);
    return names && share(all.verbs, denied.verbs) && share(all.api_groups, denied.api_groups) &&
           share(without_subresources(all.resources), without_subresources(denied.resources));
  });
}

}  // namespace

bool may_be_denied(const Rules& rules, const std::vector<PolicyRule>& granted) {
  if (rules.denied_resources.empty() && rules.denied_paths.empty()) return false;
  return std::ranges::any_of(granted, [&](const PolicyRule& rule) { return may_be_denied(rules, rule); });
}

std::string denied_grant_text(const User& user, std::string_view waiver) {
  return cat("user ", quoted(user.name),
             " is attempting to grant what a policy may deny to them: that takes the verb ", quoted(waiver));
}

}  // namespace cardea::authz

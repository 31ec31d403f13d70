#include "rest/guards/escalation_exemption.h"

#include <algorithm>

#include "authz/denied_grants.h"
#include "authz/namespace_policy/words.h"
#include "base/strings.h"
#include "rest/asking.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

bool holds_everything(const authz::Rules& rules) {
  auto is_all = [](const std::vector<std::string>& words) {
    return std::ranges::find(words, "*") != words.end();
  };
  return rules.denied_resources.empty() &&
         std::ranges::any_of(rules.resource_rules, [&](const authz::ResourceRule& r) {
           return r.resource_names.empty() && is_all(r.verbs) && is_all(r.api_groups) &&
                  is_all(r.resources);
         });
}

}  // namespace

Task<bool> is_exempt(Call& call, authz::Attributes attributes,
                     std::optional<std::string_view> granted_in) {
  std::shared_ptr<const authz::Chain> chain = call.services.authorizer.get();
  authz::Chain::Verdict verdict = co_await ask_chain(call, chain, attributes);
  if (!verdict.decision.allowed()) co_return false;
  const std::string_view where = granted_in.value_or(attributes.namespace_name);
  if (holds_everything(chain->rules_for(call.user, where))) co_return true;
  std::vector<std::shared_ptr<const authz::Authorizer>> others;
  for (const auto& authorizer : chain->authorizers())
    if (authorizer->type() != "Policy") others.push_back(authorizer);
  auto rest = std::make_shared<const authz::Chain>(std::move(others));
  authz::Chain::Verdict without = co_await ask_chain(call, rest, attributes);
  co_return without.decision.allowed();
}

std::vector<authz::rbac::PolicyRule> held_rules(const authz::Rules& rules) {
  std::vector<authz::rbac::PolicyRule> out;
  for (const authz::ResourceRule& r : rules.resource_rules) {
    auto& held = out.emplace_back(
        authz::rbac::PolicyRule{r.verbs, r.api_groups, r.resources, r.resource_names, {}});
    if (!r.leaves_out_excluded) continue;
    // A star that leaves something out does not hold one that does not.
    if (std::erase(held.verbs, "*") > 0)
      for (std::string_view verb : authz::namespace_policy::well_known_verbs())
        held.verbs.emplace_back(verb);
    std::erase_if(held.verbs, authz::replaces_checks);
  }
  for (const authz::NonResourceRule& r : rules.non_resource_rules)
    out.push_back({r.verbs, {}, {}, {}, r.urls});
  return out;
}

Error refused_grant(const catalog::Resource& r, std::string_view name, std::string_view why) {
  std::string about = name.empty() ? r.qualified_name()
                                   : cat(r.qualified_name(), " ", quoted(name));
  return Error::of(Reason::kForbidden, cat(about, " is forbidden: ", why))
      .with(
          {.name = std::string(name), .group = std::string(r.group), .kind = std::string(r.name)});
}

bool is_being_emptied(const Call& call) {
  if (call.info.namespace_name.empty()) return false;
  const catalog::Resource* namespaces = call.catalog->find("", "v1", "namespaces");
  store::RecordPtr record = call.services.store.get(
      object_key(*namespaces, "", call.info.namespace_name));
  return record && parse_stored(*record)["metadata"].has("deletionTimestamp");
}

}  // namespace cardea::rest

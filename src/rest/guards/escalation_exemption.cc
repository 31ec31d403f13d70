#include "rest/guards/escalation_exemption.h"

#include <algorithm>

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

#include "authz/refusal.h"

#include <map>

namespace cardea::authz {
namespace {

constexpr std::string_view kHintReason = "RuleAlmostMatches";

bool may_get(const Chain& chain, const User& user, const Hint& hint) {
  Attributes a(user);
  a.is_resource_request = true;
  a.verb = "get";
  a.api_group = "rbac.authorization.k8s.io";
  a.api_version = "v1";
  a.resource = hint.role_namespace.empty() ? "clusterroles" : "roles";
  a.namespace_name = hint.role_namespace;
  a.name = hint.role;
  std::optional<Chain::Verdict> verdict = chain.decide(a);
  return verdict && verdict->decision.allowed();
}

}  // namespace

std::vector<Hint> readable_hints(const Chain& chain, const Attributes& attributes,
                                 const User& reader) {
  std::vector<Hint> out;
  std::map<std::pair<std::string, std::string>, bool> readable;
  for (const auto& authorizer : chain.authorizers())
    for (Hint& hint : authorizer->hints(attributes)) {
      auto [it, is_new] = readable.try_emplace({hint.role_namespace, hint.role}, false);
      if (is_new) it->second = may_get(chain, reader, hint);
      if (it->second) out.push_back(std::move(hint));
    }
  return out;
}

Error refusal(const Chain& chain, const Attributes& attributes, const Decision& decision) {
  Error error = forbidden(attributes, decision.reason.text());
  if (decision.kind != Decision::Kind::kNoOpinion)
    return error;  // no rule would help against a Deny
  ErrorDetails details = error.details ? *error.details : ErrorDetails();
  for (Hint& hint : readable_hints(chain, attributes, attributes.user))
    details.causes.push_back(
        {std::string(kHintReason), std::move(hint.text), std::move(hint.field)});
  if (details.causes.empty()) return error;
  return std::move(error).with(std::move(details));
}

}  // namespace cardea::authz

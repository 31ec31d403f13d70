#include "rest/policy/escalation.h"

#include <algorithm>

#include "authz/policy/covers.h"
#include "authz/policy/documents.h"
#include "base/strings.h"
#include "json/parse.h"
#include "rest/policy/elements.h"

namespace cardea::rest::policy {

namespace documents = authz::policy;
using documents::Rule;
using json::Value;

namespace {

Error refused(const catalog::Resource& r, std::string_view name, std::string_view why) {
  std::string about = name.empty() ? r.qualified_name() : cat(r.qualified_name(), " ", quoted(name));
  return Error::of(Reason::kForbidden, cat(about, " is forbidden: ", why))
      .with({.name = std::string(name), .group = std::string(r.group), .kind = std::string(r.name)});
}

// What cannot be read allows nothing, and must not hide a denial either: it was refused before, or is in the store.
std::vector<Rule> rules_of(const Value& role, std::string_view namespace_name) {
  json::FieldErrors errors;
  return documents::read_role(role, {.namespace_name = namespace_name}, "", errors).rules;
}

bool denies(const std::vector<Rule>& rules) { return std::ranges::any_of(rules, &Rule::deny); }

authz::Attributes on_role(const Call& call, std::string_view verb, std::string_view namespace_name, std::string_view name) {
  authz::Attributes a(call.user);
  a.is_resource_request = true;
  a.verb = verb;
  a.api_group = documents::kGroup;
  a.api_version = documents::kVersion;
  a.resource = "roles";
  a.namespace_name = namespace_name;
  a.name = name;
  return a;
}

Task<bool> may(Call& call, authz::Attributes attributes) {
  authz::Chain::Verdict verdict = co_await call.services.authorizer.authorize(attributes);
  // A condition on the object has nobody to settle it here.
  co_return verdict.decision.allowed();
}

// Whether the chain lets the caller pass for a reason that is not a policy's own `*`.
Task<bool> is_waived(Call& call, authz::Attributes attributes) {
  bool allowed = co_await may(call, attributes);
  if (!allowed) co_return false;
  std::vector<std::shared_ptr<const authz::Authorizer>> others;
  std::shared_ptr<const authz::Chain> chain = call.services.authorizer.get();
  for (const auto& authorizer : chain->authorizers())
    if (authorizer->type() != "Policy") others.push_back(authorizer);
  authz::Chain rest(std::move(others));
  authz::Chain::Verdict verdict = co_await rest.authorize(attributes);
  co_return verdict.decision.allowed();
}

// What is about to be given, to whom by this write, and where.
struct Gift {
  std::vector<Rule> rules, before;
  std::string role_namespace, role;
  std::string_view waiver;  // the verb that lets one pass
  bool is_new = true;       // false: nothing is given that was not
  bool needs_deny = false;
};

Gift gift_of_role(const Call& call, const WriteAttempt& attempt) {
  Gift out{.rules = rules_of(attempt.object, call.info.namespace_name), .before = {}, .role_namespace = call.info.namespace_name,
           .role = std::string(attempt.name), .waiver = "escalate"};
  if (attempt.old) out.before = rules_of(*attempt.old, call.info.namespace_name);
  out.is_new = !attempt.old || out.rules != out.before;
  out.needs_deny = documents::changes_denials(out.before, out.rules);
  return out;
}

Gift gift_of_binding(const Call& call, const WriteAttempt& attempt) {
  const Value& ref = attempt.object["roleRef"];
  Gift out{.rules = {}, .before = {}, .role_namespace = std::string(ref["namespace"].as_string()), .role = std::string(ref["name"].as_string()), .waiver = "bind"};
  if (store::RecordPtr record = call.services.store.get(role_key(out.role_namespace, out.role)))
    if (auto role = json::parse(record->value())) out.rules = rules_of(*role, out.role_namespace);
  bool is_same = attempt.old != nullptr;
  for (auto key : {"roleRef", "userNames", "groupNames"}) is_same = is_same && attempt.object[key] == (*attempt.old)[key];
  out.is_new = !is_same;
  // Whoever is bound to a denial is denied.
  out.needs_deny = out.is_new && denies(out.rules);
  return out;
}

}  // namespace

Task<Result<void>> check_escalation(Call& call, WriteAttempt attempt, const documents::PolicyAuthorizer* authorizer) {
  const catalog::Resource& r = *call.resource;
  if (call.user.in_group(authz::kMastersGroup)) co_return Result<void>();
  Gift gift = r.name == "roles" ? gift_of_role(call, attempt) : gift_of_binding(call, attempt);
  if (!gift.is_new) co_return Result<void>();
  if (gift.needs_deny) {
    bool allowed = co_await may(call, on_role(call, "deny", call.info.namespace_name, gift.role));
    if (!allowed)
      co_return fail(refused(r, attempt.name, cat("user ", quoted(call.user.name), " may not deny: that takes the verb \"deny\" on roles in the namespace ",
                                                  quoted(call.info.namespace_name))));
  }
  bool waived = co_await is_waived(call, on_role(call, gift.waiver, gift.role_namespace, gift.role));
  if (waived) co_return Result<void>();
  if (!authorizer) co_return fail(refused(r, attempt.name, "there is no policy to say what the caller holds"));
  std::shared_ptr<const documents::Index> index = authorizer->feed().index();
  auto missing = documents::first_missing(*index, call.user, call.info.namespace_name, gift.rules, authorizer->surroundings().kinds, index->groups());
  if (!missing) co_return Result<void>();
  co_return fail(refused(r, attempt.name, cat("user ", quoted(call.user.name), " is attempting to grant what they do not hold: ", missing->text())));
}

}  // namespace cardea::rest::policy

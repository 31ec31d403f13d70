#include "rest/policy/escalation.h"

#include <algorithm>

#include "authz/denied_grants.h"
#include "authz/namespace_policy/covers.h"
#include "authz/namespace_policy/documents.h"
#include "base/strings.h"
#include "json/parse.h"
#include "rest/asking.h"
#include "rest/guards/escalation_exemption.h"
#include "rest/policy/elements.h"

namespace cardea::rest::policy {

namespace documents = authz::namespace_policy;
using documents::Rule;
using json::Value;

namespace {

Error refused(const catalog::Resource& r, std::string_view name, std::string_view why) {
  std::string about = name.empty() ? r.qualified_name()
                                   : cat(r.qualified_name(), " ", quoted(name));
  return Error::of(Reason::kForbidden, cat(about, " is forbidden: ", why))
      .with(
          {.name = std::string(name), .group = std::string(r.group), .kind = std::string(r.name)});
}

// An unreadable or missing role allows nothing, and denies everything to its subjects.
std::vector<Rule> unreadable() {
  return {Rule{.deny = true, .verbs = {"*"}, .resource_kinds = {"*"}}};
}

std::vector<Rule> rules_of(const Value& role, std::string_view namespace_name) {
  json::FieldErrors errors;
  std::vector<Rule> out = documents::read_role(role, {.namespace_name = namespace_name}, "", errors)
                              .rules;
  return errors.empty() ? out : unreadable();
}
std::vector<Rule> rules_of(const Call& call, const documents::RoleRef& ref) {
  store::RecordPtr record = call.services.store.get(role_key(ref.namespace_name, ref.name));
  if (!record) return unreadable();
  auto role = json::parse(record->value());
  return role ? rules_of(*role, ref.namespace_name) : unreadable();
}

documents::RoleRef ref_of(const Value& binding) {
  const Value& ref = binding["roleRef"];
  return {.namespace_name = std::string(ref["namespace"].as_string()),
          .name = std::string(ref["name"].as_string())};
}
// The subjects of an unreadable binding are not known: it counts for all users.
bool is_for(const Value& binding, const authz::User& user, std::string_view namespace_name) {
  json::FieldErrors errors;
  documents::RoleBinding read = documents::read_role_binding(
      binding, {.namespace_name = namespace_name}, "", errors);
  if (!errors.empty() || std::ranges::find(read.user_names, user.name) != read.user_names.end())
    return true;
  return std::ranges::any_of(read.group_names,
                             [&](const std::string& group) { return user.in_group(group); });
}

bool denies(const std::vector<Rule>& rules) {
  return std::ranges::any_of(rules, &Rule::deny);
}

authz::Attributes on_role(const Call& call, std::string_view verb, std::string_view namespace_name,
                          std::string_view name) {
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
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.services.authorizer.get(),
                                                     attributes);
  // A condition on the object cannot be evaluated here.
  co_return verdict.decision.allowed();
}

// The permissions that this write gives, their receivers, and the namespace.
struct Gift {
  std::vector<Rule> rules;
  std::vector<Rule> freed;  // what the caller would no longer be denied
  std::string role_namespace, role;
  std::string_view exemption;  // the verb that lets one pass
  bool is_new = true;          // false: nothing is given that was not
  bool needs_deny = false;
};

Gift gift_of_role(const Call& call, const WriteAttempt& attempt, const documents::Index* index) {
  Gift out{.rules = rules_of(attempt.object, call.info.namespace_name),
           .freed = {},
           .role_namespace = call.info.namespace_name,
           .role = std::string(attempt.name),
           .exemption = "escalate"};
  std::vector<Rule> before;
  if (attempt.old) before = rules_of(*attempt.old, call.info.namespace_name);
  out.is_new = !attempt.old || out.rules != before;
  out.needs_deny = documents::changes_denials(before, out.rules);
  if (index && out.needs_deny && index->binds({out.role_namespace, out.role}, call.user))
    out.freed = documents::lifted(before, out.rules, index->groups());
  return out;
}

Gift gift_of_binding(const Call& call, const WriteAttempt& attempt, const documents::Index* index) {
  documents::RoleRef ref = ref_of(attempt.object);
  Gift out{.rules = rules_of(call, ref),
           .freed = {},
           .role_namespace = ref.namespace_name,
           .role = ref.name,
           .exemption = "bind"};
  bool is_same = attempt.old != nullptr;
  for (auto key : {"roleRef", "userNames", "groupNames"})
    is_same = is_same && attempt.object[key] == (*attempt.old)[key];
  out.is_new = !is_same;
  if (is_same) return out;
  // A user that is bound to a denial is denied; a user that is no longer bound is not.
  out.needs_deny = denies(out.rules);
  if (!attempt.old) return out;
  std::vector<Rule> before = rules_of(call, ref_of(*attempt.old));
  out.needs_deny |= denies(before);
  bool stays = ref_of(*attempt.old) == ref &&
               is_for(attempt.object, call.user, call.info.namespace_name);
  if (index && !stays && is_for(*attempt.old, call.user, call.info.namespace_name))
    out.freed = documents::lifted(before, {}, index->groups());
  return out;
}

std::shared_ptr<const documents::Index> index_of(const documents::PolicyAuthorizer* authorizer) {
  return authorizer ? authorizer->documents().get() : nullptr;
}

// Where a document in the namespace of the request grants: empty, if it is the master's, for
// everywhere.
std::string_view granted_in(const Call& call, const documents::Index* index) {
  return index && call.info.namespace_name == index->master()
             ? std::string_view()
             : std::string_view(call.info.namespace_name);
}

Error may_not_deny(const Call& call, std::string_view name, std::string_view what) {
  return refused(*call.resource, name,
                 cat("user ", quoted(call.user.name), " may not ", what,
                     ": this needs the verb \"deny\" on roles in the namespace ",
                     quoted(call.info.namespace_name)));
}

std::optional<Error> frees_themselves(const Call& call, std::string_view name,
                                      const std::vector<Rule>& freed, const documents::Index& index,
                                      const documents::KindNames* kinds) {
  auto missing = documents::first_missing(index, call.user, call.info.namespace_name, freed, kinds,
                                          index.groups());
  if (!missing) return std::nullopt;
  return refused(*call.resource, name,
                 cat("user ", quoted(call.user.name),
                     " would get a permission that is denied to this user: ", missing->text()));
}

}  // namespace

Task<Result<void>> check_escalation(Call& call, WriteAttempt attempt,
                                    const documents::PolicyAuthorizer* authorizer) {
  const catalog::Resource& r = *call.resource;
  if (call.chain->exempts(call.user)) co_return Result<void>();
  std::shared_ptr<const documents::Index> index = index_of(authorizer);
  Gift gift = r.name == "roles" ? gift_of_role(call, attempt, index.get())
                                : gift_of_binding(call, attempt, index.get());
  if (!gift.is_new) co_return Result<void>();
  if (gift.needs_deny) {
    bool allowed = co_await may(call, on_role(call, "deny", call.info.namespace_name, gift.role));
    if (!allowed) co_return fail(may_not_deny(call, attempt.name, "deny, or lift what is denied"));
  }
  const std::string_view space = granted_in(call, index.get());
  bool exempt = co_await is_exempt(
      call, on_role(call, gift.exemption, gift.role_namespace, gift.role), space);
  if (exempt) co_return Result<void>();
  if (!index)
    co_return fail(refused(r, attempt.name, "there is no policy to say what the caller holds"));
  const documents::KindNames* kinds = authorizer->surroundings().kinds;
  if (auto error = frees_themselves(call, attempt.name, gift.freed, *index, kinds))
    co_return fail(std::move(*error));
  auto missing = documents::first_missing(*index, call.user, call.info.namespace_name, gift.rules,
                                          kinds, index->groups());
  if (!missing) {
    // Namespace policy has been asked, exactly; what other documents deny to the caller counts too.
    std::vector<std::shared_ptr<const authz::Authorizer>> others;
    for (const auto& a : call.chain->authorizers())
      if (a->type() != authorizer->type()) others.push_back(a);
    const authz::Chain rest(std::move(others));
    if (!rest.may_deny()) co_return Result<void>();
    if (!authz::may_be_denied(rest.rules_for(call.user, space),
                              documents::granted_by(gift.rules, kinds, index->groups())))
      co_return Result<void>();
    co_return fail(refused(r, attempt.name, authz::denied_grant_text(call.user, gift.exemption)));
  }
  co_return fail(refused(r, attempt.name,
                         cat("user ", quoted(call.user.name),
                             " is attempting to grant what they do not hold: ", missing->text())));
}

Task<Result<void>> check_lifting(Call& call, const Value& old,
                                 const documents::PolicyAuthorizer* authorizer) {
  if (call.chain->exempts(call.user)) co_return Result<void>();
  std::string name(old["metadata"]["name"].as_string());
  bool is_role = call.resource->name == "roles";
  documents::RoleRef ref = is_role ? documents::RoleRef{call.info.namespace_name, name}
                                   : ref_of(old);
  std::vector<Rule> rules = is_role ? rules_of(old, call.info.namespace_name) : rules_of(call, ref);
  if (!denies(rules)) co_return Result<void>();
  if (!is_being_emptied(call)) {
    bool allowed = co_await may(call, on_role(call, "deny", call.info.namespace_name, ref.name));
    if (!allowed) co_return fail(may_not_deny(call, name, "lift what is denied"));
  }
  // A role that is bound stays.
  if (is_role || !is_for(old, call.user, call.info.namespace_name)) co_return Result<void>();
  std::shared_ptr<const documents::Index> index = index_of(authorizer);
  bool exempt = co_await is_exempt(call, on_role(call, "bind", ref.namespace_name, ref.name),
                                   granted_in(call, index.get()));
  if (exempt) co_return Result<void>();
  if (!index)
    co_return fail(
        refused(*call.resource, name, "there is no policy to say what the caller holds"));
  if (auto error = frees_themselves(call, name, documents::lifted(rules, {}, index->groups()),
                                    *index, authorizer->surroundings().kinds))
    co_return fail(std::move(*error));
  co_return Result<void>();
}

}  // namespace cardea::rest::policy

#include "rest/policy/guard.h"

#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/unknown_words.h"
#include "base/strings.h"
#include "json/field_error.h"
#include "rest/policy/element_writer.h"
#include "rest/policy/elements.h"
#include "rest/policy/escalation.h"

namespace cardea::rest::policy {

namespace documents = authz::namespace_policy;
using documents::Place;
using json::Value;

namespace {

json::FieldErrors check_policy(const Value& object, const Place& place,
                               const documents::ResourceGroups& groups) {
  json::FieldErrors errors;
  documents::PolicyDocument policy = documents::read_policy(object, place, errors);
  for (json::FieldError& e : documents::validate(policy, place, groups))
    errors.push_back(std::move(e));
  if (!policy.roles.empty())
    errors.push_back(
        json::forbidden("roles", "a Policy is created empty; its roles are written one by one"));
  return errors;
}

json::FieldErrors check_policy_binding(const Value& object, const Place& place) {
  json::FieldErrors errors;
  documents::PolicyBindingDocument binding = documents::read_policy_binding(object, place, errors);
  for (json::FieldError& e : documents::validate(binding, place)) errors.push_back(std::move(e));
  if (!binding.role_bindings.empty())
    errors.push_back(json::forbidden(
        "roleBindings",
        "a PolicyBinding is created empty; its role bindings are written one by one"));
  return errors;
}

json::FieldErrors check_role(const Value& object, const Place& place,
                             const documents::ResourceGroups& groups) {
  json::FieldErrors errors;
  documents::Role role = documents::read_role(object, place, "", errors);
  for (json::FieldError& e : documents::validate(role, place, "", groups))
    errors.push_back(std::move(e));
  return errors;
}

json::FieldErrors check_role_binding(const Value& object, const Value* old, const Place& place,
                                     const store::Store& store) {
  json::FieldErrors errors;
  documents::RoleBinding binding = documents::read_role_binding(object, place, "", errors);
  for (json::FieldError& e : documents::validate(binding, place, ""))
    errors.push_back(std::move(e));
  if (old && (*old)["roleRef"]["namespace"] != object["roleRef"]["namespace"])
    errors.push_back(
        json::invalid("roleRef.namespace", object["roleRef"]["namespace"], "field is immutable"));
  // The store decides; the question here lets a dry run see the same answer.
  if (errors.empty() && !store.get(role_key(binding.role.namespace_name, binding.role.name)))
    errors.push_back(documents::dangling(binding.role, ""));
  return errors;
}

}  // namespace

bool PolicyGuard::applies(const catalog::Resource& r) const {
  return r.group == documents::kGroup && !r.storage_prefix.empty();
}

Task<Result<void>> PolicyGuard::check(Call& call, WriteAttempt attempt) const {
  const catalog::Resource& r = *call.resource;
  Place place{call.info.namespace_name, master_};
  std::shared_ptr<const documents::Index> index = authorizer_ ? authorizer_->documents().get()
                                                              : nullptr;
  const documents::ResourceGroups& groups = index ? index->groups()
                                                  : documents::ResourceGroups::built_in();
  json::FieldErrors errors;
  if (r.kind == "Policy")
    errors = check_policy(attempt.object, place, groups);
  else if (r.kind == "PolicyBinding")
    errors = check_policy_binding(attempt.object, place);
  else if (r.kind == "Role")
    errors = check_role(attempt.object, place, groups);
  else
    errors = check_role_binding(attempt.object, attempt.old, place, call.services.store);
  if (!errors.empty())
    co_return fail(json::invalid_object(r.group, r.kind,
                                        attempt.object["metadata"]["name"].as_string(), errors));
  if (r.kind == "Policy" || r.kind == "PolicyBinding") co_return Result<void>();
  if (r.kind == "Role" && authorizer_ && authorizer_->surroundings().kinds) {
    json::FieldErrors none;
    for (std::string& doubt :
         documents::unknown_words(documents::read_role(attempt.object, place, "", none), "",
                                  *authorizer_->surroundings().kinds))
      call.warnings.push_back(std::move(doubt));
  }
  // As above: a dry run gets no further than this.
  std::string_view space = call.info.namespace_name,
                   points_to = attempt.object["roleRef"]["namespace"].as_string();
  bool is_role = r.kind == "Role";
  if (!attempt.old && (is_role || points_to != master_) &&
      !call.services.store.get(is_role ? policy_key(space) : policy_binding_key(space, points_to)))
    co_return fail(missing_container(is_role ? ElementKind::kRole : ElementKind::kRoleBinding,
                                     space, attempt.object["metadata"]["name"].as_string(),
                                     points_to));
  Result<void> held = co_await check_escalation(call, attempt, authorizer_);
  co_return held;
}

Task<Result<void>> PolicyGuard::check_deletion(Call& call, const Value& old) const {
  // Containers go only when nothing is in them.
  if (call.resource->kind != "Role" && call.resource->kind != "RoleBinding")
    co_return Result<void>();
  Result<void> may = co_await check_lifting(call, old, authorizer_);
  co_return may;
}

std::optional<Error> refused_verb(const catalog::Resource& r, std::string_view verb,
                                  std::string_view name) {
  if (r.group != documents::kGroup || (verb != "update" && verb != "patch") ||
      (r.name != "policies" && r.name != "policybindings"))
    return std::nullopt;
  bool is_policy = r.name == "policies";
  std::string why = cat("is not written as a whole: write its ",
                        is_policy ? "roles" : "role bindings", " one by one");
  return json::invalid_object(
      r.group, r.kind, name,
      {json::forbidden(is_policy ? "roles" : "roleBindings", std::move(why))});
}

}  // namespace cardea::rest::policy

#include "rest/guards/permission_map_guard.h"

#include <algorithm>
#include <set>

#include "authz/access/policy.h"
#include "authz/denied_grants.h"
#include "authz/rbac/covers.h"
#include "base/strings.h"
#include "catalog/permission_maps.h"
#include "json/field_error.h"
#include "rest/guards/escalation_exemption.h"
#include "rest/write/blind_caller.h"
#include "rest/write/field_permissions.h"

namespace cardea::rest {
namespace {

using json::Value;

// What a map is about.
struct Subject {
  std::string group, resource;

  explicit Subject(const Value& spec)
      : group(spec["group"].as_string()), resource(spec["resource"].as_string()) {}
  friend bool operator==(const Subject&, const Subject&) = default;
};

std::vector<const catalog::Resource*> versions_of_subject(const catalog::Catalog& catalog,
                                                          const Subject& subject) {
  std::vector<const catalog::Resource*> out;
  for (const catalog::Group& group : catalog.all_groups()) {
    if (group.name != subject.group) continue;
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources)
        if (r->name == subject.resource) {
          out.push_back(r);
          if (r->unserved_storage) out.push_back(r->unserved_storage);
        }
  }
  return out;
}

// The permissions of a resource without what this map adds to it.
std::shared_ptr<const schema::PermissionTree> without_map(const catalog::Catalog& catalog,
                                                          const catalog::Resource& r,
                                                          std::string_view map) {
  std::vector<schema::AddedPermission> others;
  for (const schema::AddedPermission& added : catalog.permission_maps()->of(r.group, r.name))
    if (added.permission.map != map) others.push_back(added);
  return r.is_custom ? schema::PermissionTree::of_custom(*r.schema, others)
                     : schema::PermissionTree::of_builtin(*r.schema, r.group, r.kind, others);
}

// An entry must fit in one version at least; and where the field is there, it must fit.
std::optional<json::FieldError> misfit_of(
    const Value& entry, const std::string& at,
    const std::vector<std::pair<const catalog::Resource*,
                                std::shared_ptr<const schema::PermissionTree>>>& versions,
    std::vector<std::string>& warnings) {
  auto added = schema::added_permission(entry, "");
  if (!added) return std::nullopt;  // validation says why
  std::optional<schema::Misfit> absent;
  std::vector<std::string> lacking;
  bool is_somewhere = false;
  for (const auto& [r, tree] : versions) {
    const schema::Schema& shape = tree->compared() ? *tree->compared() : *r->schema;
    auto wrong = schema::misfit(*added, shape, *tree);
    if (wrong && !wrong->is_absent)
      return json::invalid(
          cat(at, wrong->of == schema::Misfit::Of::kField ? ".field" : ".parameter"),
          entry[wrong->of == schema::Misfit::Of::kField ? "field" : "parameter"],
          cat(wrong->why, " (", r->api_version(), ")"));
    is_somewhere |= !wrong;
    if (wrong) lacking.push_back(r->api_version());
    if (wrong && !absent) absent = std::move(wrong);
  }
  if (is_somewhere && absent)
    warnings.push_back(cat(entry["field"].as_string(), " is not a field of ", join(lacking, ", "),
                           ": nothing guards there what it stands for"));
  if (is_somewhere || !absent) return std::nullopt;
  return json::invalid(at + ".field", entry["field"], absent->why);
}

// Another map that is about the same field, whether or not it fits now.
std::optional<json::FieldError> conflict_of(const catalog::Catalog& catalog, const Subject& subject,
                                            std::string_view name, const Value& entry,
                                            const std::string& at) {
  for (const schema::AddedPermission& other :
       catalog.permission_maps()->of(subject.group, subject.resource))
    if (other.permission.map != name && other.field == entry["field"].as_string())
      return json::invalid(
          at + ".field", entry["field"],
          cat(schema::verb_pattern(other.permission), " guards it already, by the PermissionMap `",
              other.permission.map, "`"));
  return std::nullopt;
}

json::FieldErrors misfits(Call& call, const Value& object, std::string_view name,
                          const std::vector<Value>& added) {
  json::FieldErrors out;
  const Subject subject(object["spec"]);
  if (subject.resource.empty()) return out;
  const auto versions = versions_of_subject(*call.catalog, subject);
  if (versions.empty())
    call.warnings.push_back(cat("there is no resource ", quoted(subject.resource), " in the group ",
                                quoted(subject.group),
                                " now: the map takes effect when there is, where it fits"));
  else if (std::ranges::all_of(versions, [](const auto* r) { return r->storage_prefix.empty(); }))
    return {json::invalid("spec.resource", Value(subject.resource),
                          "its objects are not stored, so their fields have no permissions")};
  std::vector<std::pair<const catalog::Resource*, std::shared_ptr<const schema::PermissionTree>>>
      trees;
  for (const catalog::Resource* r : versions)
    trees.emplace_back(r, without_map(*call.catalog, *r, name));
  std::size_t index = 0;
  for (const Value& entry : object["spec"]["permissions"].items()) {
    const std::string at = cat("spec.permissions[", index++, "]");
    if (index > schema::kMostTaggedNodes) break;  // validation refuses it
    if (std::ranges::find(added, entry) == added.end()) continue;
    if (auto taken = conflict_of(*call.catalog, subject, name, entry, at))
      out.push_back(std::move(*taken));
    else if (auto wrong = misfit_of(entry, at, trees, call.warnings))
      out.push_back(std::move(*wrong));
  }
  return out;
}

bool has_entry(const Value& permissions, const Value& entry) {
  return std::ranges::find(permissions.items(), entry) != permissions.items().end();
}

// The entries of one that the other does not have.
std::vector<Value> entries_beyond(const Value& one, const Value& other, bool same_subject) {
  std::vector<Value> out;
  for (const Value& entry : one["permissions"].items())
    if (!same_subject || !has_entry(other["permissions"], entry)) out.push_back(entry);
  return out;
}

// Everything that may be written of a resource, in all namespaces. `more` are further verbs.
authz::rbac::PolicyRule whole_of(const catalog::Catalog& catalog, const Subject& subject,
                                 const std::vector<std::string>& more) {
  authz::rbac::PolicyRule out{
      {"create", "update", "patch"}, {subject.group}, {subject.resource}, {}, {}};
  out.verbs.insert(out.verbs.end(), more.begin(), more.end());
  std::set<std::string> parts;
  const auto versions = versions_of_subject(catalog, subject);
  // A custom resource may get these later.
  if (versions.empty() || versions[0]->is_custom)
    for (std::string_view sub : {"status", "scale"}) parts.insert(cat(subject.resource, "/", sub));
  for (const catalog::Resource* r : versions)
    for (const catalog::Subresource& sub : r->subresources)
      if (sub.schema && !sub.kind.ends_with("Options") &&
          std::ranges::find(sub.verbs, "update") != sub.verbs.end())
        parts.insert(cat(subject.resource, "/", sub.name));
  out.resources.insert(out.resources.end(), parts.begin(), parts.end());
  return out;
}

// The excluded verbs that these entries make, for one parameter or another.
std::vector<std::string> excluded_verbs_of(const Call& call, const Subject& subject,
                                           const std::vector<Value>& entries) {
  std::vector<std::string> out;
  if (!call.services.field_permissions) return out;
  const auto uncovered = call.services.field_permissions->uncovered();
  for (const std::string& verb : uncovered->on(subject.group, subject.resource).verbs.verbs)
    for (const Value& entry : entries) {
      schema::ExcludedVerbs one;
      one.add(verb);
      if (!one.names.contains(entry["verb"].as_string())) continue;
      out.push_back(verb);
      break;
    }
  return out;
}

Task<Result<void>> check_writer(Call& call, std::string_view name, Subject subject,
                                std::vector<std::string> excluded) {
  authz::Attributes escalate(call.user);
  escalate.is_resource_request = true;
  escalate.verb = "escalate";
  escalate.api_group = authz::access::kGroup;
  escalate.api_version = call.resource->version;
  escalate.resource = call.resource->name;
  escalate.name = name;
  bool exempt = co_await is_exempt(call, escalate);
  if (exempt) co_return Result<void>();
  const authz::Rules rules = call.chain->rules_for(call.user, "");
  const std::vector<authz::rbac::PolicyRule> needed{
      whole_of(*call.catalog, subject, std::move(excluded))};
  if (!authz::rbac::missing_rules(held_rules(rules), needed).empty())
    co_return fail(refused_grant(
        *call.resource, name,
        cat("user ", quoted(call.user.name), " may not change the permissions on fields of ",
            quoted(subject.resource), ": this needs the verbs ", join(needed[0].verbs, ", "),
            " on ", join(needed[0].resources, ", "), " in API group ", quoted(subject.group),
            " in all namespaces, or the verb \"escalate\" on the map")));
  if (authz::may_be_denied(rules, needed))
    co_return fail(
        refused_grant(*call.resource, name, authz::denied_grant_text(call.user, "escalate")));
  co_return Result<void>();
}

}  // namespace

bool PermissionMapGuard::applies(const catalog::Resource& r) const {
  return r.group == authz::access::kGroup && r.name == "permissionmaps";
}

Task<Result<void>> PermissionMapGuard::check(Call& call, WriteAttempt attempt) const {
  const Value nothing = Value::object();
  const Value& spec = attempt.object["spec"];
  const Value& old_spec = attempt.old ? (*attempt.old)["spec"] : nothing;
  const bool same_subject = attempt.old && Subject(spec) == Subject(old_spec);
  // Whether something changes would show the stored content to a caller that may not read it.
  const bool compares = same_subject && !is_known_blind(call);
  const std::vector<Value> added = entries_beyond(spec, old_spec, compares);
  std::vector<Value> removed = entries_beyond(old_spec, spec, compares);
  // If an owner does not exist, the garbage collector deletes the map.
  if (attempt.old && attempt.object["metadata"]["ownerReferences"] !=
                         (*attempt.old)["metadata"]["ownerReferences"])
    removed = entries_beyond(old_spec, nothing, false);
  // The last finalizer of a map that is being deleted is all that keeps it.
  if (attempt.old && (*attempt.old)["metadata"].has("deletionTimestamp") &&
      attempt.object["metadata"]["finalizers"] != (*attempt.old)["metadata"]["finalizers"])
    removed = entries_beyond(old_spec, nothing, false);
  if (!call.chain->exempts(call.user)) {
    if (!added.empty()) {
      // A verb that a set excludes shuts the field for everybody who lacks it: no way to lock
      // others out, or oneself.
      Result<void> allowed = co_await check_writer(call, attempt.name, Subject(spec),
                                                   excluded_verbs_of(call, Subject(spec), added));
      if (!allowed) co_return allowed;
    }
    if (auto excluded = excluded_verbs_of(call, Subject(old_spec), removed); !excluded.empty()) {
      Result<void> allowed = co_await check_writer(call, attempt.name, Subject(old_spec),
                                                   std::move(excluded));
      if (!allowed) co_return allowed;
    }
  }
  if (added.empty()) co_return Result<void>();
  if (json::FieldErrors errors = misfits(call, attempt.object, attempt.name, added);
      !errors.empty())
    co_return fail(
        json::invalid_object(call.resource->group, call.resource->kind, attempt.name, errors));
  co_return Result<void>();
}

Task<Result<void>> PermissionMapGuard::check_deletion(Call& call, const Value& old) const {
  if (call.chain->exempts(call.user)) co_return Result<void>();
  auto excluded = excluded_verbs_of(call, Subject(old["spec"]),
                                    entries_beyond(old["spec"], Value::object(), false));
  if (excluded.empty()) co_return Result<void>();
  const std::string name(old["metadata"]["name"].as_string());
  Result<void> allowed = co_await check_writer(call, name, Subject(old["spec"]),
                                               std::move(excluded));
  co_return allowed;
}

}  // namespace cardea::rest

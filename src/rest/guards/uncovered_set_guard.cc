#include "rest/guards/uncovered_set_guard.h"

#include <algorithm>
#include <set>

#include "authz/fields/uncovered.h"
#include "base/names.h"
#include "base/strings.h"
#include "catalog/excluded_permissions.h"
#include "json/field_error.h"
#include "rest/call.h"

namespace cardea::rest {
namespace {

constexpr std::size_t kMostVerbs = 16, kMostKinds = 10;  // that one answer names

// A name that is not well formed is for validation to refuse.
bool is_among(const catalog::Resource& r, const json::Value& resources) {
  return resources.empty() || std::ranges::any_of(resources.items(), [&](const json::Value& one) {
           std::string_view name = one["resource"].as_string();
           return !dns_label_problems(name).empty() ||
                  (one["group"].as_string() == r.group && name == r.name);
         });
}

std::string kinds_with(const catalog::Catalog& catalog, const json::Value& resources,
                       std::string_view name, bool with_parameter) {
  std::set<std::string> kinds;
  for (const catalog::Group& group : catalog.groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources)
        if (!r->storage_prefix.empty() && is_among(*r, resources) &&
            catalog::has_verb(*r, name, with_parameter))
          kinds.insert(cat(r->api_version(), " ", r->kind));
  std::string out;
  std::size_t shown = 0;
  for (const std::string& kind : kinds)
    if (shown++ < kMostKinds) out += cat(out.empty() ? "" : ", ", kind);
  if (kinds.size() > kMostKinds) out += cat(" and ", kinds.size() - kMostKinds, " more");
  return out;
}

}  // namespace

bool UncoveredSetGuard::applies(const catalog::Resource& r) const {
  return r.group == authz::fields::kPermissionGroup && r.name == "uncoveredpermissionsets";
}

Task<Result<void>> UncoveredSetGuard::check(Call& call, WriteAttempt attempt) const {
  std::size_t told = 0, index = 0;
  json::FieldErrors errors;
  for (const json::Value& verb : attempt.object["spec"]["uncoveredPermissions"].items()) {
    const std::string at = cat("spec.uncoveredPermissions[", index++, "]");
    bool is_new = true;
    if (attempt.old && (*attempt.old)["spec"]["resources"] == attempt.object["spec"]["resources"])
      for (const json::Value& before : (*attempt.old)["spec"]["uncoveredPermissions"].items())
        is_new &= before != verb;
    if (!is_new) continue;
    schema::ExcludedVerbs one;
    one.add(verb.as_string());
    std::string kinds = kinds_with(*call.catalog, attempt.object["spec"]["resources"],
                                   *one.names.begin(), verb.as_string().contains('('));
    if (kinds.empty())
      errors.push_back(
          json::invalid(at, verb, "no kind has this permission: the set would protect nothing"));
    else if (told++ < kMostVerbs)
      call.warnings.push_back(
          cat("writing the fields of ", verb.as_string(),
              " now needs exactly this permission; kinds with such fields: ", kinds));
  }
  if (!errors.empty())
    co_return fail(
        json::invalid_object(call.resource->group, call.resource->kind, attempt.name, errors));
  co_return Result<void>();
}

}  // namespace cardea::rest

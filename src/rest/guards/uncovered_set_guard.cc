#include "rest/guards/uncovered_set_guard.h"

#include <set>

#include "authz/fields/uncovered.h"
#include "base/strings.h"
#include "rest/call.h"

namespace cardea::rest {
namespace {

constexpr std::size_t kMostVerbs = 16, kMostKinds = 10;  // that one answer names

std::string kinds_with(const catalog::Catalog& catalog, std::string_view name) {
  std::set<std::string> kinds;
  for (const catalog::Group& group : catalog.groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources)
        if (!r->storage_prefix.empty() && r->permissions->has(name))
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
  std::size_t told = 0;
  for (const json::Value& verb : attempt.object["spec"]["uncoveredPermissions"].items()) {
    bool is_new = true;
    if (attempt.old)
      for (const json::Value& before : (*attempt.old)["spec"]["uncoveredPermissions"].items())
        is_new &= before != verb;
    if (!is_new || told++ >= kMostVerbs) continue;
    schema::ExcludedVerbs one;
    one.add(verb.as_string());
    std::string kinds = kinds_with(*call.catalog, *one.names.begin());
    call.warnings.push_back(
        kinds.empty() ? cat(verb.as_string(), ": no kind has this permission")
                      : cat("writing the fields of ", verb.as_string(),
                            " now needs exactly this permission; kinds with such fields: ", kinds));
  }
  co_return Result<void>();
}

}  // namespace cardea::rest

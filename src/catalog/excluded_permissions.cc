#include "catalog/excluded_permissions.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::catalog {
namespace {

bool excludes(const Resource& r, std::string_view permission) {
  return r.permissions->has_excluded() &&
         std::ranges::any_of(r.permissions->list(),
                             [&](const schema::PermissionTree::Listed& listed) {
                               return listed.permission->excluded &&
                                      equals_ignoring_case(listed.permission->name, permission);
                             });
}

}  // namespace

bool excludes_permission(const Catalog& catalog, std::string_view group, std::string_view resource,
                         std::string_view verb) {
  std::string_view name = verb.substr(verb.find(':') + 1);
  name = name.substr(0, name.find('('));
  for (const Group& g : catalog.all_groups()) {
    if (g.name != group) continue;
    for (const Version& version : g.versions)
      for (const Resource* r : version.resources)
        if (r->name == resource && excludes(*r, name)) return true;
  }
  return false;
}

}  // namespace cardea::catalog

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

std::string_view name_of(std::string_view verb) {
  const std::string_view name = verb.substr(verb.find(':') + 1);
  return name.substr(0, name.find('('));
}

// Calls `holds` for each version of a resource until it is true.
template <typename Holds>
bool any_version(const std::vector<Group>& groups, std::string_view group,
                 std::string_view resource, Holds holds) {
  for (const Group& g : groups) {
    if (group != "*" && g.name != group) continue;
    for (const Version& version : g.versions)
      for (const Resource* r : version.resources)
        if ((resource == "*" || r->name == resource) && holds(*r)) return true;
  }
  return false;
}

// A part of an object that has fields of the object.
bool is_written_by_fields(const Resource& r, std::string_view part) {
  const Subresource* s = r.subresource(part);
  return s && (s->kind.empty() || s->kind == r.kind || s->name == "scale");
}

}  // namespace

bool has_verb(const Resource& r, std::string_view name, bool with_parameter) {
  return r.permissions->has(name) &&
         std::ranges::any_of(r.permissions->list(),
                             [&](const schema::PermissionTree::Listed& listed) {
                               return listed.permission->name == name &&
                                      listed.permission->has_parameter() == with_parameter;
                             });
}

bool excludes_permission(const Catalog& catalog, std::string_view group, std::string_view resource,
                         std::string_view verb) {
  const std::string_view name = name_of(verb);
  return any_version(catalog.all_groups(), group, resource, [&](const Resource& r) {
    return excludes(r, name) || excludes(*catalog.storage_of(r), name);
  });
}

bool has_field_permission(const Catalog& catalog, std::string_view group, std::string_view resource,
                          std::string_view verb) {
  const auto slash = std::min(resource.find('/'), resource.size());
  const std::string_view part = resource.substr(std::min(slash + 1, resource.size()));
  if (group == "*" || resource.substr(0, slash) == "*") return false;
  return any_version(catalog.groups(), group, resource.substr(0, slash), [&](const Resource& r) {
    if (r.storage_prefix.empty() || (!part.empty() && !is_written_by_fields(r, part))) return false;
    return verb == schema::kGranularVerb || (verb.starts_with(schema::kGranularPrefix) &&
                                             has_verb(r, name_of(verb), verb.ends_with(')')));
  });
}

}  // namespace cardea::catalog

#include "engine/kinds.h"

#include "authz/namespace_policy/words.h"
#include "base/strings.h"
#include "catalog/excluded_permissions.h"

namespace cardea::engine {

Kinds::Kinds(std::shared_ptr<const catalog::Catalog> catalog,
             const authz::fields::Uncovered& uncovered)
    : catalog_(std::move(catalog)), uncovered_(uncovered) {
  for (const catalog::Group& group : catalog_->groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources)
        kinds_.try_emplace({r->group, r->name}, lower(r->kind));
}

std::string_view Kinds::kind_of(std::string_view group, std::string_view resource) const {
  auto at = kinds_.find({group, resource});
  return at == kinds_.end() ? std::string_view() : std::string_view(at->second);
}

std::vector<std::pair<std::string, std::string>> Kinds::resources_of(std::string_view kind) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [place, name] : kinds_)
    if (equals_ignoring_case(name, kind)) out.emplace_back(place.first, place.second);
  return out;
}

bool Kinds::is_excluded(std::string_view group, std::string_view resource,
                        std::string_view verb) const {
  return uncovered_.excludes(group, resource, verb) ||
         catalog::excludes_permission(*catalog_, group, resource, verb);
}

std::shared_ptr<const schema::Schema> Kinds::schema_of(std::string_view group,
                                                       std::string_view version,
                                                       std::string_view resource) const {
  const catalog::Resource* r = catalog_->find(group, version, resource);
  if (!r) return nullptr;
  return {catalog_, r->schema};
}

}  // namespace cardea::engine

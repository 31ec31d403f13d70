#include "advice/known_resources.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/permission_maps.h"
#include "schema/permissions/check_permissions.h"

namespace cardea::advice {

using catalog::Resource;
using json::Value;

namespace {

bool is_called(const Resource& r, std::string_view name) {
  return r.name == name || r.singular == name || lower(r.kind) == name ||
         std::ranges::find(r.short_names, name) != r.short_names.end();
}

}  // namespace

KnownResources::KnownResources()
    : catalog_(
          catalog::Catalog::builtin({"ConditionalAuthorization", "FineGrainedAuthorization"})) {}

Result<std::string> KnownResources::add_definition(Value definition) {
  if (definition["kind"].as_string() != "CustomResourceDefinition")
    return fail(bad_request("this is not a CustomResourceDefinition"));
  const Value& spec = definition["spec"];
  std::string group(spec["group"].as_string()), plural(spec["names"]["plural"].as_string());
  if (group.empty() || plural.empty() || spec["names"]["kind"].as_string().empty())
    return fail(bad_request("the definition lacks its group, plural name or kind"));
  for (std::size_t i = 0; i < spec["versions"].size(); ++i) {
    auto wrong = schema::check_permissions(spec["versions"][i]["schema"]["openAPIV3Schema"],
                                           cat("spec.versions[", i, "].schema.openAPIV3Schema"));
    if (!wrong.empty()) return fail(bad_request(wrong[0].message()));
  }
  std::string name = cat(plural, ".", group);
  definition.member("metadata").set("name", name);
  definition.member("status").set(
      "conditions", Value::array({Value::object({{"type", "Established"}, {"status", "True"}})}));
  std::erase_if(definitions_,
                [&](const Value& other) { return other["metadata"]["name"].as_string() == name; });
  definitions_.push_back(std::move(definition));
  catalog_ = catalog_->with_definitions(definitions_);
  return name;
}

void KnownResources::set_permission_maps(const std::vector<Value>& maps) {
  catalog_ = catalog_->with_permission_maps(std::make_shared<const catalog::PermissionMaps>(maps));
}

const Resource* KnownResources::find(std::string_view group, std::string_view version,
                                     std::string_view resource) const {
  return catalog_->find(group, version, resource);
}

const Resource* KnownResources::find(std::string_view word) const {
  word = word.substr(0, word.find('/'));
  auto dot = word.find('.');
  std::string name = lower(word.substr(0, dot));
  std::string_view rest = dot == word.npos ? "" : word.substr(dot + 1);
  for (const catalog::Group& group : catalog_->groups())
    for (const catalog::Version& version : group.versions) {
      if (!rest.empty() && rest != group.name && rest != cat(version.name, ".", group.name) &&
          !(group.name.empty() && rest == version.name))
        continue;
      for (const Resource* r : version.resources)
        if (!r->storage_prefix.empty() && is_called(*r, name)) return r;
    }
  return nullptr;
}

}  // namespace cardea::advice

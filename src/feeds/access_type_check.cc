#include "feeds/access_type_check.h"

#include <algorithm>

#include "authz/access/environment.h"
#include "base/strings.h"
#include "catalog/object_types.h"
#include "cel/environments.h"

namespace cardea::feeds {
namespace {

constexpr std::size_t kMostChecked = 32;

std::string first_issue(const cel::CompileError& error) {
  return error.issues.empty() ? error.text : error.issues[0].message;
}

}  // namespace

std::vector<std::string> type_warnings(const authz::access::Policy& policy,
                                       const json::Value& object, const catalog::Catalog& catalog) {
  std::vector<std::string> out;
  if (!policy.program()) return out;
  std::string_view text = object["spec"]["expression"].as_string();
  std::size_t checked = 0;
  for (const catalog::Group& group : catalog.groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources) {
        bool is_named = std::ranges::any_of(
            policy.rules(), [&](const authz::rbac::PolicyRule& rule) {
              return std::ranges::find(rule.api_groups, group.name) != rule.api_groups.end() &&
                     std::ranges::find(rule.resources, r->name) != rule.resources.end();
            });
        if (!is_named || ++checked > kMostChecked) continue;
        cel::Environment environment = authz::access::language_without_objects();
        std::string type = catalog::ObjectTypes(environment).type_of(r->schema);
        environment.variable("object", type).variable("oldObject", type);
        auto compiled = cel::compile(text, std::move(environment).share());
        if (!compiled)
          out.push_back(
              cat(r->api_version(), ", Kind=", r->kind, ": ", first_issue(compiled.error())));
      }
  return out;
}

}  // namespace cardea::feeds

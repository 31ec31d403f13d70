#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "schema/permissions/permissions.h"

namespace cardea::advice {

// The permissions on the fields of one resource, for a user at a terminal: each with its
// fields, its parameter, the permissions that also cover it and a rule that grants it.
std::string explain_permissions(const catalog::Resource& resource);
// The same of every custom or built-in resource that can be written, as a page of Markdown:
// docs/permissions.md.
std::string permissions_markdown(const catalog::Catalog& catalog);

// "the key, up to its first slash"; empty for one without parameter.
std::string parameter_text(const schema::Permission& permission);
// A verb that a role could grant: "granular:label(example.com)".
std::string example_verb(const schema::Permission& permission);
// The resources in rules that grant it: {"deployments/status"} for a field of a status with its own
// endpoint.
std::vector<std::string> written_through(const catalog::Resource& resource,
                                         const schema::PermissionTree::Listed& listed);
// A rule of a role, on one line: valid as JSON and as YAML.
std::string rule_text(std::string_view group, const std::vector<std::string>& resources,
                      const std::vector<std::string>& verbs);

}  // namespace cardea::advice

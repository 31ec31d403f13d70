#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "authz/attributes.h"
#include "authz/user.h"
#include "catalog/catalog.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::rest::policy {

// A kind in the spelling of a user, found among the served resources.
struct NamedResource {
  std::string group, version, name, subresource;
  const catalog::Resource* resource = nullptr;  // null: nothing of that name is served, and the
                                                // name stays as it is
};

// `pods`, `Pod`, `deploymentConfig`, `pods/log`, `roles.rbac.authorization.k8s.io`, in any case.
// Names that several groups have are namespace policy's own where it has one, else of the group
// that is listed first.
NamedResource find_resource(const catalog::Catalog& catalog, std::string_view text);

// The question of a review, from either of its forms. Owns the data that attributes borrow.
struct ReviewQuestion {
  std::string verb, namespace_name, resource_name, path;
  bool is_path = false;
  NamedResource resource;
  json::Value content;  // null: none was sent

  authz::Attributes attributes(const authz::User& user) const;
};

// {"spec": {"verb", "resourceKind", ...}}, in the namespace of the request.
ReviewQuestion read_question(const json::Value& spec, std::string_view namespace_name,
                             const catalog::Catalog& catalog, json::FieldErrors& errors);
// {"verb", "resource", "resourceAPIGroup", ...}, as OpenShift's v1 has them.
ReviewQuestion read_flat_question(const json::Value& review, const catalog::Catalog& catalog,
                                  json::FieldErrors& errors);

}  // namespace cardea::rest::policy

#pragma once
#include <vector>

#include "authz/namespace_policy/documents.h"

namespace cardea::authz::namespace_policy {

// The roles that the master namespace has from the start: view, edit, admin, cluster-admin.
std::vector<Role> default_roles(std::string_view master);

}  // namespace cardea::authz::namespace_policy

#pragma once
#include <string_view>

#include "catalog/catalog.h"

namespace cardea::catalog {

// Whether a version of this resource declares the field permission of this verb ("granular:name" or
// "granular:name(key)") as excluded: a permission for all fields does not include it.
bool excludes_permission(const Catalog& catalog, std::string_view group, std::string_view resource,
                         std::string_view verb);

}  // namespace cardea::catalog

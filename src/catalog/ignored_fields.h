#pragma once
#include <string_view>

#include "catalog/catalog.h"
#include "schema/permissions/changed_fields.h"

namespace cardea::catalog {

// The fields that do not count as changed by the caller of a write to `subresource` ("" for the
// object itself): the server writes or restores them.
schema::IgnoredFields ignored_fields(const Resource& resource, std::string_view subresource,
                                     bool is_create);

}  // namespace cardea::catalog

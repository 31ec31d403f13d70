#pragma once
#include <string_view>

#include "catalog/catalog.h"

namespace cardea::catalog {

// Whether a field permission of this name can be asked for by a verb: with a parameter if it has
// one.
bool has_verb(const Resource& resource, std::string_view name, bool with_parameter);

// Whether a version of this resource, served or stored, declares the field permission of this verb
// ("granular:name" or "granular:name(key)") as excluded: a permission for all fields does not
// include it. `*` for the group or the resource: any.
bool excludes_permission(const Catalog& catalog, std::string_view group, std::string_view resource,
                         std::string_view verb);

// Whether the verb ("granular", or one as above) lets its holder write fields of this resource, or
// of a part of it ("daemonsets/status"), as it is served now. False for wildcards.
bool has_field_permission(const Catalog& catalog, std::string_view group, std::string_view resource,
                          std::string_view verb);

}  // namespace cardea::catalog

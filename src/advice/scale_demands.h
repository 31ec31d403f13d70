#pragma once
#include <optional>

#include "catalog/catalog.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::advice {

// The permissions that a write of a scale needs, as the server asks for them: the permission on
// the replicas of a Scale, and all excluded permissions on the object's field that stores the
// replicas.
struct ScaleDemands {
  schema::Demands demands;
  bool knows_object = true;  // false: the field that stores the replicas is not known
};
// The resource has a scale.
ScaleDemands scale_demands(const catalog::Resource& resource,
                           const schema::ExcludedVerbs& excluded);

}  // namespace cardea::advice

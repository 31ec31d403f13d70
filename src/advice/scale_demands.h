#pragma once
#include <optional>

#include "catalog/catalog.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::advice {

// What a write of the scale of such an object takes, as the server asks for it: a permission on the
// replicas of a Scale, and besides whatever is excluded on the field of the object that holds them.
struct ScaleDemands {
  schema::Demands demands;
  bool knows_object = true;  // false: where the object holds them is not known
};
// The resource has a scale.
ScaleDemands scale_demands(const catalog::Resource& resource,
                           const schema::ExcludedVerbs& excluded);

}  // namespace cardea::advice

#pragma once
#include <string_view>

#include "schema/field_set.h"
#include "schema/managed_fields.h"

namespace cardea::schema {

// The scale subresource is an object of another kind whose spec.replicas is a field of the parent. These two
// carry ownership of that field over and back, so that scaling takes it from whoever applied it.

// Owners of the Scale object: those of the parent who own `replicas` (a path in the parent).
ManagedFields scale_owners(const ManagedFields& parent, const FieldPath& replicas);

// Owners of the parent after the Scale object has been written and has the owners `scale`. New owners come
// in without a time, as they do in Kubernetes.
ManagedFields owners_after_scale(const ManagedFields& parent, const ManagedFields& scale, const FieldPath& replicas,
                                 std::string_view parent_api_version);

}  // namespace cardea::schema

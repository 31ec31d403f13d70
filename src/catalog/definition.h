#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/strategy.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// The kind CustomResourceDefinition: its defaults, its rules and its status. definitions.h has the
// resources that a definition adds to the catalogue. All functions are pure.

// The hooks of the kind: defaults, protection of the status against clients, and the functions
// below.
const Strategy& definition_strategy();

// Fills in names.singular, names.listKind, conversion, the port of a conversion webhook and
// status.storedVersions.
void default_definition(json::Value& definition);

// The errors of a definition, in Kubernetes' words. Paths are those of Kubernetes' internal form:
// parts that are equal in all versions are at `spec.validation`, `spec.subresources`...
json::FieldErrors validate_definition(const json::Value& definition);
json::FieldErrors validate_definition_update(const json::Value& definition, const json::Value& old);

// The definition with the status that follows from the other definitions: acceptedNames and the
// conditions NamesAccepted and Established (and, for groups of the Kubernetes community, the
// condition about approval). A name that another definition of the same group has is not accepted;
// a name that was accepted before stays accepted. Returns the same value if nothing changes.
// `others` may contain the definition itself.
json::Value with_names_accepted(const json::Value& definition, std::span<const json::Value> others,
                                std::string_view now);

// The definition with the condition PermissionsGuarded where versions of it are not served because
// they have excluded permissions, and nothing guards these (`serves_excluded` is false). Without
// the condition where that is not so.
json::Value with_withheld_versions(const json::Value& definition, bool serves_excluded,
                                   std::string_view now);

// The first step of a deletion: a timestamp, the finalizer that waits for the instances, and the
// condition Terminating.
json::Value marked_for_deletion(const json::Value& definition, std::string_view now);
inline constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// Sets a condition of a status. The time of the condition changes only if its status changes.
void set_condition(json::Value& definition, std::string_view type, std::string_view status,
                   std::string_view reason, std::string_view message, std::string_view now);
const json::Value* find_condition(const json::Value& definition, std::string_view type);

}  // namespace cardea::catalog

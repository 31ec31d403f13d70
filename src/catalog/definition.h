#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/strategy.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// The kind CustomResourceDefinition itself: its defaults, its rules and its status. What a
// definition adds to the catalogue is in definitions.h. All functions are pure.

// The hooks: defaults, protection of the status against clients, and all the functions below.
const Strategy& definition_strategy();

// Fills in names.singular, names.listKind, conversion, the port of a conversion webhook and
// status.storedVersions.
void default_definition(json::Value& definition);

// What is wrong with a definition, in Kubernetes' words. Paths are those of its internal form: what
// all versions have in common stands at `spec.validation`, `spec.subresources`...
json::FieldErrors validate_definition(const json::Value& definition);
json::FieldErrors validate_definition_update(const json::Value& definition, const json::Value& old);

// The definition with the status that follows from the others: acceptedNames and the conditions
// NamesAccepted and Established (and, for the groups of the Kubernetes community, the conformance
// of its approval). A name that another definition of the same group has is not accepted; one that
// was accepted before stays. Gives back the same value when nothing changes. `others` may contain
// the definition itself.
json::Value with_names_accepted(const json::Value& definition, std::span<const json::Value> others,
                                std::string_view now);

// The first step of deletion: a timestamp, the finalizer that waits for the instances, the
// condition Terminating.
json::Value marked_for_deletion(const json::Value& definition, std::string_view now);
inline constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// Sets a condition of a status; its time moves only when its status does.
void set_condition(json::Value& definition, std::string_view type, std::string_view status,
                   std::string_view reason, std::string_view message, std::string_view now);
const json::Value* find_condition(const json::Value& definition, std::string_view type);

}  // namespace cardea::catalog

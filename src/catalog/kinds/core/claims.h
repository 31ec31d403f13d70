#pragma once
#include <string_view>

#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// The spec of a PersistentVolumeClaim, and claim templates as pods (ephemeral volumes) and
// StatefulSets hold them. The defaults have been filled in.
void validate_claim_spec(const json::Value& spec, const Path& path, json::FieldErrors& out);
void validate_claim_template(const json::Value& claim_template, const Path& path,
                             json::FieldErrors& out);

// Protects objects in use: adds a finalizer, which a controller removes when the object is no
// longer used.
void protect_storage(json::Value& object, std::string_view finalizer);

// The data source of a claim: the newer and the older field show the same reference.
void default_claim_data_source(json::Value& spec);

}  // namespace cardea::catalog

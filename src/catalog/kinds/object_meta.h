#pragma once
#include <string>

#include "catalog/kinds/names.h"
#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// The rules of `metadata`. The name has been generated before. All functions append to `out` and
// are pure.

// The rules for every object, custom resources included.
void validate_object_meta(const json::Value& meta, bool namespaced, NameCheck name,
                          const Path& path, json::FieldErrors& out);
// `old` is the stored metadata. The caller checks the resourceVersion.
void validate_object_meta_update(const json::Value& meta, const json::Value& old, const Path& path,
                                 json::FieldErrors& out);

// An additional rule for Kubernetes' own kinds: a finalizer without a domain must be one of the
// standard ones. The hooks validate_create and validate_update of a kind call this first.
void validate_kind_meta(const json::Value& object, bool namespaced, NameCheck name,
                        json::FieldErrors& out);
void validate_kind_meta_update(const json::Value& object, const json::Value& old,
                               json::FieldErrors& out);

void validate_labels(const json::Value& labels, const Path& path, json::FieldErrors& out);
void validate_annotations(const json::Value& annotations, const Path& path, json::FieldErrors& out);
void validate_finalizer_name(std::string_view name, const Path& path, json::FieldErrors& out);

// Small rules that many kinds share.
void validate_nonnegative(const json::Value& value, const Path& path,
                          json::FieldErrors& out);  // absent is fine
void validate_immutable(const json::Value& value, const json::Value& old, const Path& path,
                        json::FieldErrors& out);

// An object as JSON with its members in the given order. Members that are not named come last, by
// key. So a type with these members in this order prints them.
std::string print_in_order(const json::Value& object,
                           std::initializer_list<std::string_view> order);

}  // namespace cardea::catalog

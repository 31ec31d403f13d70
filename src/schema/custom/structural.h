#pragma once
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

// Makes a schema of what a CustomResourceDefinition says in `schema.openAPIV3Schema`.
//
// The definition must have passed check_custom_schema; of one that has not, what makes no sense is
// left out. The nodes live in `set` and keep their OpenAPI source, with their value validations
// ready in `rules`.
//
// `object_meta` is the built-in type of `metadata`; where it is given, the root and every embedded
// resource have `apiVersion`, `kind` and `metadata` of their real types, with the definition's own
// restrictions of `metadata.name` and `metadata.generateName` in place.
const Schema* build_structural(SchemaSet& set, const json::Value& open_api,
                               const Schema* object_meta);

}  // namespace cardea::schema

#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/parse.h"
#include "json/value.h"
#include "schema/schema.h"
#include "schema/wire/decode.h"

namespace cardea::schema {

struct Pruned {
  json::Value value;
  std::vector<std::string> unknown;  // paths of what was dropped, sorted
};

// Drops the fields that a custom resource's schema does not know. At the root (and in embedded
// resources) apiVersion, kind and metadata stay as they are.
Pruned prune(const Schema& schema, const json::Value& value, bool root);

// Drops nulls where the schema allows none and has no default for them.
json::Value prune_nulls(const Schema& schema, const json::Value& value);

// Gives the metadata of embedded resources the form of the built-in type, and notes what it does
// not know. The root is not touched. An error when metadata, apiVersion or kind cannot be read.
Result<Pruned> coerce_embedded(const Schema& schema, const Schema& object_meta,
                               const json::Value& value);

// Reads the body of a custom resource: metadata as the built-in type holds it, then everything
// above in Kubernetes' order. Defaults are not applied. `strict` holds duplicate and unknown fields
// as in decode().
Result<Decoded> decode_custom(const Schema& schema, const Schema& object_meta,
                              const json::Document& document, std::string_view text);

}  // namespace cardea::schema

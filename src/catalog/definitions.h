#pragma once
#include <deque>
#include <memory>
#include <string_view>

#include "catalog/catalog.h"
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::catalog {

// The resources that one CustomResourceDefinition adds to a catalogue: its served versions, with
// their schemas and hooks. Immutable, and shared by every catalogue that has the definition.
struct Definition {
  json::Value source;
  std::deque<Resource> resources;  // one for each served version
  std::unique_ptr<Resource> unserved_storage;
  std::deque<Strategy> strategies;
  schema::SchemaSet schemas;
};

// True when the definition's names were accepted and it is ready to be served.
bool is_established(const json::Value& definition);

// `types` gives the schema of `metadata`. Versions with excluded permissions are left out unless
// `serves_excluded`; so are all other versions if the stored version has excluded permissions.
std::shared_ptr<const Definition> read_definition(const json::Value& definition,
                                                  const BuiltinTypes& types, bool serves_excluded);

}  // namespace cardea::catalog

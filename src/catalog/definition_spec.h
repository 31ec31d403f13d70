#pragma once
#include <set>
#include <string>
#include <string_view>

#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/value.h"

// The parts of the rules of CustomResourceDefinitions. Other files call definition.h. All functions
// append to `out`.
namespace cardea::catalog {

// Parts that each version may have or, in the internal form of a definition, that stand once for
// all versions: the schema, subresources, additionalPrinterColumns and selectableFields, each if it
// is equal in all versions.
class SharedByVersions {
 public:
  explicit SharedByVersions(const json::Value& versions);
  bool has(std::string_view key) const { return keys_.contains(key); }

 private:
  std::set<std::string, std::less<>> keys_;
};

void validate_definition_spec(const json::Value& spec, const json::Value* old,
                              json::FieldErrors& out);
void validate_definition_names(const json::Value& names, const Path& path, json::FieldErrors& out);
void validate_conversion(const json::Value& conversion, const Path& path, json::FieldErrors& out);

// The list as messages show it: with the names of Kubernetes' internal type, and without the parts
// that all versions share.
std::string shown_versions(const json::Value& versions, const SharedByVersions& shared);

}  // namespace cardea::catalog

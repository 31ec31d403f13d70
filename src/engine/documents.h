#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "authz/access/index.h"
#include "base/result.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::engine {

inline constexpr std::size_t kLargestText = 64 << 20;  // that is read at once, aliases expanded

// One object in JSON or YAML, strictly: no key twice, no second document.
Result<json::Value> read_object(std::string_view text);
// Several: separated by `---`, or in a List.
Result<std::vector<json::Value>> read_objects(std::string_view text);

// The resources that an engine knows from the beginning. Their rules are those of the kinds that it
// takes.
const std::shared_ptr<const catalog::Catalog>& known_resources();

// A document that an engine takes.
struct Document {
  enum class Sort {
    kRole,  // or a ClusterRole
    kBinding,
    kAccessPolicy,
    kPolicy,  // of a namespace, with the roles in it
    kPolicyBinding,
    kUncovered,
    kPermissionMap,
    kDefinition,
  };
  Sort sort = Sort::kRole;
  std::string namespace_name, name;  // an empty namespace: of the whole cluster
  std::string key;                   // tells documents apart
  json::Value object;
  authz::access::PolicyPtr access_policy;  // of an access policy: compiled
};

// What a document is, by its apiVersion, kind and metadata alone.
Result<Document> identified(json::Value object, std::string_view master);
// The same with everything checked, as an API server checks what is written, and in the form that
// it would be stored in.
Result<Document> checked(json::Value object, std::string_view master);

}  // namespace cardea::engine

#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog::openapi {
class PublishedPermissions;
}

namespace cardea::catalog {

// The documents below /openapi/v3: "api", "apis", "version", "api/v1", "apis/apps", "apis/apps/v1".
std::vector<std::string> openapi_v3_paths(const Catalog& catalog);

// One of these documents; nullopt if there is none at this path.
std::optional<json::Value> openapi_v3(const Catalog& catalog, std::string_view path);
// The same for a caller that has the permissions on fields already.
std::optional<json::Value> openapi_v3(const Catalog& catalog, std::string_view path,
                                      const openapi::PublishedPermissions& permissions);

// One of them as the Protobuf message openapi.v3.Document of gnostic.
std::string openapi_v3_protobuf(const json::Value& document);

}  // namespace cardea::catalog

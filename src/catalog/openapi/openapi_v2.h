#pragma once
#include <string>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog::openapi {
class PublishedPermissions;
}

namespace cardea::catalog {

// The whole API in one document, the answer to /openapi/v2.
json::Value openapi_v2(const Catalog& catalog);
// The same for a caller that has the permissions on fields already.
json::Value openapi_v2(const Catalog& catalog, const openapi::PublishedPermissions& permissions);

// The same document as the Protobuf message openapi.v2.Document of gnostic.
std::string openapi_v2_protobuf(const json::Value& document);

}  // namespace cardea::catalog

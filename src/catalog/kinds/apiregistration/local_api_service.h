#pragma once
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog {

// APIServices without a service: this server itself serves the version of the group. They have
// kube-aggregator's label, which says that servers make and delete them.

// For each built-in version of a group, except those that only describe APIServices.
std::vector<json::Value> built_in_api_services(const Catalog& catalog);

// `name` is "VERSION.GROUP".
json::Value api_service_of_definition(std::string_view name);
// Whether api_service_of_definition made it, and nobody changed it to name a service.
bool is_of_definition(const json::Value& api_service);

}  // namespace cardea::catalog

#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "rest/aggregation/api_service.h"

namespace cardea::rest {

// How a server behind this one describes itself.
struct BackendDocuments {
  bool is_current = false;  // the last attempt to read them succeeded
  json::Value resources;    // as aggregated discovery lists them; null: not known
  json::Value openapi_v3;   // the entry of /openapi/v3 for this version; null: none
  json::Value openapi_v2;   // null: none
  std::string openapi_v2_etag;
};

// One APIService and what is known of the server behind it.
struct Described {
  ApiService service;
  BackendDocuments documents;  // of one that names a service
};

// The description of all groups: what this server says of itself, with the versions of other
// servers among them. Pure functions. `all` are all APIServices, local ones for their priorities.
//
// Groups stand in the order of the highest groupPriorityMinimum of their APIServices, then of their
// names; groups of this server that have no APIService keep their place. Versions stand in the
// order of versionPriority, then in Kubernetes' order of versions.

json::Value merged_group_list(json::Value own, const std::vector<Described>& all);  // /apis
// /apis/<group>; nullopt: there is no such group.
std::optional<json::Value> merged_group(std::optional<json::Value> own, std::string_view group,
                                        const std::vector<Described>& all);
// APIGroupDiscoveryList. Versions whose server did not answer are stale, and have no resources.
json::Value merged_discovery(json::Value own, const std::vector<Described>& all);
// /openapi/v3
json::Value merged_openapi_v3(json::Value own, const std::vector<Described>& all);
// /openapi/v2: the paths of each other server's own versions, and the definitions these use. A
// definition that differs from one of the same name gets another name.
json::Value merged_openapi_v2(json::Value own, const std::vector<Described>& all);

// The resources of an APIResourceList in the form of aggregated discovery.
Result<json::Value> discovered_resources(const json::Value& list);

// The entry of a backend's own index of OpenAPI v3 documents for this version; null: none. Its URL
// stays within /openapi/v3/.
json::Value openapi_v3_entry(const json::Value& index, const ApiService& service);

}  // namespace cardea::rest

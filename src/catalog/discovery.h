#pragma once
#include <optional>
#include <string_view>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog {

// The server's description of its groups, versions and resources. Pure functions of a
// catalogue.

json::Value api_versions(std::string_view server_address);                        // /api
json::Value group_list(const Catalog& catalog);                                   // /apis
std::optional<json::Value> group(const Catalog& catalog, std::string_view name);  // /apis/<group>
std::optional<json::Value> resource_list(const Catalog& catalog, std::string_view group,
                                         std::string_view version);  // /api/v1,
                                                                     // /apis/<group>/<version>

// Some groups have a further version in which nothing is stored, for servers that are configured to
// use it (AuthorizationConditionsReview). It is served and described, but the list of the group's
// versions is the same as in Kubernetes.
bool is_listed(const Group& group, const Version& version);

// Everything in one document, APIGroupDiscoveryList of apidiscovery.k8s.io/v2: the core group alone
// (/api), or all others (/apis).
json::Value aggregated_discovery(const Catalog& catalog, bool core);
// The same document in Kubernetes' Protobuf.
std::string aggregated_discovery_protobuf(const Catalog& catalog, const json::Value& document);

// Which form an Accept header requests at /api and /apis.
enum class DiscoveryForm { kPlain, kAggregated, kAggregatedProtobuf, kNotAcceptable };
DiscoveryForm discovery_form(std::string_view accept);

inline constexpr std::string_view kAggregatedDiscoveryType =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
inline constexpr std::string_view kAggregatedProtobufType =
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

// Clients see by this hash that objects are now stored in another version.
std::string storage_version_hash(const Resource& resource);

}  // namespace cardea::catalog

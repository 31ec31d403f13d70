#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/builtin_types.h"
#include "catalog/catalog.h"

namespace cardea::catalog::openapi {

// The HTTP operations of a resource, in a form from which both OpenAPI versions are written.

struct Parameter {
  std::string_view name;
  std::string_view type;
};

struct Operation {
  std::string_view method;  // "get"
  std::string_view action;  // "list", "post"...: Kubernetes' own word for the operation; may be
                            // empty
  std::string id;           // "listCoreV1NamespacedPod"
  std::string description;
  std::span<const Parameter> query;
  std::string body;  // type of the request body; empty: none
  bool body_required = false;
  std::string answer;      // type of the answer; empty: plain text
  std::vector<int> codes;  // of the answer, besides 401
  bool is_patch = false;
  bool strategic = false;  // the patch may be a strategic merge patch
  GroupVersionKind kind;   // kind.kind empty: none
};

struct Path {
  std::string path;
  std::string tag;  // "apps_v1"
  bool has_name = false, has_namespace = false;
  std::vector<Operation> operations;
};

// The name of a resource's type in OpenAPI: "io.k8s.api.core.v1.Pod", "com.example.v1.Widget".
std::string type_name(const Resource& resource);
std::string list_type_name(const Resource& resource);

// The events of a watch. No operation answers with them: a watch is a list with a parameter.
inline constexpr std::string_view kWatchEvent = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";

std::vector<Path> paths_of(const Resource& resource);

// The paths at which the server describes itself: /version/, /api/ and /apis/, a group, a version.
Path version_path();
Path core_discovery_path();
Path groups_discovery_path();
Path discovery_path(const Group& group);  // not of the core group, which has no such path
Path discovery_path(const Group& group, const Version& version);
// Whether the server itself serves resources of the group. Groups of custom resources alone are
// published without the paths of their discovery documents.
bool has_builtin(const Group& group);

}  // namespace cardea::catalog::openapi

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

// "AppsV1", "CoreV1", "ExampleComV1": a part of operation identifiers.
std::string group_identifier(std::string_view group);

std::vector<Path> paths_of(const Resource& resource);
// The discovery document at the root of a group's version, a group, or everything.
Path discovery_path(std::string path, std::string tag, std::string id, std::string answer);

}  // namespace cardea::catalog::openapi

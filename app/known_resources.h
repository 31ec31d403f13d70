#pragma once
#include <map>
#include <string>
#include <vector>

#include "advice/known_resources.h"

namespace cardea::app {

class KubeClient;
struct Target;

// What commands know of resources: the built-in ones, and custom ones that a file or a server
// described. Used by one thread.
class KnownResources : public advice::KnownResources {
 public:
  // Adds a CustomResourceDefinition, YAML or JSON, and returns its name: "widgets.example.com".
  // Invalid tags are an error.
  Result<std::string> add_file(const std::string& path);
  // The resource as the server publishes it in OpenAPI, which every user may read, even without
  // the permission to read definitions. With the permissions that PermissionMaps add there. The
  // resources that it gave before are not good any more.
  Result<const catalog::Resource*> learn(KubeClient& server, const Target& target);

 private:
  std::map<std::string, std::vector<json::Value>> maps_;  // by resource: group, version and name
};

// A whole file; `-` is standard input.
Result<std::string> read_input(const std::string& path);

}  // namespace cardea::app

#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/strategy.h"
#include "json/value.h"
#include "schema/permissions/permissions.h"
#include "schema/schema.h"

namespace cardea::catalog {

class BuiltinTypes;
class PermissionMaps;

struct Column {  // one column that `kubectl get` shows
  std::string name;
  std::string type;
  std::string format;
  std::string description;
  int priority = 0;       // above 0: only with -o wide
  std::string json_path;  // custom resources
};

struct Subresource {
  std::string name;                  // "status", "scale", "eviction"
  std::string group, version, kind;  // of the body, where it differs from the parent's
  std::vector<std::string> verbs;
  const schema::Schema* schema = nullptr;  // of the body; null for options that are only query
                                           // parameters
};

// One resource in one served version: everything a handler needs to know about it. Immutable.
struct Resource {
  std::string group, version;  // "" and "v1" for the core group
  std::string name;            // "deployments"
  std::string singular, kind, list_kind;
  std::vector<std::string> short_names, categories;
  bool namespaced = true;
  std::vector<std::string> verbs;
  std::vector<Subresource> subresources;
  const schema::Schema* schema = nullptr;  // of the whole object; lives as long as the Catalog
  std::shared_ptr<const schema::PermissionTree> permissions;  // on its fields; never null once in a
                                                              // catalogue
  std::vector<Column> columns;                                // empty: Name and Age
  const Strategy* strategy = nullptr;                         // never null once in a catalogue

  // The key prefix of stored objects, in Kubernetes' layout: "/registry/deployments/",
  // "/registry/services/specs/", "/registry/example.com/widgets/". All versions of one resource
  // share it, and so do the two groups of Events. `storage_version` names the group/version in
  // which objects are stored. An empty prefix: objects are not stored (reviews, bindings).
  std::string storage_prefix;
  std::string storage_group, storage_version;

  bool is_off = false;        // clients are told that it does not exist; the server itself uses it
  bool has_protobuf = false;  // Kubernetes' own: other objects are written in JSON and YAML alone
  bool is_custom = false;
  bool is_converted_by_webhook = false;  // between its versions (catalog/conversion.h)
  // The stored version, if it is not served.
  const Resource* unserved_storage = nullptr;
  json::Value definition;      // the CustomResourceDefinition, when is_custom
  json::Value custom_version;  // its spec.versions[] entry
  std::string called;          // the name in errors, if it is not `name`
  std::string deprecation;     // a warning to clients that use a built-in resource
  std::string singular_or_kind() const { return singular.empty() ? kind : singular; }

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  std::string qualified_name() const { return group.empty() ? name : name + "." + group; }
  bool has_verb(std::string_view verb) const;
  // Its objects are not stored, but found out when they are read (ComponentStatus).
  bool is_computed() const { return storage_prefix.empty() && has_verb("get"); }
  const Subresource* subresource(std::string_view name) const;
};

struct Version {
  std::string name;
  std::vector<const Resource*> resources;  // in discovery order
};

struct Group {
  std::string name;
  std::vector<Version> versions;  // preferred first
};

// Every resource that is served at one moment. The snapshot is immutable. Readers keep a shared_ptr
// while they use it; writers build the next one.
class Catalog {
 public:
  // The built-in resources. Those of a feature are included only if the feature is named. Without
  // FineGrainedAuthorization, versions of custom resources with excluded permissions are not
  // served, because nothing would enforce them. `strategies` gives the rules of each kind: by
  // default those of all kinds. A program that needs only some kinds gives others, and so does not
  // link the rest.
  // Resources that `is_off` names are found, and are not in groups().
  using Strategies = const Strategy* (*)(std::string_view group, std::string_view kind);
  using IsOff = std::function<bool(const Resource&)>;
  static std::shared_ptr<const Catalog> builtin(const std::vector<std::string>& features = {},
                                                Strategies strategies = builtin_strategy,
                                                const IsOff& is_off = {});

  // This catalogue with the given CustomResourceDefinitions instead of its own. Definitions that
  // are not Established are left out. The new catalogue shares everything that did not change, so
  // the cost is that of the changed definitions.
  std::shared_ptr<const Catalog> with_definitions(
      const std::vector<json::Value>& definitions) const;

  // This catalogue with these permissions added to the fields of its resources, instead of those
  // that were added before. What a map says about a resource that is not served counts as soon as
  // it is. The cost is that of the resources whose permissions change.
  std::shared_ptr<const Catalog> with_permission_maps(
      std::shared_ptr<const PermissionMaps> maps) const;
  // Never null. A catalogue with other definitions has the same.
  const std::shared_ptr<const PermissionMaps>& permission_maps() const;

  const Resource* find(std::string_view group, std::string_view version,
                       std::string_view name) const;
  const Resource* find_kind(std::string_view group, std::string_view version,
                            std::string_view kind) const;
  // The version in which objects of this resource are stored.
  const Resource* storage_of(const Resource& resource) const;
  const std::vector<Group>& groups() const;  // that are served; the core group first, named ""
  // With resources that are off: for everything that protects what is stored. In no order.
  const std::vector<Group>& all_groups() const;
  // A built-in type by its OpenAPI name ("io.k8s.api.autoscaling.v1.Scale"); nullptr when unknown.
  const schema::Schema* type(std::string_view name) const;
  // The type of a built-in kind, resource or not: DeleteOptions, Scale, Status, PodList.
  const schema::Schema* kind_type(std::string_view group, std::string_view version,
                                  std::string_view kind) const;
  const BuiltinTypes& types() const;
  // No two catalogues of one process have the same value. For ETags and caches.
  std::uint64_t generation() const;

  Catalog();
  ~Catalog();

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace cardea::catalog

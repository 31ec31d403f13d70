#pragma once
#include <cstdint>
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

  // Where objects rest, as Kubernetes lays out its keys: "/registry/deployments/",
  // "/registry/services/specs/", "/registry/example.com/widgets/". Versions of one resource share
  // it, and so do the two faces of Events. `storage_version` names the group/version objects are
  // stored in. Empty prefix: not stored (reviews, bindings).
  std::string storage_prefix;
  std::string storage_group, storage_version;

  bool is_custom = false;
  // The stored version, where it is not served.
  const Resource* unserved_storage = nullptr;
  json::Value definition;      // the CustomResourceDefinition, when is_custom
  json::Value custom_version;  // its spec.versions[] entry
  std::string called;          // in errors, where that is not `name`
  std::string deprecation;     // a built-in resource's warning to its users
  std::string singular_or_kind() const { return singular.empty() ? kind : singular; }

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  std::string qualified_name() const { return group.empty() ? name : name + "." + group; }
  bool has_verb(std::string_view verb) const;
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

// Every resource that is served at one moment. An immutable snapshot: readers keep a shared_ptr
// while they work with it, writers build the next one.
class Catalog {
 public:
  // The built-in resources; those of a feature only when the feature is named. Without
  // FineGrainedAuthorization, versions of custom resources with excluded permissions are not
  // served, because nothing would enforce them.
  // `strategies` gives the rules of each kind: those of all kinds, unless somebody needs few of
  // them and would not be linked with the others.
  using Strategies = const Strategy* (*)(std::string_view group, std::string_view kind);
  static std::shared_ptr<const Catalog> builtin(const std::vector<std::string>& features = {},
                                                Strategies strategies = builtin_strategy);

  // This catalogue with the given CustomResourceDefinitions instead of the ones it had. Those that
  // are not Established are left out. What did not change is shared with this catalogue, so the
  // cost is that of the definitions that did.
  std::shared_ptr<const Catalog> with_definitions(
      const std::vector<json::Value>& definitions) const;

  const Resource* find(std::string_view group, std::string_view version,
                       std::string_view name) const;
  const Resource* find_kind(std::string_view group, std::string_view version,
                            std::string_view kind) const;
  // The version in which objects of this resource are stored.
  const Resource* storage_of(const Resource& resource) const;
  const std::vector<Group>& groups() const;  // the core group first, named ""
  // A built-in type by its OpenAPI name ("io.k8s.api.autoscaling.v1.Scale"); nullptr when unknown.
  const schema::Schema* type(std::string_view name) const;
  // The type of a built-in kind, resource or not: DeleteOptions, Scale, Status, PodList.
  const schema::Schema* kind_type(std::string_view group, std::string_view version,
                                  std::string_view kind) const;
  const BuiltinTypes& types() const;
  // Differs between any two catalogues of a process; for ETags and caches.
  std::uint64_t generation() const;

  Catalog();
  ~Catalog();

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace cardea::catalog

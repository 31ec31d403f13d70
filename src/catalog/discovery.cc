#include "catalog/discovery.h"

#include <algorithm>

#include "base/strings.h"
#include "crypto/digest.h"

namespace cardea::catalog {

using json::Value;

namespace {

Value list_of(const std::vector<std::string>& texts) {
  std::vector<Value> out(texts.begin(), texts.end());
  return Value::array(std::move(out));
}

Value version_reference(const Group& group, const Version& version) {
  return Value::object(
      {{"groupVersion", cat(group.name, "/", version.name)}, {"version", version.name}});
}

Value describe(const Group& group) {
  Value versions = Value::array();
  for (const Version& version : group.versions)
    if (is_listed(group, version)) versions.push_back(version_reference(group, version));
  return Value::object(
      {{"name", group.name}, {"preferredVersion", versions[0]}, {"versions", versions}});
}

const Group* find_group(const Catalog& catalog, std::string_view name) {
  auto at = std::ranges::find(catalog.groups(), name, &Group::name);
  return at == catalog.groups().end() ? nullptr : &*at;
}

void describe(const Resource& resource, Value& out) {
  Value self = Value::object({{"name", resource.name},
                              {"singularName", resource.singular},
                              {"namespaced", resource.namespaced},
                              {"kind", resource.kind},
                              {"verbs", list_of(resource.verbs)}});
  if (!resource.short_names.empty()) self.set("shortNames", list_of(resource.short_names));
  if (!resource.categories.empty()) self.set("categories", list_of(resource.categories));
  if (std::string hash = storage_version_hash(resource); !hash.empty())
    self.set("storageVersionHash", hash);
  out.push_back(std::move(self));
  for (const Subresource& sub : resource.subresources) {
    Value entry = Value::object({{"name", cat(resource.name, "/", sub.name)},
                                 {"singularName", ""},
                                 {"namespaced", resource.namespaced},
                                 {"kind", sub.kind},
                                 {"verbs", list_of(sub.verbs)}});
    if (!sub.group.empty()) entry.set("group", sub.group);
    if (!sub.version.empty()) entry.set("version", sub.version);
    out.push_back(std::move(entry));
  }
}

// Custom resources show their own group and version here; built-in resources leave them out.
Value response_kind(const Resource& resource, std::string_view group, std::string_view version,
                    std::string_view kind) {
  bool own = version.empty() && resource.is_custom;
  return Value::object({{"group", own ? resource.group : group},
                        {"version", own ? resource.version : version},
                        {"kind", kind}});
}

Value aggregate(const Resource& resource) {
  Value out = Value::object({{"resource", resource.name},
                             {"responseKind", response_kind(resource, "", "", resource.kind)},
                             {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                             {"singularResource", resource.singular},
                             {"verbs", list_of(resource.verbs)}});
  if (!resource.short_names.empty()) out.set("shortNames", list_of(resource.short_names));
  if (!resource.categories.empty()) out.set("categories", list_of(resource.categories));
  if (resource.subresources.empty()) return out;
  Value& subresources = out.set("subresources", Value::array());
  for (const Subresource& sub : resource.subresources)
    subresources.push_back(
        Value::object({{"subresource", sub.name},
                       {"responseKind", response_kind(resource, sub.group, sub.version, sub.kind)},
                       {"verbs", list_of(sub.verbs)}}));
  return out;
}

Value aggregate(const Group& group) {
  Value versions = Value::array();
  for (const Version& version : group.versions) {
    if (!is_listed(group, version)) continue;
    Value resources = Value::array();
    for (const Resource* resource : version.resources) resources.push_back(aggregate(*resource));
    versions.push_back(Value::object(
        {{"version", version.name}, {"resources", resources}, {"freshness", "Current"}}));
  }
  Value metadata = Value::object();
  if (!group.name.empty()) metadata.set("name", group.name);
  return Value::object({{"metadata", metadata}, {"versions", versions}});
}

// One alternative of an Accept header.
struct Clause {
  std::string_view type;
  double weight = 1;
  std::string_view as, group, version;
};

Clause read_clause(std::string_view text) {
  auto parts = split(text, ';');
  Clause out{.type = trim(parts[0])};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    auto part = trim(parts[i]);
    auto equals = part.find('=');
    if (equals == part.npos) continue;
    auto name = trim(part.substr(0, equals)), value = trim(part.substr(equals + 1));
    if (name == "as") out.as = value;
    if (name == "g") out.group = value;
    if (name == "v") out.version = value;
    if (name == "q") out.weight = std::strtod(std::string(value).c_str(), nullptr);
  }
  return out;
}

}  // namespace

std::string storage_version_hash(const Resource& resource) {
  if (resource.storage_prefix.empty() || !resource.has_verb("watch")) return "";
  std::string_view version = resource.storage_version;
  return base64(
      crypto::sha256(cat(resource.storage_group, "/", version, "/", resource.kind)).substr(0, 8));
}

Value api_versions(std::string_view server_address) {
  Value address = Value::object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", server_address}});
  return Value::object({{"kind", "APIVersions"},
                        {"versions", Value::array({"v1"})},
                        {"serverAddressByClientCIDRs", Value::array({address})}});
}

Value group_list(const Catalog& catalog) {
  Value groups = Value::array();
  for (const Group& group : catalog.groups())
    if (!group.name.empty()) groups.push_back(describe(group));
  return Value::object({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", groups}});
}

bool is_listed(const Group& group, const Version& version) {
  auto rests = [](const Resource* resource) { return !resource->storage_prefix.empty(); };
  return &version == &group.versions.front() || std::ranges::any_of(version.resources, rests);
}

std::optional<Value> group(const Catalog& catalog, std::string_view name) {
  const Group* found = name.empty() ? nullptr : find_group(catalog, name);
  if (!found) return std::nullopt;
  Value out = describe(*found);
  out.set("kind", "APIGroup");
  out.set("apiVersion", "v1");
  return out;
}

std::optional<Value> resource_list(const Catalog& catalog, std::string_view group_name,
                                   std::string_view version_name) {
  const Group* found = find_group(catalog, group_name);
  if (!found) return std::nullopt;
  auto version = std::ranges::find(found->versions, version_name, &Version::name);
  if (version == found->versions.end()) return std::nullopt;
  Value resources = Value::array();
  for (const Resource* resource : version->resources) describe(*resource, resources);
  Value out = Value::object({{"kind", "APIResourceList"}, {"resources", resources}});
  // The list of the core group is older than versions of lists.
  if (!group_name.empty()) out.set("apiVersion", "v1");
  out.set("groupVersion",
          group_name.empty() ? std::string(version_name) : cat(group_name, "/", version_name));
  return out;
}

Value aggregated_discovery(const Catalog& catalog, bool core) {
  Value items = Value::array();
  for (const Group& group : catalog.groups())
    if (group.name.empty() == core) items.push_back(aggregate(group));
  return Value::object({{"kind", "APIGroupDiscoveryList"},
                        {"apiVersion", "apidiscovery.k8s.io/v2"},
                        {"metadata", Value::object()},
                        {"items", items}});
}

DiscoveryForm discovery_form(std::string_view accept) {
  if (trim(accept).empty()) return DiscoveryForm::kPlain;
  std::vector<Clause> clauses;
  for (std::string_view part : split(accept, ',')) clauses.push_back(read_clause(part));
  std::ranges::stable_sort(clauses, std::greater<>(), &Clause::weight);
  for (const Clause& clause : clauses) {
    bool any = clause.type == "*/*" || clause.type == "application/*";
    bool is_protobuf = clause.type == "application/vnd.kubernetes.protobuf";
    if (!any && !is_protobuf && clause.type != "application/json" &&
        clause.type != "application/yaml")
      continue;
    if (clause.as.empty()) return DiscoveryForm::kPlain;
    if (clause.as == "APIGroupDiscoveryList" && clause.group == "apidiscovery.k8s.io" &&
        clause.version == "v2")
      return is_protobuf ? DiscoveryForm::kAggregatedProtobuf : DiscoveryForm::kAggregated;
  }
  return DiscoveryForm::kNotAcceptable;
}

}  // namespace cardea::catalog

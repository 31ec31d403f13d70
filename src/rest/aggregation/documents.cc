#include "rest/aggregation/documents.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "catalog/versions.h"

namespace cardea::rest {

using json::Value;

namespace {

bool is_remote(const Described& d) {
  return d.service.service.has_value() && !d.service.group.empty();
}

const Described* find(const std::vector<Described>& all, std::string_view group,
                      std::string_view version) {
  for (const Described& d : all)
    if (d.service.group == group && d.service.version == version) return &d;
  return nullptr;
}

std::int64_t priority_of(const std::vector<Described>& all, std::string_view group) {
  std::int64_t out = 0;
  for (const Described& d : all)
    if (d.service.group == group) out = std::max(out, d.service.group_priority);
  return out;
}

// Names of versions, in the order of their priorities.
void sort_versions(const std::vector<Described>& all, std::string_view group,
                   std::vector<std::string>& versions) {
  std::ranges::stable_sort(versions, [&](const std::string& a, const std::string& b) {
    const Described *left = find(all, group, a), *right = find(all, group, b);
    const std::int64_t first = left ? left->service.version_priority : 0;
    const std::int64_t second = right ? right->service.version_priority : 0;
    return first != second ? first > second : catalog::version_before(a, b);
  });
}

std::set<std::string> remote_groups(const std::vector<Described>& all) {
  std::set<std::string> out;
  for (const Described& d : all)
    if (is_remote(d)) out.insert(d.service.group);
  return out;
}

std::string_view plain_name(const Value& group) {
  return group["name"].as_string();
}
std::string_view discovered_name(const Value& group) {
  return group["metadata"]["name"].as_string();
}

// Puts `group` where its priority says: before the first one that comes after it.
void insert_group(std::vector<Value>& groups, Value group, std::string_view name,
                  const std::vector<Described>& all, std::string_view (*name_of)(const Value&)) {
  const std::int64_t priority = priority_of(all, name);
  auto at = std::ranges::find_if(groups, [&](const Value& other) {
    const std::int64_t theirs = priority_of(all, name_of(other));
    if (theirs == 0) return false;  // it keeps its place
    return theirs != priority ? theirs < priority : name_of(other) > name;
  });
  groups.insert(at, std::move(group));
}

Value version_reference(std::string_view group, std::string_view version) {
  return Value::object({{"groupVersion", cat(group, "/", version)}, {"version", version}});
}

// `own` is null where this server has no version of the group.
Value described_group(const Value& own, std::string_view group, const std::vector<Described>& all) {
  std::vector<std::string> versions;
  auto add = [&versions](std::string_view version) {
    if (std::ranges::find(versions, version) == versions.end()) versions.emplace_back(version);
  };
  for (const Value& version : own["versions"].items()) add(version["version"].as_string());
  for (const Described& d : all)
    if (is_remote(d) && d.service.group == group) add(d.service.version);
  sort_versions(all, group, versions);
  Value list = Value::array();
  for (const std::string& version : versions) list.push_back(version_reference(group, version));
  return Value::object({{"name", group}, {"preferredVersion", list[0]}, {"versions", list}});
}

Value discovered_version(const Described& d) {
  Value out = Value::object({{"version", d.service.version}});
  const bool is_current = d.documents.is_current && d.documents.resources.is_array();
  if (is_current) out.set("resources", d.documents.resources);
  out.set("freshness", is_current ? "Current" : "Stale");
  return out;
}

Value discovered_group(const Value& own, std::string_view group,
                       const std::vector<Described>& all) {
  std::map<std::string, Value> by_name;
  for (const Value& version : own["versions"].items())
    by_name.emplace(version["version"].as_string(), version);
  for (const Described& d : all)
    if (is_remote(d) && d.service.group == group)
      by_name.insert_or_assign(d.service.version, discovered_version(d));
  std::vector<std::string> names;
  for (const auto& [name, version] : by_name) names.push_back(name);
  sort_versions(all, group, names);
  Value versions = Value::array();
  for (const std::string& name : names) versions.push_back(by_name.at(name));
  Value metadata = own["metadata"];
  if (!metadata.is_object()) metadata = Value::object({{"name", group}});
  return Value::object({{"metadata", std::move(metadata)}, {"versions", std::move(versions)}});
}

// Replaces the groups of `own` that other servers take part in, and adds those that are theirs.
Value merged_list(Value own, std::string_view member, const std::vector<Described>& all,
                  std::string_view (*name_of)(const Value&),
                  Value (*describe)(const Value&, std::string_view,
                                    const std::vector<Described>&)) {
  std::set<std::string> remote = remote_groups(all);
  if (remote.empty()) return own;
  std::vector<Value> groups;
  for (const Value& group : own[member].items()) {
    const std::string name(name_of(group));
    groups.push_back(remote.erase(name) > 0 ? describe(group, name, all) : group);
  }
  for (const std::string& name : remote)
    insert_group(groups, describe(Value(), name, all), name, all, name_of);
  own.set(member, Value::array(std::move(groups)));
  return own;
}

// --- OpenAPI v2

constexpr std::string_view kDefinition = "#/definitions/";

// Calls `visit` with each text of a `$ref`, and puts what it returns in its place.
Value with_references(const Value& value, const std::function<std::string(std::string_view)>& visit,
                      int depth = 0) {
  constexpr int kDeepest = 100;  // no schema is; what is deeper is left as it is
  if (depth > kDeepest) return value;
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items())
      items.push_back(with_references(item, visit, depth + 1));
    return Value::array(std::move(items));
  }
  if (!value.is_object()) return value;
  Value out = Value::object();
  for (const json::Member& m : value.members()) {
    if (m.key() == "$ref" && m.value.is_string())
      out.set(m.key(), visit(m.value.as_string()));
    else
      out.set(m.key(), with_references(m.value, visit, depth + 1));
  }
  return out;
}

void collect_used(const Value& value, const Value& definitions, std::set<std::string>& used) {
  with_references(value, [&](std::string_view reference) {
    if (reference.starts_with(kDefinition)) {
      const std::string name(reference.substr(kDefinition.size()));
      if (definitions.has(name) && used.insert(name).second)
        collect_used(definitions[name], definitions, used);
    }
    return std::string(reference);
  });
}

bool is_path_of(std::string_view path, const ApiService& service) {
  const std::string root = cat("/apis/", service.group, "/", service.version);
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string free_name(const std::string& name, const Value& taken) {
  for (int i = 2;; ++i)
    if (std::string tried = cat(name, "_v", i); !taken.has(tried)) return tried;
}

void merge_v2(Value& own, const Described& d) {
  const Value& theirs = d.documents.openapi_v2;
  Value paths = Value::object();
  for (const json::Member& m : theirs["paths"].members())
    if (is_path_of(m.key(), d.service)) paths.set(m.key(), m.value);
  std::set<std::string> used;
  collect_used(paths, theirs["definitions"], used);
  std::map<std::string, std::string> renamed;
  for (const std::string& name : used)
    if (own["definitions"].has(name) && own["definitions"][name] != theirs["definitions"][name])
      renamed.emplace(name, free_name(name, own["definitions"]));
  auto rename = [&renamed](std::string_view reference) {
    if (reference.starts_with(kDefinition))
      if (auto at = renamed.find(std::string(reference.substr(kDefinition.size())));
          at != renamed.end())
        return cat(kDefinition, at->second);
    return std::string(reference);
  };
  Value& definitions = own.member("definitions");
  for (const std::string& name : used) {
    const auto at = renamed.find(name);
    definitions.set(at == renamed.end() ? name : at->second,
                    with_references(theirs["definitions"][name], rename));
  }
  Value& own_paths = own.member("paths");
  for (const json::Member& m : paths.members())
    own_paths.set(m.key(), with_references(m.value, rename));
}

}  // namespace

Value merged_group_list(Value own, const std::vector<Described>& all) {
  return merged_list(std::move(own), "groups", all, plain_name, described_group);
}

std::optional<Value> merged_group(std::optional<Value> own, std::string_view group,
                                  const std::vector<Described>& all) {
  if (!remote_groups(all).contains(std::string(group))) return own;
  Value out = described_group(own ? *own : Value(), group, all);
  out.set("kind", "APIGroup");
  out.set("apiVersion", "v1");
  return out;
}

Value merged_discovery(Value own, const std::vector<Described>& all) {
  return merged_list(std::move(own), "items", all, discovered_name, discovered_group);
}

Value merged_openapi_v3(Value own, const std::vector<Described>& all) {
  for (const Described& d : all) {
    if (!is_remote(d)) continue;
    const std::string path = cat("apis/", d.service.group, "/", d.service.version);
    own.member("paths").erase(path);
    if (d.documents.openapi_v3.is_object()) own.member("paths").set(path, d.documents.openapi_v3);
  }
  return own;
}

Value merged_openapi_v2(Value own, const std::vector<Described>& all) {
  for (const Described& d : all)
    if (is_remote(d) && d.documents.openapi_v2.is_object()) merge_v2(own, d);
  return own;
}

Result<Value> discovered_resources(const Value& list) {
  if (!list["resources"].is_array() && !list["resources"].is_null())
    return fail(internal_error("it is no APIResourceList"));
  // Without a group and version where they are those of the list, as kube-apiserver has it.
  auto kind_of = [](const Value& r) {
    return Value::object({{"group", r["group"].as_string()},
                          {"version", r["version"].as_string()},
                          {"kind", r["kind"].as_string()}});
  };
  std::vector<Value> out;
  std::map<std::string, std::size_t, std::less<>> places;
  for (const Value& r : list["resources"].items()) {
    const std::string_view name = r["name"].as_string();
    if (name.empty() || name.contains('/')) continue;
    Value one = Value::object({{"resource", name},
                               {"responseKind", kind_of(r)},
                               {"scope", r["namespaced"].as_bool() ? "Namespaced" : "Cluster"},
                               {"singularResource", r["singularName"].as_string()},
                               {"verbs", r["verbs"].is_array() ? r["verbs"] : Value::array()}});
    for (std::string_view member : {"shortNames", "categories"})
      if (r[member].is_array()) one.set(member, r[member]);
    places.emplace(name, out.size());
    out.push_back(std::move(one));
  }
  for (const Value& r : list["resources"].items()) {
    const std::string_view name = r["name"].as_string();
    const std::size_t slash = name.find('/');
    if (slash == name.npos) continue;
    const auto at = places.find(name.substr(0, slash));
    if (at == places.end()) continue;
    Value& parent = out[at->second];
    if (!parent.has("subresources")) parent.set("subresources", Value::array());
    parent.member("subresources")
        .push_back(Value::object({{"subresource", name.substr(slash + 1)},
                                  {"responseKind", kind_of(r)},
                                  {"verbs", r["verbs"].is_array() ? r["verbs"] : Value::array()}}));
  }
  return Value::array(std::move(out));
}

Value openapi_v3_entry(const Value& index, const ApiService& service) {
  const std::string path = cat("apis/", service.group, "/", service.version);
  const std::string_view url = index["paths"][path]["serverRelativeURL"].as_string();
  const std::string expected = cat("/openapi/v3/", path);
  if (url != expected && !url.starts_with(expected + "?")) return {};
  return Value::object({{"serverRelativeURL", url}});
}

}  // namespace cardea::rest

#include "app/known_resources.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "app/kube_client.h"
#include "base/strings.h"
#include "json/yaml.h"

namespace cardea::app {

using catalog::Resource;
using json::Value;

namespace {

constexpr std::size_t kLargestDefinition = 16 << 20;

// An own description of one version of a resource, as a definition would give it.
Value made_definition(const Target& t, Value schema) {
  Value version = Value::object(
      {{"name", t.version},
       {"served", true},
       {"storage", true},
       {"schema", Value::object({{"openAPIV3Schema", std::move(schema)}})}});
  Value names = Value::object({{"plural", t.resource}, {"kind", t.kind}});
  return Value::object({{"kind", "CustomResourceDefinition"},
                        {"metadata", Value::object({{"name", cat(t.resource, ".", t.group)}})},
                        {"spec", Value::object({{"group", t.group},
                                                {"scope", t.namespaced ? "Namespaced" : "Cluster"},
                                                {"names", names},
                                                {"versions", Value::array({version})}})}});
}

const Value* published_schema(const Value& document, const Target& t) {
  for (const json::Member& m : document["components"]["schemas"].members())
    for (const Value& kind : m.value["x-kubernetes-group-version-kind"].items())
      if (kind["group"].as_string() == t.group && kind["version"].as_string() == t.version &&
          kind["kind"].as_string() == t.kind)
        return &m.value;
  return nullptr;
}

// The PermissionMaps that the schema of a kind tells of, one for each entry.
std::vector<Value> published_maps(const Value& schema, const Target& t) {
  std::vector<Value> out;
  for (const Value& shown : schema["x-kubernetes-permissions"].items()) {
    if (!shown.has("map")) continue;
    Value permissions = Value::array();
    for (const Value& field : shown["fields"].items()) {
      Value entry = Value::object(
          {{"field", field}, {"verb", shown["x-kubernetes-permission-verb"]}});
      constexpr std::pair<std::string_view, std::string_view> kNames[] = {
          {"parameter", "x-kubernetes-permission-parameter"},
          {"parameterTreatment", "x-kubernetes-permission-parameter-treatment"},
          {"parameterExpression", "x-kubernetes-permission-parameter-cel"}};
      for (const auto& [ours, tag] : kNames)
        if (const Value* given = shown.find(tag)) entry.set(ours, *given);
      permissions.push_back(std::move(entry));
    }
    Value spec = Value::object(
        {{"group", t.group}, {"resource", t.resource}, {"permissions", permissions}});
    out.push_back(
        Value::object({{"metadata", Value::object({{"name", shown["map"]}})}, {"spec", spec}}));
  }
  return out;
}

}  // namespace

Result<std::string> read_input(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) return fail(bad_request(cat("cannot read `", path, "`")));
  return text;
}

Result<std::string> KnownResources::add_file(const std::string& path) {
  auto text = read_input(path);
  if (!text) return fail(text.error());
  auto document = json::parse_strict_configuration(*text, kLargestDefinition,
                                                   json::FlowStyle::kAllowed);
  if (!document) return fail(bad_request(cat("`", path, "`: ", document.error().message)));
  auto name = add_definition(std::move(*document));
  if (!name) return fail(bad_request(cat("`", path, "`: ", name.error().message)));
  return name;
}

Result<const Resource*> KnownResources::learn(KubeClient& server, const Target& target) {
  const bool is_known = find(target.group, target.version, target.resource) != nullptr;
  const std::string at = target.group.empty() ? cat("api/", target.version)
                                              : cat("apis/", target.group, "/", target.version);
  auto document = server.call("GET", cat("/openapi/v3/", at));
  if (!document) return fail(document.error());
  const Value* published = published_schema(*document, target);
  if (!published)
    return fail(bad_request(
        cat("the server publishes no schema of `", target.resource, ".", target.group, "`")));
  if (!is_known) {
    Value schema = *published;
    // References to built-in types; what every object has is known.
    for (std::string_view common : {"apiVersion", "kind", "metadata"})
      schema.member("properties").erase(common);
    Value definition = made_definition(target, std::move(schema));
    Value subresources = Value::object();
    auto list = server.call("GET", cat("/", at));
    if (!list) return fail(list.error());
    for (std::string_view sub : {"status", "scale"})
      for (const Value& r : (*list)["resources"].items())
        if (r["name"].as_string() == cat(target.resource, "/", sub))
          subresources.set(sub, Value::object());
    definition.member("spec").member("versions").item(0).set("subresources", subresources);
    if (auto name = add_definition(std::move(definition)); !name) return fail(name.error());
  }
  maps_[cat(at, "/", target.resource)] = published_maps(*published, target);
  std::vector<Value> all;
  for (const auto& [resource, maps] : maps_) all.insert(all.end(), maps.begin(), maps.end());
  set_permission_maps(all);
  return find(target.group, target.version, target.resource);
}

}  // namespace cardea::app

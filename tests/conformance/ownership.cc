#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "catalog/catalog.h"
#include "catalog/scale.h"
#include "conformance/conformance.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/print.h"
#include "schema/custom/defaults.h"
#include "schema/custom/prune.h"
#include "schema/ownership/apply.h"
#include "schema/ownership/managed_fields.h"
#include "schema/ownership/strategic_merge.h"
#include "schema/wire/decode.h"

namespace cardea::conformance {
namespace {

using json::Value;

constexpr std::string_view kNow = "<time>";  // the word for every time in the recordings

// The parts of a path: /apis/apps/v1/namespaces/n/deployments/d/scale?fieldManager=x
struct Target {
  std::string group, version, resource, namespace_name, name, subresource;
  std::map<std::string, std::string> query;

  static std::optional<Target> read(std::string_view path) {
    Target out;
    std::string_view query = path.contains('?') ? path.substr(path.find('?') + 1) : "";
    for (std::string_view pair : split(query, '&'))
      out.query[std::string(pair.substr(0, pair.find('=')))] = pair.contains('=')
                                                                   ? std::string(pair.substr(
                                                                         pair.find('=') + 1))
                                                                   : "";
    auto parts = split(path.substr(1, path.find('?') - 1), '/');
    std::size_t at = 0;
    auto next = [&] { return at < parts.size() ? std::string(parts[at++]) : std::string(); };
    std::string root = next();
    if (root != "api" && root != "apis") return std::nullopt;
    if (root == "apis") out.group = next();
    out.version = next();
    if (at + 2 < parts.size() && parts[at] == "namespaces" && parts[at + 2] != "status" &&
        parts[at + 2] != "finalize") {
      ++at;
      out.namespace_name = next();
    }
    out.resource = next();
    out.name = next();
    out.subresource = next();
    return out;
  }

  std::string key(std::string_view object) const {
    return cat(group, "/", resource, "/", namespace_name, "/", object);
  }
};

// Plays the recorded conversations of one file with the functions of schema/, without a server. It
// keeps the objects that the server would store, and compares each answer that shows managedFields.
class Player {
 public:
  Player(std::string name, Counts& counts) : name_(std::move(name)), counts_(counts) {
    catalog_ = catalog::Catalog::builtin();
  }

  void play(const Value& file) {
    for (const Value& step : file["setup"].items()) run(step);
    for (const Value& step : file["steps"].items()) run(step);
  }

 private:
  struct Call {
    const Value& step;
    Target target;
    const catalog::Resource* resource;
    std::string manager;
    schema::FieldSet reset;
    std::string content_type;
  };

  void run(const Value& step) {
    auto target = Target::read(step["path"].as_string());
    if (!target) return;
    const auto* resource = catalog_->find(target->group, target->version, target->resource);
    if (!resource || !resource->schema) return;
    Call call{step, *target, resource,
              "",   {},      std::string(step["headers"]["Content-Type"].as_string())};
    std::string agent = step["headers"].has("User-Agent")
                            ? std::string(step["headers"]["User-Agent"].as_string())
                            : "golden/1.0";
    call.manager = schema::manager_name(target->query["fieldManager"], agent);
    call.reset = schema::reset_fields(target->group, resource->kind, target->subresource,
                                      resource->is_custom,
                                      resource->subresource("status") != nullptr);
    std::string_view method = step["method"].as_string();
    bool fresh = method == "POST" || method == "PUT";
    if (fresh && lacks_defaults(*resource)) {
      ++counts_.skipped;
      return learn(
          call, target->name.empty() ? step["body"]["metadata"]["name"].as_string() : target->name);
    }
    if ((method == "PUT" || method == "PATCH") && has_owners_of_other_versions(call)) {
      ++counts_.skipped;
      return learn(call, target->name);
    }
    if (method == "POST" && target->name.empty()) create(call);
    if (method == "PUT") put(call);
    if (method == "PATCH") patch(call);
    if (method == "GET" || method == "DELETE") learn(call, target->name);
    if (resource->kind == "CustomResourceDefinition" && method == "POST") define(step["body"]);
  }

  // The writer owns the defaults, so a kind whose defaults are not known here cannot be compared.
  static bool lacks_defaults(const catalog::Resource& resource) {
    if (resource.strategy && resource.strategy->defaults) return false;
    return resource.kind == "Pod" || resource.kind == "Deployment" || resource.kind == "Service";
  }

  // Only a server converts objects to the versions of their other owners.
  bool has_owners_of_other_versions(const Call& call) {
    if (call.resource->is_custom) return false;
    auto at = objects_.find(call.target.key(call.target.name));
    if (at == objects_.end()) return false;
    const auto& owners = at->second["metadata"]["managedFields"].items();
    return std::ranges::any_of(owners, [&](const Value& owner) {
      return owner["apiVersion"].as_string() != call.resource->api_version();
    });
  }

  void define(Value definition) {
    definition.member("status").set(
        "conditions", Value::array({Value::object({{"type", "Established"}, {"status", "True"}})}));
    definitions_.push_back(std::move(definition));
    catalogs_.push_back(catalog_);
    catalog_ = catalog_->with_definitions(definitions_);
  }

  Value ready(const Call& call, Value object) const {
    const catalog::Resource& resource = *call.resource;
    object.set("apiVersion", resource.api_version());
    object.set("kind", resource.kind);
    if (!resource.is_custom) {
      object = schema::normalize(*resource.schema, object);
    } else {
      // The metadata of a custom resource has the built-in type: an empty list is absent there.
      if (object["metadata"]["managedFields"].is_array() &&
          object["metadata"]["managedFields"].empty())
        object.member("metadata").erase("managedFields");
      object = schema::apply_defaults(*resource.schema,
                                      schema::prune(*resource.schema, object, true).value);
      object = schema::prune_nulls(*resource.schema, object);
    }
    catalog::StrategyContext context{};
    context.group = resource.group;
    context.version = resource.version;
    context.resource = resource.name;
    context.namespace_name = call.target.namespace_name;
    context.user = "admin";
    context.now = "2026-01-01T00:00:00Z";
    if (resource.strategy && resource.strategy->defaults)
      resource.strategy->defaults(object, context);
    return object;
  }

  schema::VersionSchemas versions(const Call& call) const {
    return [this, &call](std::string_view api_version) -> const schema::Schema* {
      const auto* found = catalog_->find(
          call.target.group, api_version.substr(api_version.find('/') + 1), call.target.resource);
      return found ? found->schema : nullptr;
    };
  }

  schema::UpdateRequest update(const Call& call) const {
    api_version_ = call.resource->api_version();
    schema::UpdateRequest request{call.manager, api_version_, call.target.subresource, kNow,
                                  &call.reset};
    if (call.resource->is_custom) request.schema_of = versions(call);
    return request;
  }

  static int status(const Call& call) {
    return static_cast<int>(call.step["expect"]["status"].as_int());
  }
  static bool succeeds(const Call& call) {
    return !call.step.has("expect") || (status(call) >= 200 && status(call) < 300);
  }
  static bool dry(const Call& call) { return call.target.query.contains("dryRun"); }

  void create(const Call& call) {
    Value body = call.step["body"];
    std::string object_name(body["metadata"]["name"].as_string());
    if (!body.is_object() || object_name.empty() || !succeeds(call)) return;
    Value made = schema::track_update(nullptr, ready(call, body), *call.resource->schema,
                                      update(call));
    settle(call, object_name, made);
  }

  void put(const Call& call) {
    auto held = objects_.find(call.target.key(call.target.name));
    if (held == objects_.end() || !call.step["body"].is_object() || !succeeds(call)) return;
    if (!call.target.subresource.empty() && call.target.subresource != "status")
      return forget(call);
    settle(call, call.target.name, after_update(call, held->second, call.step["body"]));
  }

  Value after_update(const Call& call, const Value& old, const Value& body) {
    Value object = ready(call, body);
    schema::UpdateRequest request = update(call);
    request.clear = !call.resource->is_custom && schema::clears_managed_fields(body);
    return schema::track_update(&old, std::move(object), *call.resource->schema, request);
  }

  void patch(const Call& call) {
    auto held = objects_.find(call.target.key(call.target.name));
    const Value* live = held == objects_.end() ? nullptr : &held->second;
    if (call.content_type.starts_with("application/apply-patch")) return apply(call, live);
    if (!live) return learn(call, call.target.name);
    if (!succeeds(call)) return;
    Value body = call.step["body"];
    if (body.is_string()) {
      auto parsed = json::parse(body.as_string());
      if (!parsed) return;
      body = *parsed;
    }
    if (lacks_defaults(*call.resource) && body.has("spec") && call.target.subresource.empty()) {
      ++counts_.skipped;
      return learn(call, call.target.name);
    }
    if (call.target.subresource == "scale") return scale(call, *live, body);
    if (!call.target.subresource.empty() && call.target.subresource != "status")
      return forget(call);
    Result<Value> result = Value();
    if (call.content_type.starts_with("application/json-patch"))
      result = json::apply_json_patch(*live, body);
    else if (call.content_type.starts_with("application/merge-patch"))
      result = json::apply_merge_patch(*live, body);
    else
      result = schema::apply_strategic_merge_patch(*live, body, *call.resource->schema);
    if (!result) return report(call, "success", result.error().message);
    settle(call, call.target.name, after_update(call, *live, *result));
  }

  void apply(const Call& call, const Value* live) {
    Value body = call.step["body"];
    if (!body.is_object() || call.target.subresource == "scale" ||
        !call.target.query.contains("fieldManager"))
      return;
    if (status(call) == 201) live = nullptr;
    std::string version = call.resource->api_version();
    schema::ApplyRequest request{call.manager,
                                 call.target.query.contains("force"),
                                 version,
                                 call.resource->kind,
                                 call.target.subresource,
                                 kNow,
                                 &call.reset,
                                 {}};
    if (call.resource->is_custom) request.schema_of = versions(call);
    auto result = schema::apply(live, body, *call.resource->schema, request);
    if (status(call) == 500 || status(call) == 409) {
      const Value& expected = call.step["expect"]["body"];
      if (expected["message"].as_string().contains("please apply your changes"))
        return;  // resourceVersion
      if (result) return report(call, expected["message"].as_string(), "success");
      if (status(call) == 409)
        compare_conflict(call, expected, result.error());
      else
        counts_.check(true);
      return;
    }
    if (!succeeds(call)) return;
    if (!result) return report(call, "success", result.error().message);
    settle(call, call.target.name, ready(call, *result));
  }

  // As in the server: the patch changes a view of the object, and the owners of the field in the
  // object are recorded.
  void scale(const Call& call, const Value& live, const Value& body) {
    auto view = json::apply_merge_patch(catalog::scale_to_change(live, *call.resource), body);
    if (!view) return;
    auto scaled = catalog::with_scale(live, *view, *call.resource);
    if (!scaled) return report(call, "success", scaled.error().message);
    schema::UpdateRequest request = update(call);
    request.now = {};
    objects_[call.target.key(call.target.name)] = schema::track_update(
        &live, std::move(*scaled), *call.resource->schema, request);
  }

  void compare_conflict(const Call& call, const Value& expected, const Error& error) {
    std::vector<Value> causes;
    for (const Cause& cause : error.details ? error.details->causes : std::vector<Cause>())
      causes.push_back(Value::object(
          {{"field", cause.field}, {"message", cause.message}, {"reason", cause.reason}}));
    auto found = lines(Value::array(causes)), wanted = lines(expected["details"]["causes"]);
    found.push_back(error.message);
    wanted.emplace_back(expected["message"].as_string());
    if (found == wanted) return counts_.check(true);
    report(call, join(wanted, "\n      "), join(found, "\n      "));
  }

  // Compares the kept object with the answer, and continues with the answer.
  void settle(const Call& call, std::string_view object, Value made) {
    if (!dry(call)) objects_[call.target.key(object)] = made;
    if (!call.step.has("expect")) return;
    const Value& body = call.step["expect"]["body"];
    if (!body.has("metadata")) {
      const Value* only = body.find("$.metadata.managedFields");
      if (only) compare_owners(call, only->items().empty() ? Value() : only->items()[0], made);
      return;
    }
    compare_owners(call, body["metadata"]["managedFields"], made);
    bool whole = (call.resource->is_custom || call.resource->kind == "Deployment") &&
                 call.target.subresource.empty() &&
                 call.resource->version == call.resource->storage_version;
    if (whole && body["spec"] != made["spec"])
      report(call, json::print(body["spec"]), json::print(made["spec"]));
    learn(call, object);
  }

  // The recorded order depends on the clock at that time, and causes have no order.
  static std::vector<std::string> lines(const Value& list) {
    std::vector<std::string> out;
    for (const Value& entry : list.items()) out.push_back(json::print(entry));
    std::sort(out.begin(), out.end());
    return out;
  }

  void compare_owners(const Call& call, const Value& expected, const Value& made) {
    auto wanted = lines(expected), found = lines(made["metadata"]["managedFields"]);
    if (wanted == found) return counts_.check(true);
    report(call, join(wanted, "\n      "), join(found, "\n      "));
  }

  void report(const Call& call, std::string_view expected, std::string_view found) {
    ++counts_.failed;
    std::printf("ownership: %s: %s %s\n    expected\n      %s\n    found\n      %s\n",
                name_.c_str(), std::string(call.step["method"].as_string()).c_str(),
                std::string(call.step["path"].as_string()).c_str(), std::string(expected).c_str(),
                std::string(found).c_str());
  }

  void learn(const Call& call, std::string_view object) {
    const Value& body = call.step["expect"]["body"];
    if (!dry(call) && body["metadata"].has("uid") &&
        body["kind"].as_string() == call.resource->kind)
      objects_[call.target.key(object)] = body;
  }

  void forget(const Call& call) { objects_.erase(call.target.key(call.target.name)); }

  std::string name_;
  Counts& counts_;
  std::shared_ptr<const catalog::Catalog> catalog_;
  std::vector<std::shared_ptr<const catalog::Catalog>> catalogs_;
  std::vector<Value> definitions_;
  std::map<std::string, Value> objects_;
  mutable std::string api_version_;
};

}  // namespace

Counts run_ownership(const std::string& folder) {
  Counts counts;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::string topic = file.stem().string();
    bool ours = topic.starts_with("apply--") || topic.starts_with("patch--") ||
                topic.starts_with("crud--") || topic == "crd--crd-list-map-apply" ||
                topic == "crd--crd-versions";
    if (ours) Player(topic, counts).play(read(file.string()));
  }
  return counts;
}

}  // namespace cardea::conformance

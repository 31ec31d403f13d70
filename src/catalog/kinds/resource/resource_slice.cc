#include <algorithm>
#include <set>

#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/resource/devices.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr int kMostDevices = 128;
constexpr std::size_t kMostProperties = 32;
constexpr std::string_view kPlaces[] = {"nodeName", "nodeSelector", "allNodes",
                                        "perDeviceNodeSelection"};

void defaults(Value& object, const StrategyContext& context) {
  for (std::size_t i = 0; i < object["spec"]["devices"].size(); ++i)
    for (std::size_t j = 0; j < object["spec"]["devices"][i]["taints"].size(); ++j)
      set_default(object.member("spec").member("devices").item(i).member("taints").item(j),
                  "timeAdded", context.now);
}

// Dotted numbers with optional pre-release and build parts.
bool is_semantic_version(std::string_view text) {
  auto well_formed = [](std::string_view part, bool numeric) {
    if (part.empty()) return false;
    bool digits = std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    if (digits) return !numeric || part.size() == 1 || part[0] != '0';
    return !numeric && std::ranges::all_of(part, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    });
  };
  auto all = [&](std::string_view list, bool numeric) {
    return std::ranges::all_of(split(list, '.'),
                               [&](std::string_view part) { return well_formed(part, numeric); });
  };
  if (auto plus = text.find('+'); plus != text.npos) {
    if (!all(text.substr(plus + 1), false)) return false;
    text = text.substr(0, plus);
  }
  if (auto dash = text.find('-'); dash != text.npos) {
    if (!all(text.substr(dash + 1), false)) return false;
    text = text.substr(0, dash);
  }
  return split(text, '.').size() == 3 && all(text, true);
}

void validate_attribute(const Value& attribute, const Path& path, FieldErrors& out) {
  constexpr std::pair<std::string_view, std::string_view> kForms[] = {
      {"int", "IntValue"},         {"bool", "BoolValue"},        {"string", "StringValue"},
      {"version", "VersionValue"}, {"ints", "IntValues"},        {"bools", "BoolValues"},
      {"strings", "StringValues"}, {"versions", "VersionValues"}};
  std::size_t given = 0;
  for (std::string_view name : {"int", "bool", "string", "version"})
    given += attribute[name].is_null() ? 0 : 1;
  for (std::string_view name : {"string", "version"})
    if (attribute[name].as_string().size() > 64) out.push_back(json::too_long(path / name, 64));
  if (!attribute["version"].is_null() && !is_semantic_version(attribute["version"].as_string()))
    out.push_back(json::invalid(path / "version", attribute["version"],
                                "must be a string compatible with semver.org spec 2.0.0"));
  if (given == 1) return;
  if (given == 0) {
    out.push_back(json::invalid(path, "", "exactly one value must be specified"));
    return;
  }
  std::string text = "{";
  for (const auto& [name, go_name] : kForms)
    text += cat(text.size() > 1 ? "," : "", "\"", go_name, "\":", shown(attribute[name]));
  out.push_back(invalid_shown(path, text + "}", "exactly one value must be specified"));
}

void validate_taints(const Value& taints, const Path& path, FieldErrors& out) {
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const Value& t = taints[i];
    Path at = path.index(i);
    complain(at / "key", t["key"].as_string(), qualified_name(t["key"].as_string()), out);
    if (!t["value"].as_string().empty())
      complain(at / "value", t["value"], label_value(t["value"].as_string()), out);
    if (t["effect"].as_string().empty())
      out.push_back(json::required(at / "effect"));
    else
      check_one_of(at / "effect", t["effect"], {"NoExecute", "NoSchedule", "None"}, out);
  }
}

void validate_device_place(const Value& device, bool per_device, const Path& path,
                           FieldErrors& out) {
  int given = 0;
  for (std::string_view name : {"nodeName", "nodeSelector", "allNodes"})
    given += device[name].is_null() ? 0 : 1;
  if (!per_device && given > 0)
    out.push_back(json::invalid(path, Value(),
                                "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                                "`perDeviceNodeSelection` is set to "
                                "true in the ResourceSlice spec"));
  if (!per_device) return;
  std::string_view node = device["nodeName"].as_string();
  if (!device["nodeName"].is_null() && !node.empty())
    complain(path / "nodeName", node, name_is_dns_subdomain(node, false), out);
  if (given == 0)
    out.push_back(
        json::required(path,
                       "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
                       "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"));
  if (given > 1)
    out.push_back(
        json::invalid(path, Value(),
                      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
                      "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"));
}

void validate_device(const Value& device, bool per_device, const Path& path, FieldErrors& out) {
  std::string_view name = device["name"].as_string();
  complain(path / "name", name, dns1123_label(name), out);
  std::size_t properties = device["attributes"].size() + device["capacity"].size();
  if (properties > kMostProperties)
    out.push_back(json::invalid(
        path, Value(static_cast<std::int64_t>(properties)),
        cat("the total number of attributes and capacities must not exceed ", kMostProperties)));
  // Kubernetes visits these in the random order of its maps; here the order is by name.
  for (const json::Member& m : device["attributes"].members()) {
    validate_qualified_identifier(m.key(), path / "attributes", false, out);
    validate_attribute(m.value, (path / "attributes").key(m.key()), out);
  }
  for (const json::Member& m : device["capacity"].members())
    validate_qualified_identifier(m.key(), path / "capacity", false, out);
  validate_taints(device["taints"], path / "taints", out);
  validate_device_place(device, per_device, path, out);
}

void validate_counters(const Value& sets, const Path& path, FieldErrors& out) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    Path at = path.index(i);
    std::string_view name = sets[i]["name"].as_string();
    if (name.empty())
      out.push_back(json::required(at / "name"));
    else
      complain(at / "name", name, dns1123_label(name), out);
    if (sets[i]["counters"].empty()) out.push_back(json::required(at / "counters"));
    for (const json::Member& m : sets[i]["counters"].members())
      complain((at / "counters"), m.key(), dns1123_label(m.key()), out);
    if (!name.empty() && !names.insert(name).second) out.push_back(json::duplicate(at, name));
  }
}

bool is_place(const Value& spec, std::string_view name) {
  const Value& value = spec[name];
  return !value.is_null() && !(value.is_bool() && !value.as_bool()) &&
         !(value.is_string() && value.as_string().empty());
}

void validate_place(const Value& spec, FieldErrors& out) {
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  std::vector<std::string> given;
  const Value& node = spec["nodeName"];
  if (!node.is_null() && node.as_string().empty())
    out.push_back(
        json::invalid("spec.nodeName", "", "must be either unset or set to a non-empty string"));
  else if (!node.is_null())
    complain("spec.nodeName", node, name_is_dns_subdomain(node.as_string(), false), out);
  if (!spec["nodeSelector"].is_null()) {
    validate_node_selector(spec["nodeSelector"], "spec.nodeSelector", out);
    if (spec["nodeSelector"]["nodeSelectorTerms"].size() != 1)
      out.push_back(json::invalid("spec.nodeSelector.nodeSelectorTerms",
                                  spec["nodeSelector"]["nodeSelectorTerms"],
                                  "must have exactly one node selector term"));
  }
  for (std::string_view name : {"allNodes", "perDeviceNodeSelection"})
    if (spec[name].is_bool() && !spec[name].as_bool())
      out.push_back(
          json::invalid(Path("spec") / name, false, "must be either unset or set to true"));
  for (std::string_view name : kPlaces)
    if (is_place(spec, name)) given.push_back(cat("`", name, "`"));
  if (given.empty()) out.push_back(json::required("spec", std::string(kOne)));
  if (given.size() > 1)
    out.push_back(json::invalid("spec", cat("{", join(given, ", "), "}"),
                                cat(kOne, ", but multiple fields are set")));
}

void validate_spec(const Value& spec, FieldErrors& out) {
  validate_driver_name(spec["driver"], "spec.driver", out);
  const Value& pool = spec["pool"];
  validate_pool_name(pool["name"], "spec.pool.name", out);
  if (pool["resourceSliceCount"].as_int() <= 0)
    out.push_back(json::invalid("spec.pool.resourceSliceCount",
                                Value(pool["resourceSliceCount"].as_int()),
                                "must be greater than zero"));
  if (pool["generation"].as_int() < 0)
    out.push_back(json::invalid("spec.pool.generation", pool["generation"],
                                "must be greater than or equal to zero"));
  validate_place(spec, out);
  const Value& devices = spec["devices"];
  if (!devices.empty() && !spec["sharedCounters"].empty())
    out.push_back(
        json::invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"));
  if (devices.size() > static_cast<std::size_t>(kMostDevices)) {
    out.push_back(json::too_many("spec.devices", static_cast<int>(devices.size()), kMostDevices));
  } else {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      Path at = Path("spec.devices").index(i);
      validate_device(devices[i], spec["perDeviceNodeSelection"].as_bool(), at, out);
      if (!names.insert(devices[i]["name"].as_string()).second)
        out.push_back(json::duplicate(at, devices[i]["name"]));
    }
  }
  validate_counters(spec["sharedCounters"], "spec.sharedCounters", out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_spec(object["spec"], out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], out);
  for (std::string_view name : {"driver", "nodeName"})
    check_immutable(Path("spec") / name, object["spec"][name], old["spec"][name], out);
  check_immutable("spec.pool.name", object["spec"]["pool"]["name"], old["spec"]["pool"]["name"],
                  out);
  return out;
}

std::string field(const Value& object, std::string_view name) {
  if (name == "spec.nodeName") return std::string(object["spec"]["nodeName"].as_string());
  if (name == "spec.driver") return std::string(object["spec"]["driver"].as_string());
  return "";
}

}  // namespace

const Strategy& resource_slice_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .validate_create = validate,
      .validate_update = validate_update,
      .selectable_fields = {"spec.driver", "spec.nodeName"},
      .selectable_field = field,
      .unknown_field = "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
      .has_generation = true,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog

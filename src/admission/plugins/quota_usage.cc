#include "admission/plugins/quota_usage.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "base/time_parse.h"
#include "catalog/kinds/core/resources.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::string_view kClassSuffix = ".storageclass.storage.k8s.io/";
constexpr std::string_view kDeviceSuffix = ".deviceclass.resource.k8s.io/devices";

bool is(const catalog::Resource& r, std::string_view group, std::string_view name) {
  return r.group == group && r.name == name;
}
bool is_pod(const catalog::Resource& r) {
  return is(r, "", "pods");
}

std::string count_name(const catalog::Resource& r) {
  return cat("count/", r.qualified_name());
}

bool is_extended(std::string_view name) {
  return name.find('/') != std::string_view::npos && !name.starts_with("requests.") &&
         name.find("kubernetes.io/") == std::string_view::npos;
}

Amounts of_compute(const Amounts& requests, const Amounts& limits) {
  Amounts out;
  for (const auto& [name, amount] : requests) {
    bool is_plain = name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
                    name.starts_with("hugepages-");
    if (is_plain) out[name] = amount;
    if (is_plain || is_extended(name)) out[cat("requests.", name)] = amount;
  }
  for (const auto& [name, amount] : limits)
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage")
      out[cat("limits.", name)] = amount;
  return out;
}

// A pod that has ended, or ought to have, uses nothing but its place in the store.
bool is_live(const Value& pod, std::string_view now) {
  std::string_view phase = pod["status"]["phase"].as_string();
  if (phase == "Failed" || phase == "Succeeded") return false;
  const Value& meta = pod["metadata"];
  if (!meta.has("deletionTimestamp") || !meta.has("deletionGracePeriodSeconds")) return true;
  auto deleted = parse_rfc3339(meta["deletionTimestamp"].as_string()), present = parse_rfc3339(now);
  if (!deleted || !present) return true;
  return present->seconds <= deleted->seconds + meta["deletionGracePeriodSeconds"].as_int();
}

Amounts of_pod(const Value& pod, std::string_view now) {
  if (!is_live(pod, now)) return {};
  Amounts out = of_compute(pod_amounts(pod, "requests", true), pod_amounts(pod, "limits", true));
  out["pods"] = Quantity(1);
  return out;
}

Amounts of_service(const Value& service) {
  const Value& spec = service["spec"];
  std::string_view type = spec["type"].as_string();
  Amounts out;
  out["services"] = Quantity(1);
  std::int64_t ports = static_cast<std::int64_t>(spec["ports"].size());
  if (type == "LoadBalancer") {
    const Value& allocates = spec["allocateLoadBalancerNodePorts"];
    if (allocates.is_bool() && !allocates.as_bool())
      ports = std::ranges::count_if(spec["ports"].items(),
                                    [](const Value& p) { return p["nodePort"].as_int() != 0; });
    out["services.loadbalancers"] = Quantity(1);
  }
  if (type == "LoadBalancer" || type == "NodePort") out["services.nodeports"] = Quantity(ports);
  return out;
}

Amounts of_claim(const Value& claim) {
  Amounts out;
  out["persistentvolumeclaims"] = Quantity(1);
  std::string storage_class(claim["spec"]["storageClassName"].as_string());
  if (const Value* given = claim["metadata"]["annotations"].find(
          "volume.beta.kubernetes.io/storage-class"))
    storage_class = given->as_string();
  if (!storage_class.empty())
    out[cat(storage_class, kClassSuffix, "persistentvolumeclaims")] = Quantity(1);
  Amounts requests = read_amounts(claim["spec"]["resources"]["requests"]);
  auto size = requests.find("storage");
  if (size == requests.end()) return out;
  // While a volume grows, the greater of what it has and what it is to have.
  Amounts allocated = read_amounts(claim["status"]["allocatedResources"]);
  if (auto more = allocated.find("storage"); more != allocated.end() && more->second > size->second)
    size->second = more->second;
  out["requests.storage"] = size->second;
  if (!storage_class.empty())
    out[cat(storage_class, kClassSuffix, "requests.storage")] = size->second;
  return out;
}

std::int64_t devices_of(const Value& request) {
  if (request["allocationMode"].as_string() == "All")
    return 32;  // the most that one claim can hold
  return request.has("count") ? request["count"].as_int() : 1;
}

Amounts of_resource_claim(const Value& claim) {
  std::map<std::string, std::int64_t> counts;
  for (const Value& request : claim["spec"]["devices"]["requests"].items()) {
    const Value& exactly = request.has("exactly") ? request["exactly"] : request;
    if (std::string_view c = exactly["deviceClassName"].as_string(); !c.empty())
      counts[std::string(c)] += devices_of(exactly);
    // One of several: charge the largest amount that each class could use.
    std::map<std::string, std::int64_t> most;
    for (const Value& choice : request["firstAvailable"].items()) {
      auto& m = most[std::string(choice["deviceClassName"].as_string())];
      m = std::max(m, devices_of(choice));
    }
    for (const auto& [name, n] : most) counts[name] += n;
  }
  Amounts out;
  for (const auto& [name, n] : counts) out[cat(name, kDeviceSuffix)] = Quantity(n);
  return out;
}

constexpr std::string_view kShortNames[] = {"configmaps", "resourcequotas",
                                            "replicationcontrollers", "secrets"};
bool has_short_name(const catalog::Resource& r) {
  return r.group.empty() && std::ranges::find(kShortNames, r.name) != std::end(kShortNames);
}

bool is_best_effort(const Value& pod) {
  auto names_any = [](const Value& resources) {
    for (auto side : {"requests", "limits"})
      for (const auto& [name, amount] : read_amounts(resources[side]))
        if ((name == "cpu" || name == "memory") && amount.sign() > 0) return true;
    return false;
  };
  if (names_any(pod["spec"]["resources"])) return false;
  for (auto list : {"containers", "initContainers"})
    for (const Value& c : pod["spec"][list].items())
      if (names_any(c["resources"])) return false;
  return true;
}

bool crosses_namespaces(const Value& pod) {
  auto reaches_out = [](const Value& term) {
    return !term["namespaces"].empty() || term.has("namespaceSelector");
  };
  for (auto kind : {"podAffinity", "podAntiAffinity"}) {
    const Value& affinity = pod["spec"]["affinity"][kind];
    for (const Value& term : affinity["requiredDuringSchedulingIgnoredDuringExecution"].items())
      if (reaches_out(term)) return true;
    for (const Value& term : affinity["preferredDuringSchedulingIgnoredDuringExecution"].items())
      if (reaches_out(term["podAffinityTerm"])) return true;
  }
  return false;
}

// Whether a name is among the values, as In, NotIn, Exists and DoesNotExist mean it.
bool selects(const Value& requirement, std::string_view name) {
  std::string_view op = requirement["operator"].as_string();
  if (op == "Exists") return !name.empty();
  if (op == "DoesNotExist") return name.empty();
  bool found = std::ranges::any_of(requirement["values"].items(),
                                   [&](const Value& v) { return v.as_string() == name; });
  return op == "In" ? found && !name.empty() : op == "NotIn" && !found;
}

}  // namespace

bool in_scope(const Value& requirement, const catalog::Resource& r, const Value& object) {
  std::string_view scope = requirement["scopeName"].as_string();
  if (scope == "VolumeAttributesClass")
    return is(r, "", "persistentvolumeclaims") &&
           (selects(requirement, object["spec"]["volumeAttributesClassName"].as_string()) ||
            (object["status"].has("currentVolumeAttributesClassName") &&
             selects(requirement,
                     object["status"]["currentVolumeAttributesClassName"].as_string())));
  if (!is_pod(r)) return false;
  const Value& deadline = object["spec"]["activeDeadlineSeconds"];
  bool ends = deadline.is_int() && deadline.as_int() >= 0;
  if (scope == "Terminating") return ends;
  if (scope == "NotTerminating") return !ends;
  if (scope == "BestEffort") return is_best_effort(object);
  if (scope == "NotBestEffort") return !is_best_effort(object);
  if (scope == "CrossNamespacePodAffinity") return crosses_namespaces(object);
  if (scope == "PriorityClass")
    return selects(requirement, object["spec"]["priorityClassName"].as_string());
  return false;
}

Amounts usage_of(const catalog::Resource& r, const Value& object, std::string_view now) {
  Amounts out;
  if (is_pod(r))
    out = of_pod(object, now);
  else if (is(r, "", "services"))
    out = of_service(object);
  else if (is(r, "", "persistentvolumeclaims"))
    out = of_claim(object);
  else if (is(r, "resource.k8s.io", "resourceclaims"))
    out = of_resource_claim(object);
  else if (has_short_name(r))
    out[r.name] = Quantity(1);
  out[count_name(r)] = Quantity(1);
  return out;
}

bool is_charged_as(const catalog::Resource& r, std::string_view name) {
  if (name == count_name(r)) return true;
  if (is_pod(r)) {
    if (catalog::is_pod_quota_resource(name) || name.starts_with("hugepages-") ||
        name.starts_with("requests.hugepages-"))
      return true;
    return name.starts_with("requests.") && is_extended(name.substr(9));
  }
  if (is(r, "", "services"))
    return name == "services" || name == "services.nodeports" || name == "services.loadbalancers";
  if (is(r, "", "persistentvolumeclaims"))
    return name == "persistentvolumeclaims" || name == "requests.storage" ||
           name.ends_with(".storageclass.storage.k8s.io/requests.storage") ||
           name.ends_with(".storageclass.storage.k8s.io/persistentvolumeclaims");
  if (is(r, "resource.k8s.io", "resourceclaims")) return name.ends_with(kDeviceSuffix);
  return has_short_name(r) && name == r.name;
}

bool in_scopes(const Value& quota, const catalog::Resource& r, const Value& object) {
  for (const Value& scope : quota["spec"]["scopes"].items())
    if (!in_scope(Value::object({{"scopeName", scope}, {"operator", "Exists"}}), r, object))
      return false;
  for (const Value& requirement : quota["spec"]["scopeSelector"]["matchExpressions"].items())
    if (!in_scope(requirement, r, object)) return false;
  return true;
}

std::string missing_of_pod(const Value& pod, const std::vector<std::string>& names) {
  constexpr std::string_view kRequired[] = {
      "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};
  // Who speaks for the pod as a whole need not speak for each container.
  const Value& whole = pod["spec"]["resources"];
  if (!whole["requests"].empty() || !whole["limits"].empty()) return "";
  std::map<std::string, std::set<std::string>> missing;
  for (const std::string& name : names) {
    if (std::ranges::find(kRequired, name) == std::end(kRequired)) continue;
    for (auto list : {"containers", "initContainers"})
      for (const Value& c : pod["spec"][list].items()) {
        Amounts own = of_compute(read_amounts(c["resources"]["requests"]),
                                 read_amounts(c["resources"]["limits"]));
        if (!own.contains(name)) missing[name].emplace(c["name"].as_string());
      }
  }
  if (missing.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, containers] : missing)
    parts.push_back(cat(name, " for: ", join({containers.begin(), containers.end()}, ",")));
  return cat("must specify ", join(parts, "; "));
}

}  // namespace cardea::admission

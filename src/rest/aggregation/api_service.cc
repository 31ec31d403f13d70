#include "rest/aggregation/api_service.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/definition.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr std::string_view kServiceLabel = "kubernetes.io/service-name";

const Value* port_of(const Value& service, std::uint16_t port) {
  for (const Value& one : service["spec"]["ports"].items())
    if (one["port"].as_int() == port) return &one;
  return nullptr;
}

bool is_ready(const Value& endpoint) {
  const Value& ready = endpoint["conditions"]["ready"];
  return ready.is_null() || ready.as_bool();
}

// The number that a slice has for the port of this name; 0: none.
std::uint16_t port_named(const Value& slice, std::string_view name) {
  for (const Value& port : slice["ports"].items()) {
    const std::int64_t number = port["port"].as_int();
    if (port.has("name") && port["name"].as_string() == name && number > 0 && number < 65536)
      return static_cast<std::uint16_t>(number);
  }
  return 0;
}

Error unavailable(std::string message) {
  return Error::of(Reason::kServiceUnavailable, std::move(message));
}

Result<std::vector<Target>> by_endpoints_of(const Value& service, const std::vector<Value>& slices,
                                            std::string_view port_name) {
  const std::string_view preferred = service["spec"]["ipFamilies"][0].as_string();
  std::vector<Target> first, others;
  for (const Value& slice : slices) {
    const std::uint16_t port = port_named(slice, port_name);
    if (port == 0) continue;
    const bool is_preferred = preferred.empty() || slice["addressType"].as_string() == preferred;
    for (const Value& endpoint : slice["endpoints"].items())
      if (is_ready(endpoint) && endpoint["addresses"].size() > 0)
        (is_preferred ? first : others)
            .push_back({std::string(endpoint["addresses"][0].as_string()), port});
  }
  if (first.empty()) first = std::move(others);
  if (first.empty())
    return fail(unavailable(cat("no endpoints available for service ",
                                quoted(service["metadata"]["name"].as_string()))));
  return first;
}

Availability not_there(std::string reason, std::string message) {
  return {"False", std::move(reason), std::move(message)};
}

}  // namespace

std::string ApiService::server_name() const {
  return service ? cat(service->name, ".", service->namespace_name, ".svc") : "";
}

ApiService read_api_service(const Value& object) {
  const Value& spec = object["spec"];
  ApiService out{.name = std::string(object["metadata"]["name"].as_string()),
                 .group = std::string(spec["group"].as_string()),
                 .version = std::string(spec["version"].as_string()),
                 .group_priority = spec["groupPriorityMinimum"].as_int(),
                 .version_priority = spec["versionPriority"].as_int(),
                 .is_insecure = spec["insecureSkipTLSVerify"].as_bool(),
                 .asks_back = object["metadata"]["annotations"][kAsksBack].as_string() == "true"};
  out.authorities = base64_decode(spec["caBundle"].as_string()).value_or("");
  if (const Value& service = spec["service"]; service.is_object()) {
    const std::int64_t port = service["port"].as_int();
    out.service = ServiceReference{
        std::string(service["namespace"].as_string()), std::string(service["name"].as_string()),
        port > 0 && port < 65536 ? static_cast<std::uint16_t>(port) : std::uint16_t{443}};
  }
  const Value* condition = catalog::find_condition(object, "Available");
  out.is_available = condition && (*condition)["status"].as_string() == "True";
  return out;
}

Result<std::vector<Target>> targets_of(const Value& service, const std::vector<Value>& slices,
                                       std::uint16_t port, bool by_endpoints) {
  const Value& spec = service["spec"];
  const std::string_view type = spec["type"].as_string();
  if (type == "ExternalName" && !by_endpoints)
    return std::vector<Target>{{std::string(spec["externalName"].as_string()), port}};
  if (type != "ClusterIP" && type != "NodePort" && type != "LoadBalancer")
    return fail(internal_error(cat("unsupported service type ", quoted(type))));
  const std::string_view address = spec["clusterIP"].as_string();
  if (!by_endpoints && type == "ClusterIP" && address == "None")
    return fail(internal_error("cannot route to service with ClusterIP \"None\""));
  const Value* found = port_of(service, port);
  if (!found)
    return fail(unavailable(cat("no service port ", port, " found for service ",
                                quoted(service["metadata"]["name"].as_string()))));
  if (by_endpoints) return by_endpoints_of(service, slices, (*found)["name"].as_string());
  return std::vector<Target>{{std::string(address), port}};
}

Availability passed() {
  return {"True", "Passed", "all checks passed"};
}

Availability failed_check(std::string why) {
  return not_there("FailedDiscoveryCheck", std::move(why));
}

std::optional<Availability> without_service(const ServiceReference& r, const Value& service,
                                            const std::vector<Value>& slices) {
  const std::string named = cat("service/", r.name, " in ", quoted(r.namespace_name));
  if (service.is_null()) return not_there("ServiceNotFound", cat(named, " is not present"));
  // Of the other types nothing is known here.
  if (service["spec"]["type"].as_string() != "ClusterIP") return std::nullopt;
  const Value* port = port_of(service, r.port);
  if (!port) return not_there("ServicePortError", cat(named, " is not listening on port ", r.port));
  if (slices.empty())
    return not_there("EndpointsNotFound", cat("cannot find endpointslices for ", named));
  const std::string_view name = (*port)["name"].as_string();
  const bool has_one = std::ranges::any_of(slices, [&](const Value& slice) {
    return port_named(slice, name) != 0 &&
           std::ranges::any_of(slice["endpoints"].items(), is_ready);
  });
  if (has_one) return std::nullopt;
  return not_there("MissingEndpoints", cat("endpointslices for ", named,
                                           " have no addresses with port name ", quoted(name)));
}

std::optional<Value> with_availability(const Value& object, const Availability& a,
                                       std::string_view now) {
  Value conditions = Value::array();
  std::string since(now);
  for (const Value& old : object["status"]["conditions"].items()) {
    if (old["type"].as_string() != "Available") {
      conditions.push_back(old);
      continue;
    }
    if (old["status"].as_string() != a.status) continue;
    if (old["reason"].as_string() == a.reason && old["message"].as_string() == a.message)
      return std::nullopt;
    since = old["lastTransitionTime"].as_string();
  }
  conditions.push_back(Value::object({{"type", "Available"},
                                      {"status", a.status},
                                      {"lastTransitionTime", since},
                                      {"reason", a.reason},
                                      {"message", a.message}}));
  Value out = object;
  out.set("status", Value::object({{"conditions", std::move(conditions)}}));
  return out;
}

bool is_slice_of(const Value& slice, std::string_view service) {
  return slice["metadata"]["labels"][kServiceLabel].as_string() == service;
}

}  // namespace cardea::rest

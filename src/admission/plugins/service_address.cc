#include "admission/plugins/service_address.h"

#include "base/strings.h"

namespace cardea::admission {
namespace {

using json::Value;

const Value* port_named(const Value& ports, std::string_view name) {
  for (const Value& p : ports.items())
    if (p["name"].as_string() == name) return &p;
  return nullptr;
}

std::uint16_t number(const Value& port) {
  const std::int64_t n = port.as_int();
  return n > 0 && n < 65536 ? static_cast<std::uint16_t>(n) : 0;
}

// The first that is ready; none is an empty host.
ServiceAddress endpoint(const Objects& objects, const catalog::Catalog& catalog,
                        std::string_view space, std::string_view name, std::string_view port_name) {
  const Value endpoints = objects.get(catalog, "", "endpoints", space, name);
  for (const Value& subset : endpoints["subsets"].items())
    if (const Value* port = port_named(subset["ports"], port_name);
        port && !subset["addresses"].empty())
      return {std::string(subset["addresses"][0]["ip"].as_string()), number((*port)["port"])};
  for (const Value& slice : objects.list(catalog, "discovery.k8s.io", "endpointslices", space)) {
    if (slice["metadata"]["labels"]["kubernetes.io/service-name"].as_string() != name) continue;
    const Value* port = port_named(slice["ports"], port_name);
    if (port == nullptr) continue;
    for (const Value& e : slice["endpoints"].items()) {
      const Value& ready = e["conditions"]["ready"];
      if ((ready.is_null() || ready.as_bool()) && !e["addresses"].empty())
        return {std::string(e["addresses"][0].as_string()), number((*port)["port"])};
    }
  }
  return {};
}

}  // namespace

Result<ServiceAddress> resolve_service(const Objects& objects, const catalog::Catalog& catalog,
                                       std::string_view space, std::string_view name,
                                       std::int64_t port) {
  const Value service = objects.get(catalog, "", "services", space, name);
  if (service.is_null())
    return fail(Error::of(Reason::kNotFound, cat("service ", quoted(name), " not found")));
  const std::string_view type = service["spec"]["type"].as_string(),
                         ip = service["spec"]["clusterIP"].as_string();
  if (type == "ExternalName")
    return ServiceAddress{std::string(service["spec"]["externalName"].as_string()),
                          number(Value(port))};
  const Value* found = nullptr;
  for (const Value& p : service["spec"]["ports"].items())
    if (p["port"].as_int() == port) found = &p;
  if (found == nullptr)
    return fail(Error::of(Reason::kServiceUnavailable,
                          cat("no service port ", port, " found for service ", quoted(name))));
  if (ServiceAddress at = endpoint(objects, catalog, space, name, (*found)["name"].as_string());
      !at.host.empty() && at.port != 0)
    return at;
  if (ip.empty() || ip == "None")
    return fail(Error::of(Reason::kServiceUnavailable,
                          cat("no endpoints available for service ", quoted(name))));
  return ServiceAddress{std::string(ip), number(Value(port))};
}

}  // namespace cardea::admission

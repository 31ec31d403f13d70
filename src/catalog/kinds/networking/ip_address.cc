#include "catalog/kinds/networking/ip_address.h"

namespace cardea::catalog {

using json::Value;

Value ip_address_of_service(const Ip& address, std::string_view namespace_name,
                            std::string_view name) {
  Value labels = Value::object({{"ipaddress.kubernetes.io/ip-family", address.family()},
                                {kManagedByLabel, kAddressManager}});
  Value parent = Value::object(
      {{"resource", "services"}, {"namespace", namespace_name}, {"name", name}});
  return Value::object(
      {{"apiVersion", "networking.k8s.io/v1"},
       {"kind", "IPAddress"},
       {"metadata", Value::object({{"name", address.text()}, {"labels", std::move(labels)}})},
       {"spec", Value::object({{"parentRef", std::move(parent)}})}});
}

bool is_managed_address(const Value& ip_address) {
  return ip_address["metadata"]["labels"][kManagedByLabel].as_string() == kAddressManager;
}

bool is_address_of(const Value& ip_address, std::string_view namespace_name,
                   std::string_view name) {
  const Value& parent = ip_address["spec"]["parentRef"];
  return parent["group"].as_string().empty() && parent["resource"].as_string() == "services" &&
         parent["namespace"].as_string() == namespace_name && parent["name"].as_string() == name;
}

}  // namespace cardea::catalog

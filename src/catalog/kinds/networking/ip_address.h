#pragma once
#include <string>
#include <string_view>

#include "catalog/kinds/ip.h"
#include "json/value.h"

namespace cardea::catalog {

constexpr std::string_view kAddressManager = "ipallocator.k8s.io";
constexpr std::string_view kManagedByLabel = "ipaddress.kubernetes.io/managed-by";

// The IPAddress object that says which service has an address, as the server writes it. The uid and
// the time are the caller's.
json::Value ip_address_of_service(const Ip& address, std::string_view namespace_name,
                                  std::string_view name);
// Whether the server made it, and not a user.
bool is_managed_address(const json::Value& ip_address);
// Whether it says that this service has the address.
bool is_address_of(const json::Value& ip_address, std::string_view namespace_name,
                   std::string_view name);

}  // namespace cardea::catalog

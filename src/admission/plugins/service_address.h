#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "admission/objects.h"
#include "base/result.h"

namespace cardea::admission {

struct ServiceAddress {
  std::string host;  // an IP address, or a name
  std::uint16_t port = 0;
};

// The address of a Service: one of its ready endpoints; without endpoints, its cluster IP,
// which another component (kube-proxy) must serve. An error says why there is no address, in
// Kubernetes' words.
Result<ServiceAddress> resolve_service(const Objects& objects, const catalog::Catalog& catalog,
                                       std::string_view namespace_name, std::string_view name,
                                       std::int64_t port);

}  // namespace cardea::admission

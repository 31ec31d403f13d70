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

// Where a Service is reached: at one of its endpoints that is ready; without endpoints, at its
// cluster IP, for which something else (kube-proxy) has to care. An error says why it cannot be, in
// Kubernetes' words.
Result<ServiceAddress> resolve_service(const Objects& objects, const catalog::Catalog& catalog,
                                       std::string_view namespace_name, std::string_view name,
                                       std::int64_t port);

}  // namespace cardea::admission

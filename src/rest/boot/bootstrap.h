#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rest/loopback.h"

namespace cardea::rest {

struct BootstrapOptions {
  std::string service_cluster_ip_range;
  std::string service_address;  // of the `kubernetes` service: the first of the range
  std::string server_address;   // where this server listens
  std::uint16_t server_port;
  // How clients of extension servers are recognised here: CAs and headers, by the keys that those
  // servers read.
  std::vector<std::pair<std::string, std::string>> authentication;
  std::string now;
};

// Creates what every cluster has: the system namespaces, the `kubernetes` service, priority classes
// and flow control. What exists already is left alone, but for what follows from flags. From
// outside the loops.
Result<void> bootstrap(const Loopback& api, const BootstrapOptions& options);

}  // namespace cardea::rest

#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "rest/loopback.h"

namespace cardea::rest {

struct BootstrapOptions {
  std::vector<std::string> service_ranges;  // of the ServiceCIDR `kubernetes`
  std::string service_address;  // of the `kubernetes` service: the first of the first range
  std::string server_address;   // where other machines find this server; empty: nowhere
  std::uint16_t server_port;
  // The authentication settings that extension servers need: CAs and headers, by the keys that
  // those servers read.
  std::vector<std::pair<std::string, std::string>> authentication;
  std::string now;
};

// Creates the objects that every cluster has: the system namespaces, the `kubernetes` service,
// APIServices of built-in groups, priority classes and flow control. Existing objects are not
// changed, except for values that follow from flags. From outside the loops.
Result<void> bootstrap(const Loopback& api, const catalog::Catalog& catalog,
                       const BootstrapOptions& options);

}  // namespace cardea::rest

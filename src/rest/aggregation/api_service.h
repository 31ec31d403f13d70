#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace cardea::rest {

// What APIServices, Services and EndpointSlices say about the servers behind this one. Pure
// functions; reasons and messages are kube-apiserver's.

struct ServiceReference {
  std::string namespace_name, name;
  std::uint16_t port = 443;

  bool operator==(const ServiceReference&) const = default;
};

inline constexpr std::string_view kAsksBack = "access.cardea.dev/settles-conditions";

struct ApiService {
  std::string name;  // "v1beta1.metrics.k8s.io"
  std::string group, version;
  std::int64_t group_priority = 0, version_priority = 0;
  std::optional<ServiceReference> service;  // none: this server itself serves the version
  std::string authorities;                  // PEM, of `caBundle`; empty: the system's
  bool is_insecure = false;                 // the certificate is not checked
  bool is_available = false;                // the condition `Available` is true
  // Its annotation kAsksBack is "true": the server asks this one about access, and settles the
  // conditions that it is told. Requests that are allowed on conditions may be handed on to it.
  bool asks_back = false;

  // "metrics-server.kube-system.svc": the name in the certificate of the other server.
  std::string server_name() const;
};
// What cannot be read counts as absent; an APIService was validated when it was written.
ApiService read_api_service(const json::Value& object);

// Where a connection goes.
struct Target {
  std::string host;  // an address, or the name of an ExternalName service
  std::uint16_t port = 0;

  bool operator==(const Target&) const = default;
};

// The ways to the service: its cluster IP or external name, or (`by_endpoints`, which is
// `--enable-aggregator-routing`) the addresses of its ready endpoints, of which any will do.
Result<std::vector<Target>> targets_of(const json::Value& service,
                                       const std::vector<json::Value>& slices, std::uint16_t port,
                                       bool by_endpoints);

// The condition `Available`.
struct Availability {
  std::string status;  // "True", "False", "Unknown"
  std::string reason, message;

  bool is_true() const { return status == "True"; }
};
Availability passed();
Availability failed_check(std::string why);
// What can be said without a call: nothing is wrong (nullopt), or why the service cannot be there.
// A null `service`: there is none.
std::optional<Availability> without_service(const ServiceReference& reference,
                                            const json::Value& service,
                                            const std::vector<json::Value>& slices);

// The object with this condition. Nothing when it has it already. The time of a transition changes
// with the status alone.
std::optional<json::Value> with_availability(const json::Value& object,
                                             const Availability& availability,
                                             std::string_view now);

// Whether a slice belongs to the service of this name.
bool is_slice_of(const json::Value& slice, std::string_view service);

}  // namespace cardea::rest

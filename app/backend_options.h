#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/certificates.h"
#include "base/result.h"
#include "rest/aggregation/aggregator.h"
#include "rest/streams/backends.h"

namespace CLI {
class App;
}

namespace cardea::app {

// How `cardea serve` reaches kubelets, pods, services and other API servers. Where kube-apiserver
// has the same flag, the name is the same.
struct BackendOptions {
  std::string kubelet_client_certificate, kubelet_client_key, kubelet_certificate_authority;
  std::vector<std::string> kubelet_preferred_address_types = {
      "Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"};
  std::chrono::milliseconds kubelet_timeout{5'000};
  std::vector<std::string> address_exceptions;
  std::string proxy_client_certificate, proxy_client_key;
  bool by_endpoints = false;
  bool refuses_redirects = true;
};

// The flags as they stand on the command line. Outlives the reading of the line.
struct BackendFlags {
  std::string certificate, key, authority, timeout = "5s";
  std::vector<std::string> address_types = {
      "Hostname,InternalDNS,InternalIP,ExternalDNS,"
      "ExternalIP"};
  std::vector<std::string> address_exceptions;
  std::string proxy_certificate, proxy_key;
  bool by_endpoints = false;
  bool refuses_redirects = true;
};

void declare_backends(CLI::App& app, BackendFlags& flags);
Result<BackendOptions> read_backends(const BackendFlags& flags);

// Reads the files. The dialer outlives the result.
Result<std::unique_ptr<rest::Backends>> make_backends(const BackendOptions& options,
                                                      net::Dialer& dialer);

// The server shows the given certificate to other API servers; without one `own`, which it made.
Result<rest::AggregationSettings> aggregation_settings(const BackendOptions& options,
                                                       const Identity& own);

}  // namespace cardea::app

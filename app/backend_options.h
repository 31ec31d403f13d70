#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "rest/streams/backends.h"

namespace CLI {
class App;
}

namespace cardea::app {

// How `cardea serve` reaches kubelets, pods and services. Where kube-apiserver has the same flag,
// the name is the same.
struct BackendOptions {
  std::string kubelet_client_certificate, kubelet_client_key, kubelet_certificate_authority;
  std::vector<std::string> kubelet_preferred_address_types = {
      "Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"};
  std::chrono::milliseconds kubelet_timeout{5'000};
  std::vector<std::string> address_exceptions;
};

// The flags as they stand on the command line. Outlives the reading of the line.
struct BackendFlags {
  std::string certificate, key, authority, timeout = "5s";
  std::vector<std::string> address_types = {
      "Hostname,InternalDNS,InternalIP,ExternalDNS,"
      "ExternalIP"};
  std::vector<std::string> address_exceptions;
};

void declare_backends(CLI::App& app, BackendFlags& flags);
Result<BackendOptions> read_backends(const BackendFlags& flags);

// Reads the files. The dialer outlives the result.
Result<std::unique_ptr<rest::Backends>> make_backends(const BackendOptions& options,
                                                      net::Dialer& dialer);

}  // namespace cardea::app

#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rest/streams/address_rules.h"

namespace cardea::net {
class Dialer;
class TlsClient;
}  // namespace cardea::net

namespace cardea::rest {

// How the server reaches the kubelets of nodes, and pods and services. Made by the program, shared
// by all requests; the dialer outlives it.
struct Backends {
  net::Dialer& dialer;
  std::shared_ptr<const net::TlsClient> kubelets;  // with the server's certificate, and their CA
  // The same for a client that does not want the kubelet's certificate to be checked
  // (`insecureSkipTLSVerifyBackend`).
  std::shared_ptr<const net::TlsClient> unchecked_kubelets;
  // Certificates of pods and services are not checked, as in kube-apiserver.
  std::shared_ptr<const net::TlsClient> others;
  std::vector<std::string> preferred_address_types = {"Hostname", "InternalDNS", "InternalIP",
                                                      "ExternalDNS", "ExternalIP"};
  std::chrono::milliseconds kubelet_timeout{5'000};   // to connect
  std::chrono::milliseconds connect_timeout{30'000};  // to a pod or service
  std::chrono::milliseconds upgrade_timeout{30'000};  // for the answer to an upgrade
  AddressRules addresses = {};
};

}  // namespace cardea::rest

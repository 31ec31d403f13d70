#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/tls.h"

namespace CLI {
class App;
}

namespace cardea::app {

// The files of one --tls-sni-cert-key, and the names that it is for.
struct NamedCertificateFiles {
  std::string certificate, key;
  std::vector<std::string> names;  // empty: those of the certificate
};

// How clients reach `cardea serve`. Where kube-apiserver has the same flag, the name is the same.
struct ServingOptions {
  std::string advertise_address;       // empty: --bind-address
  std::string external_hostname;       // may be empty
  std::vector<std::string> cert_sans;  // further names of the certificate that the server makes
  net::TlsVersion tls_min_version = net::TlsVersion::k12;
  std::string tls_cipher_list;  // as net::TlsServerConfig has it
  std::vector<NamedCertificateFiles> named_certificates;
  bool is_http1_only = false;
  std::chrono::nanoseconds shutdown_delay{0};
  std::chrono::milliseconds request_timeout{60'000};
  std::uint32_t min_request_timeout = 1800;                         // seconds
  std::chrono::milliseconds stream_reauthorization_period{10'000};  // 0: never
  double goaway_chance = 0;
  enum class Sandbox : std::uint8_t { kAuto, kOn, kOff };
  Sandbox sandbox = Sandbox::kAuto;
  std::size_t max_connections = 0;              // 0: as the limit of descriptors allows
  std::size_t max_connections_per_address = 0;  // 0: no limit
  int max_requests_inflight = 400, max_mutating_requests_inflight = 200;  // 0: no limit
  bool priority_and_fairness = true;

  std::vector<std::string> warnings;
};

// The flags as they stand on the command line. Outlives the reading of the line.
struct ServingFlags {
  std::string advertise_address, external_hostname, min_version,
      shutdown_delay = "0s", request_timeout = "1m0s", stream_reauthorization = "10s",
      sandbox = "auto";
  std::int64_t min_request_timeout = 1800;
  double goaway_chance = 0;
  std::uint32_t max_connections = 0, max_connections_per_address = 0;
  int max_requests_inflight = 400, max_mutating_requests_inflight = 200;
  bool priority_and_fairness = true;
  std::vector<std::string> cert_sans, cipher_suites, sni;
  bool disable_http2 = false;
};

void declare_serving(CLI::App& app, ServingFlags& flags);
Result<ServingOptions> read_serving(const ServingFlags& flags);

// The list of a flag that may be repeated and has commas.
std::vector<std::string> flatten(const std::vector<std::string>& raw);

}  // namespace cardea::app

#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cardea::app {

// A certificate and its private key, both PEM.
struct Identity {
  std::string certificate;
  std::string key;
};

// Makes keys and certificates for a server without configured certificates: on the curve P-256 for
// authorities and servers, RSA for clients. Some clients, fabric8 among them, read no other key.
Result<Identity> make_authority(const std::string& common_name);

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> addresses;
  bool for_server = false;  // otherwise for a client
  bool is_own = false;      // for a client that is this program: its key may be on P-256
  int days = 3650;          // how long it lasts
};
Result<Identity> issue(const Identity& authority, const CertificateRequest& request);

// Whether a certificate (PEM) has all names and addresses of the request, and does not end within
// the next month.
bool fits(const std::string& certificate, const CertificateRequest& request);

// When the first certificate of a file (PEM) ends, in seconds since 1970.
Result<std::int64_t> end_of(const std::string& certificate);

}  // namespace cardea::app

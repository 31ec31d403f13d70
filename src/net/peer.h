#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cardea::net {

// The certificate a client showed during the TLS handshake.
//
// Showing one proves only that the client holds its key. Whether one of our client CAs signed it is
// `verified`: a certificate that is not verified never breaks the handshake, and never identifies anybody.
// Connections that show the same one share it.
struct PeerCertificate {
  bool verified = false;
  std::string error;  // why it is not verified: "certificate has expired"

  std::string common_name;                 // of the subject; the last one when there are several
  std::vector<std::string> organizations;  // of the subject, in order
  std::string uid;                         // of the subject, attribute 1.3.6.1.4.1.57683.2
  std::string subject;                     // "CN=jane,O=dev": for messages only
  std::string serial;                      // decimal
  std::string der;
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
};

// Who is on the other end of a connection. Immutable once the handshake is over, shared by its requests.
struct Peer {
  std::string address;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
  bool tls = false;
  std::shared_ptr<const PeerCertificate> certificate;  // null when none was shown
};

}  // namespace cardea::net

#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cardea::net {

class ClientAuthorities;

// Which of the configured CAs signed a client's certificate.
struct CertificateTrust {
  bool client = false;       // a client CA: the subject is the user
  bool front_proxy = false;  // a front proxy CA: the subject may name other users
};

// The certificate of a client in the TLS handshake.
//
// It proves only that the client has its key. `verified` says whether one of the client CAs
// signed it: a certificate that is not verified never breaks the handshake, and never
// identifies a user. Connections with the same certificate share it.
struct PeerCertificate {
  bool verified = false;        // by the client CAs of the handshake
  bool is_front_proxy = false;  // by the front proxy CAs of the handshake
  std::string error;            // why it is not verified: "certificate has expired"

  // The current state: false after the certificate expired, and by the CAs that are configured
  // now, even if the connection is older. Any thread; costs reading the clock while the CAs stay
  // the same.
  CertificateTrust trust() const;

  std::string common_name;                 // of the subject; the last one when there are several
  std::vector<std::string> organizations;  // of the subject, in order
  std::string uid;                         // of the subject, attribute 1.3.6.1.4.1.57683.2
  std::string subject;                     // "CN=jane,O=dev": for messages only
  std::string issuer;                      // "CN=clients": likewise
  std::string serial;                      // decimal
  std::string der;
  std::string sha256;  // of `der`, hex
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;

  std::vector<std::string> intermediates;                // DER, as sent; a resumed session has none
  std::shared_ptr<const ClientAuthorities> authorities;  // null on our side of outgoing connections
  std::uint64_t authorities_version = 0;                 // at the handshake
};

// The other end of a connection. Immutable after the handshake, shared by its requests.
struct Peer {
  std::string address;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
  bool tls = false;
  std::shared_ptr<const PeerCertificate> certificate;  // null when none was shown
};

}  // namespace cardea::net

#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cardea::net {

class ClientAuthorities;

// Which of our CAs vouch for a client's certificate.
struct CertificateTrust {
  bool client = false;       // those of clients: the subject is who asks
  bool front_proxy = false;  // those of front proxies: the subject may speak for others
};

// The certificate a client showed during the TLS handshake.
//
// Showing one proves only that the client holds its key. Whether one of our client CAs signed it is
// `verified`: a certificate that is not verified never breaks the handshake, and never identifies
// anybody. Connections that show the same one share it.
struct PeerCertificate {
  bool verified = false;        // by the client CAs of the handshake
  bool is_front_proxy = false;  // by the front proxy CAs of the handshake
  std::string error;            // why it is not verified: "certificate has expired"

  // What holds now: not after the certificate ran out, and by the CAs that are configured today,
  // though the connection may be older than they are. Any thread; costs a look at the clock while
  // the CAs stay the same.
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

// Who is on the other end of a connection. Immutable once the handshake is over, shared by its
// requests.
struct Peer {
  std::string address;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
  bool tls = false;
  std::shared_ptr<const PeerCertificate> certificate;  // null when none was shown
};

}  // namespace cardea::net

#pragma once
// What the files of net/ that speak OpenSSL share. Not for other rooms.
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "net/connection.h"
#include "net/peer.h"

namespace cardea::net {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
using SslCtxPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Freed<SSL_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free>>;
using X509Ptr = std::unique_ptr<X509, Freed<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

// The oldest error of this thread in words; clears them all.
std::string openssl_error();

// What peers showed, read once: a thousand watches of one client hold one copy. Shared between threads.
class PeerCertificates {
 public:
  // The certificate of this connection, or null. After the handshake.
  std::shared_ptr<const PeerCertificate> of(SSL* ssl);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const PeerCertificate>, std::less<>> known_;  // by verdict and DER
  std::size_t sweep_at_ = 64;
};

// `ssl` is in accept or connect state and has no BIO yet. `settings` is what its callbacks read, and holds
// `certificates`, which is null on the client's side.
std::unique_ptr<Connection> make_tls_connection(Loop& loop, Socket socket, SslPtr ssl,
                                                std::shared_ptr<const void> settings,
                                                PeerCertificates* certificates);

}  // namespace cardea::net

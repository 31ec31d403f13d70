#pragma once
// What the files of net/ that speak OpenSSL share. Not for other rooms.
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "crypto/freed.h"
#include "net/connection.h"
#include "net/peer.h"

namespace cardea::net {

using crypto::BioPtr;
using crypto::KeyPtr;
using crypto::StorePtr;
using crypto::X509Ptr;
using SslCtxPtr = std::unique_ptr<SSL_CTX, crypto::Freed<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, crypto::Freed<SSL_free>>;

// The oldest error of this thread in words; clears them all.
std::string openssl_error();

// The certificates of a PEM text; `what` names it in errors.
Result<std::vector<X509Ptr>> certificates_in(std::string_view pem, std::string_view what);
Result<KeyPtr> key_in(std::string_view pem);

// Verdicts beside X509_V_OK (vouched for by a client CA alone) that a session remembers, in a
// number that OpenSSL has no name for.
inline constexpr int kFrontProxyAlone = 100'001;
inline constexpr int kClientAndFrontProxy = 100'002;

// The current CAs for clients. Shared by a TlsServer and every certificate it has seen.
class ClientAuthorities {
 public:
  struct Stores {
    StorePtr clients, front_proxies;  // null: no CA
  };
  void set(std::shared_ptr<const Stores> stores) {
    std::lock_guard lock(mutex_);
    stores_ = std::move(stores);
    version_.fetch_add(1, std::memory_order_release);
  }
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // By the CAs of now, intermediates included.
  CertificateTrust judge(const PeerCertificate& certificate) const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Stores> stores_;  // guarded by mutex_
  std::atomic<std::uint64_t> version_{0};
  // What `judge` found for certificates that outlived a change; guarded by mutex_.
  mutable std::map<std::string, CertificateTrust> judged_;
  mutable std::uint64_t judged_version_ = 0;
};

// Whether a chain from `certificate` ends in one of the CAs, for a client.
bool vouched_for(X509_STORE* store, X509* certificate, STACK_OF(X509) * untrusted);

// What peers showed, read once: a thousand watches of one client hold one copy. Shared between
// threads.
class PeerCertificates {
 public:
  explicit PeerCertificates(std::shared_ptr<const ClientAuthorities> authorities)
      : authorities_(std::move(authorities)) {}
  // The CAs of this context are the ones of now.
  void set_version(std::uint64_t version) { version_ = version; }
  // The certificate of this connection, or null. After the handshake.
  std::shared_ptr<const PeerCertificate> of(SSL* ssl);

 private:
  std::shared_ptr<const ClientAuthorities> authorities_;
  std::uint64_t version_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const PeerCertificate>, std::less<>> known_;  // by verdict
                                                                                    // and DER
  std::size_t sweep_at_ = 64;
};

// `ssl` is in accept or connect state and has no BIO yet. `settings` is what its callbacks read,
// and holds `certificates`, which is null on the client's side.
std::unique_ptr<Connection> make_tls_connection(Loop& loop, Socket socket, SslPtr ssl,
                                                std::shared_ptr<const void> settings,
                                                PeerCertificates* certificates);

}  // namespace cardea::net

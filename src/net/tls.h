#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/connection.h"

namespace cardea::net {

// A certificate for clients that ask for one of these names.
struct NamedCertificate {
  std::string certificates;  // PEM, with its intermediates
  std::string key;
  std::vector<std::string> names;  // "example.com", "*.example.com"; empty: those it carries
};

enum class TlsVersion { k12, k13 };

// Certificates and keys are PEM texts.
struct TlsServerConfig {
  std::string certificates;  // the server's, then its intermediates
  std::string key;
  std::vector<NamedCertificate> named = {};  // the first that fits is used instead
  std::string client_cas;                    // empty: clients are not asked for a certificate
  std::string front_proxy_cas;  // authorities of proxies that send requests for other users; may be
                                // empty
  std::vector<std::string> protocols = {"h2", "http/1.1"};  // ALPN, the preferred one first
  TlsVersion min_version = TlsVersion::k12;
  std::string cipher_list = {};  // of TLS 1.2, from cipher_list_of; empty: OpenSSL's default
};

// OpenSSL's list for suites with the names of the standards, such as
// `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`. Suites of TLS 1.3 are always offered, as in
// kube-apiserver. An error for unknown suites, for insecure ones, and when none is left for
// TLS 1.2.
Result<std::string> cipher_list_of(const std::vector<std::string>& suites);

// An error when there is no certificate in a PEM text, or a damaged one; `what` names the text in
// it.
Result<void> check_certificates(std::string_view pem, std::string_view what);

// Reads the files a server is usually given. `client_ca_file` may be empty.
Result<TlsServerConfig> read_tls_files(const std::string& certificate_file,
                                       const std::string& key_file,
                                       const std::string& client_ca_file);

// Makes TLS connections (1.2 and later) from accepted sockets.
//
// With client CAs a certificate is requested but not required, and a certificate that does not
// verify does not end the handshake: it appears as an unverified PeerCertificate, and the
// callers decide about it. Shared between threads.
class TlsServer {
 public:
  static Result<std::shared_ptr<TlsServer>> make(const TlsServerConfig& config);
  ~TlsServer();

  // New connections use `config`. Existing connections keep their settings, except for the CAs:
  // their trust is checked again with every request (PeerCertificate::trust). Earlier session
  // tickets become invalid. On an error nothing changes.
  Result<void> reload(const TlsServerConfig& config);

  std::unique_ptr<Connection> accept(Loop& loop, Socket socket) const;

 private:
  struct State;
  explicit TlsServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct TlsClientConfig {
  std::string server_cas;    // PEM; empty: the system's
  std::string certificates;  // ours, PEM; may be empty
  std::string key;
  std::vector<std::string> protocols = {"h2", "http/1.1"};  // ALPN, the preferred one first
  bool insecure_skip_verify = false;
};

// Makes TLS connections out of connected sockets. The server's certificate must verify and carry
// the name, otherwise the handshake fails. Shared between threads.
class TlsClient {
 public:
  static Result<std::shared_ptr<TlsClient>> make(const TlsClientConfig& config);
  ~TlsClient();

  // `server_name` is a DNS name or an IP address.
  std::unique_ptr<Connection> connect(Loop& loop, Socket socket,
                                      const std::string& server_name) const;
  bool offers(std::string_view protocol) const;

 private:
  struct State;
  explicit TlsClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cardea::net

#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>

#include "base/strings.h"
#include "net/named_identities.h"
#include "net/openssl.h"

namespace cardea::net {
namespace {

constexpr long kTicketLifetimeSeconds = 3600;

BioPtr reading(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int no_password(char*, int, int, void*) {
  return 0;
}

}  // namespace

Result<std::vector<X509Ptr>> certificates_in(std::string_view pem, std::string_view what) {
  ERR_clear_error();
  std::vector<X509Ptr> found;
  BioPtr in = reading(pem);
  while (X509* one = PEM_read_bio_X509(in.get(), nullptr, no_password, nullptr))
    found.emplace_back(one);
  const auto error = ERR_peek_last_error();
  if (found.empty() || (error && ERR_GET_REASON(error) != PEM_R_NO_START_LINE))
    return fail(bad_request(
        cat("cannot read ", what, ": ", found.empty() ? "no certificate found" : openssl_error())));
  ERR_clear_error();
  return found;
}

Result<KeyPtr> key_in(std::string_view pem) {
  BioPtr in = reading(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, no_password, nullptr));
  if (!key) return fail(bad_request(cat("cannot read the TLS private key: ", openssl_error())));
  return key;
}

namespace {

Result<void> use_identity(SSL_CTX* ctx, std::string_view certificates, std::string_view key_pem) {
  auto chain = certificates_in(certificates, "the TLS certificate");
  if (!chain) return fail(chain.error());
  if (SSL_CTX_use_certificate(ctx, (*chain)[0].get()) != 1)
    return fail(bad_request(cat("cannot use the TLS certificate: ", openssl_error())));
  for (std::size_t i = 1; i < chain->size(); ++i)
    if (SSL_CTX_add1_chain_cert(ctx, (*chain)[i].get()) != 1)
      return fail(bad_request(cat("cannot use the TLS certificate chain: ", openssl_error())));
  auto key = key_in(key_pem);
  if (!key) return fail(key.error());
  if (SSL_CTX_use_PrivateKey(ctx, key->get()) != 1 || SSL_CTX_check_private_key(ctx) != 1)
    return fail(bad_request(
        cat("the TLS private key does not belong to the certificate: ", openssl_error())));
  return {};
}

Result<void> trust(X509_STORE* store, std::string_view pem, SSL_CTX* tell_clients) {
  auto authorities = certificates_in(pem, "the CA certificates");
  if (!authorities) return fail(authorities.error());
  for (auto& one : *authorities) {
    X509_STORE_add_cert(store, one.get());
    if (tell_clients) SSL_CTX_add_client_CA(tell_clients, one.get());
  }
  // What the operator lists is trusted, be it a root or an intermediate.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  ERR_clear_error();
  return {};
}

// Verifies as usual, and by the front proxies' CAs, then lets the handshake go on. The verdict
// stays in the context, from where SSL_get_verify_result reads it.
int verify_but_go_on(X509_STORE_CTX* context, void* front_proxies) {
  const bool by_proxies = vouched_for(static_cast<X509_STORE*>(front_proxies),
                                      X509_STORE_CTX_get0_cert(context),
                                      X509_STORE_CTX_get0_untrusted(context));
  const int verdict = X509_verify_cert(context);
  if (by_proxies)
    X509_STORE_CTX_set_error(context, verdict > 0 ? kClientAndFrontProxy : kFrontProxyAlone);
  else if (verdict <= 0 && X509_STORE_CTX_get_error(context) == X509_V_OK)
    X509_STORE_CTX_set_error(context, X509_V_ERR_UNSPECIFIED);
  ERR_clear_error();
  return 1;
}

std::string wire_format(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const auto& protocol : protocols) {
    wire.push_back(static_cast<char>(protocol.size()));
    wire += protocol;
  }
  return wire;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void* wire) {
  const auto& ours = *static_cast<const std::string*>(wire);
  unsigned char* out = nullptr;
  const int found = SSL_select_next_proto(
      &out, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
      static_cast<unsigned>(ours.size()), offered, offered_size);
  *chosen = out;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

void common_settings(SSL_CTX* ctx) {
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  // 14 KiB rather than 50 for an idle connection.
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_read_ahead(ctx, 1);
}

struct ServerContext {
  explicit ServerContext(std::shared_ptr<const ClientAuthorities> authorities)
      : certificates(std::move(authorities)) {}
  SslCtxPtr ctx;
  std::string protocols;  // the ALPN callback reads it
  NamedIdentities named;  // the certificate callback reads it
  std::shared_ptr<const ClientAuthorities::Stores> stores;
  mutable PeerCertificates certificates;
};

// Copies that outlive the SSL_CTX, for connections that outlive its CAs.
Result<std::shared_ptr<const ClientAuthorities::Stores>> make_stores(
    const TlsServerConfig& config) {
  auto stores = std::make_shared<ClientAuthorities::Stores>();
  auto fill = [](StorePtr& into, std::string_view pem) -> Result<void> {
    if (pem.empty()) return {};
    into.reset(X509_STORE_new());
    return trust(into.get(), pem, nullptr);
  };
  if (auto ok = fill(stores->clients, config.client_cas); !ok) return fail(ok.error());
  if (auto ok = fill(stores->front_proxies, config.front_proxy_cas); !ok) return fail(ok.error());
  return stores;
}

void server_settings(ServerContext& context) {
  SSL_CTX* ctx = context.ctx.get();
  common_settings(ctx);
  // Many clients half-close without close_notify; the framing of the request shows whether it is
  // complete.
  SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);  // tickets only: no memory per client
  SSL_CTX_set_num_tickets(ctx, 1);
  SSL_CTX_set_timeout(ctx, kTicketLifetimeSeconds);
  constexpr unsigned char kSessionContext[] = "cardea";
  SSL_CTX_set_session_id_context(ctx, kSessionContext, sizeof kSessionContext - 1);
  SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, &context.protocols);
}

Result<std::shared_ptr<ServerContext>> make_context(
    const TlsServerConfig& config, std::shared_ptr<const ClientAuthorities> authorities) {
  auto context = std::make_shared<ServerContext>(std::move(authorities));
  context->ctx.reset(SSL_CTX_new(TLS_server_method()));
  if (!context->ctx) return fail(internal_error(cat("cannot set up TLS: ", openssl_error())));
  context->protocols = wire_format(config.protocols);
  server_settings(*context);
  if (auto used = use_identity(context->ctx.get(), config.certificates, config.key); !used)
    return fail(used.error());
  if (auto named = NamedIdentities::make(config.named); named)
    context->named = std::move(*named);
  else
    return fail(named.error());
  context->named.serve(context->ctx.get());
  if (config.min_version == TlsVersion::k13)
    SSL_CTX_set_min_proto_version(context->ctx.get(), TLS1_3_VERSION);
  // TLS 1.2 with authenticated encryption and forward secrecy only: CBC has a history of oracles.
  constexpr const char* kDefaultSuites = "ECDHE+AESGCM:ECDHE+CHACHA20";
  const char* suites = config.cipher_list.empty() ? kDefaultSuites : config.cipher_list.c_str();
  if (SSL_CTX_set_cipher_list(context->ctx.get(), suites) != 1)
    return fail(bad_request(cat("cannot use the cipher suites: ", openssl_error())));
  auto stores = make_stores(config);
  if (!stores) return fail(stores.error());
  context->stores = std::move(*stores);
  SSL_CTX* ctx = context->ctx.get();
  if (!config.client_cas.empty())
    if (auto trusted = trust(SSL_CTX_get_cert_store(ctx), config.client_cas, ctx); !trusted)
      return fail(trusted.error());
  if (!config.front_proxy_cas.empty()) {
    // Only sent to clients as a hint: the context's own store has the authorities for users.
    auto proxies = certificates_in(config.front_proxy_cas, "the CA certificates");
    if (!proxies) return fail(proxies.error());
    for (auto& one : *proxies) SSL_CTX_add_client_CA(ctx, one.get());
  }
  if (!config.client_cas.empty() || !config.front_proxy_cas.empty()) {
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(ctx, verify_but_go_on, context->stores->front_proxies.get());
  }
  return context;
}

Result<std::string> file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty()) return fail(bad_request(cat("cannot read `", path, "`")));
  return text;
}

bool is_address(const std::string& name) {
  unsigned char parsed[16];
  return ::inet_pton(AF_INET, name.c_str(), parsed) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), parsed) == 1;
}

}  // namespace

std::string openssl_error() {
  char text[256] = "unknown error";
  if (const auto code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

Result<std::string> cipher_list_of(const std::vector<std::string>& suites) {
  std::vector<std::string> names;
  for (const std::string& suite : suites) {
    // TLS 1.3 has three, which are not chosen here.
    if (suite == "TLS_AES_128_GCM_SHA256" || suite == "TLS_AES_256_GCM_SHA384" ||
        suite == "TLS_CHACHA20_POLY1305_SHA256")
      continue;
    const char* name = OPENSSL_cipher_name(suite.c_str());
    if (!name || std::string_view(name) == "(NONE)")
      return fail(bad_request(cat("cipher suite ", suite, " is not known, or insecure")));
    for (std::string_view weak : {"RC4", "3DES", "DES-CBC3", "NULL", "EXP", "MD5"})
      if (std::string_view(name).contains(weak))
        return fail(bad_request(cat("cipher suite ", suite, " is insecure")));
    names.emplace_back(name);
  }
  if (names.empty() && !suites.empty()) return fail(bad_request("no cipher suite for TLS 1.2"));
  return join(names, ":");
}

Result<void> check_certificates(std::string_view pem, std::string_view what) {
  auto found = certificates_in(pem, what);
  if (!found) return fail(found.error());
  return {};
}

Result<TlsServerConfig> read_tls_files(const std::string& certificate_file,
                                       const std::string& key_file,
                                       const std::string& client_ca_file) {
  TlsServerConfig config;
  auto certificates = file_text(certificate_file);
  if (!certificates) return fail(certificates.error());
  auto key = file_text(key_file);
  if (!key) return fail(key.error());
  config.certificates = std::move(*certificates);
  config.key = std::move(*key);
  if (!client_ca_file.empty()) {
    auto authorities = file_text(client_ca_file);
    if (!authorities) return fail(authorities.error());
    config.client_cas = std::move(*authorities);
  }
  return config;
}

struct TlsServer::State {
  mutable std::mutex mutex;
  std::shared_ptr<const ServerContext> context;  // each connection holds the one it began with
  std::shared_ptr<ClientAuthorities> authorities = std::make_shared<ClientAuthorities>();

  // With the lock, or before other threads know this object.
  void take(std::shared_ptr<ServerContext> next) {
    authorities->set(next->stores);
    next->certificates.set_version(authorities->version());
    context = std::move(next);
  }
};

TlsServer::TlsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsServer::~TlsServer() = default;

Result<std::shared_ptr<TlsServer>> TlsServer::make(const TlsServerConfig& config) {
  auto state = std::make_unique<State>();
  auto context = make_context(config, state->authorities);
  if (!context) return fail(context.error());
  state->take(std::move(*context));
  return std::shared_ptr<TlsServer>(new TlsServer(std::move(state)));
}

Result<void> TlsServer::reload(const TlsServerConfig& config) {
  auto context = make_context(config, state_->authorities);
  if (!context) return fail(context.error());
  std::lock_guard lock(state_->mutex);
  state_->take(std::move(*context));
  return {};
}

std::unique_ptr<Connection> TlsServer::accept(Loop& loop, Socket socket) const {
  std::shared_ptr<const ServerContext> context;
  {
    std::lock_guard lock(state_->mutex);
    context = state_->context;
  }
  SslPtr ssl(SSL_new(context->ctx.get()));
  CARDEA_CHECK(ssl != nullptr);
  SSL_set_accept_state(ssl.get());
  PeerCertificates* certificates = &context->certificates;
  return make_tls_connection(loop, std::move(socket), std::move(ssl), std::move(context),
                             certificates);
}

struct TlsClient::State {
  SslCtxPtr ctx;
  std::vector<std::string> protocols;
  bool verify = true;
};

TlsClient::TlsClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsClient::~TlsClient() = default;

Result<std::shared_ptr<TlsClient>> TlsClient::make(const TlsClientConfig& config) {
  auto state = std::make_unique<State>();
  state->ctx.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* ctx = state->ctx.get();
  if (!ctx) return fail(internal_error(cat("cannot set up TLS: ", openssl_error())));
  common_settings(ctx);
  state->protocols = config.protocols;
  const std::string wire = wire_format(config.protocols);
  SSL_CTX_set_alpn_protos(ctx, reinterpret_cast<const unsigned char*>(wire.data()),
                          static_cast<unsigned>(wire.size()));
  if (config.server_cas.empty())
    SSL_CTX_set_default_verify_paths(ctx);
  else if (auto trusted = trust(SSL_CTX_get_cert_store(ctx), config.server_cas, nullptr); !trusted)
    return fail(trusted.error());
  if (!config.certificates.empty())
    if (auto used = use_identity(ctx, config.certificates, config.key); !used)
      return fail(used.error());
  state->verify = !config.insecure_skip_verify;
  SSL_CTX_set_verify(ctx, state->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  return std::shared_ptr<TlsClient>(new TlsClient(std::move(state)));
}

bool TlsClient::offers(std::string_view protocol) const {
  return std::ranges::find(state_->protocols, protocol) != state_->protocols.end();
}

std::unique_ptr<Connection> TlsClient::connect(Loop& loop, Socket socket,
                                               const std::string& server_name) const {
  SslPtr ssl(SSL_new(state_->ctx.get()));
  CARDEA_CHECK(ssl != nullptr);
  SSL_set_connect_state(ssl.get());
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl.get());
  if (is_address(server_name)) {
    X509_VERIFY_PARAM_set1_ip_asc(param, server_name.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl.get(), server_name.c_str());
    X509_VERIFY_PARAM_set1_host(param, server_name.data(), server_name.size());
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  }
  return make_tls_connection(loop, std::move(socket), std::move(ssl), nullptr, nullptr);
}

}  // namespace cardea::net

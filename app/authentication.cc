#include "app/authentication.h"

#include "authn/bootstrap_token.h"
#include "authn/request_header.h"
#include "authn/webhook_authenticator.h"
#include "base/snapshot.h"
#include "base/strings.h"
#include "crypto/digest.h"
#include "json/print.h"
#include "upstream/webhook_client.h"

namespace cardea::app {
namespace {

using AuthenticatorList = std::vector<std::shared_ptr<const authn::Authenticator>>;

// Asks the tokens of a file as it is now.
class LiveTokenFile : public authn::Authenticator {
 public:
  explicit LiveTokenFile(std::shared_ptr<const authn::Authenticator> first)
      : tokens_(std::move(first)) {}

  std::optional<authn::Outcome> authenticate(const authn::Credentials& c) const override {
    return tokens_.get()->authenticate(c);
  }
  void replace(std::shared_ptr<const authn::Authenticator> next) { tokens_.set(std::move(next)); }

 private:
  Snapshot<authn::Authenticator> tokens_;
};

Result<void> add_static_tokens(const AuthenticationParts& parts,
                               const std::vector<std::string>& audiences, AuthenticatorList& list) {
  const std::string& file = parts.options.token_auth_file;
  if (file.empty()) return {};
  auto text = read_file(file);
  if (!text) return fail(text.error());
  auto tokens = authn::token_file_authenticator(*text, audiences);
  if (!tokens) return fail(bad_request(cat("`", file, "`: ", tokens.error().message)));
  auto live = std::make_shared<LiveTokenFile>(std::move(*tokens));
  list.push_back(live);
  // A file that makes no sense changes nothing: half of a list would lock users out.
  auto changed = [weak = std::weak_ptr(live), file, audiences, &log = parts.log](auto texts) {
    auto known = weak.lock();
    if (!known) return;
    auto next = texts ? authn::token_file_authenticator(texts->at(0), audiences)
                      : Result<std::unique_ptr<authn::Authenticator>>(fail(texts.error()));
    if (next) {
      known->replace(std::move(*next));
      log.write(LogLevel::kInfo, cat("tokens reloaded from `", file, "`"));
    } else {
      log.write(LogLevel::kWarning,
                cat("tokens not reloaded from `", file, "`: ", next.error().message));
    }
  };
  parts.files.watch_texts({file}, {std::move(*text)}, std::move(changed));
  return {};
}

Result<authn::SigningKey> signing_key(const AuthenticationParts& parts) {
  const std::string& given = parts.options.authentication.service_account_signing_key_file;
  auto make = []() -> Result<std::string> {
    auto key = authn::SigningKey::make_ec();  // an RSA key takes longer to make than everything
                                              // else of a first start
    if (!key) return fail(key.error());
    return key->pem();
  };
  auto pem = given.empty() ? keep_secret(parts.data.path + "/service-account.key", make)
                           : read_file(given);
  if (!pem) return fail(pem.error());
  auto key = authn::SigningKey::parse(*pem);
  if (!key && !given.empty()) return fail(bad_request(cat("`", given, "`: ", key.error().message)));
  return key;
}

Result<std::shared_ptr<const authn::ServiceAccountTokens>> make_tokens(
    const AuthenticationParts& parts, std::string& secret) {
  const AuthenticationOptions& o = parts.options.authentication;
  authn::ServiceAccountOptions options{
      .issuers = o.service_account_issuers,
      .audiences = o.api_audiences,
      .jwks_uri = o.service_account_jwks_uri,
      .max_expiration = o.service_account_max_token_expiration.count(),
      .extend_expiration = o.service_account_extend_token_expiration};
  std::string url = own_url(parts.options.bind_address, parts.options.secure_port);
  if (options.issuers.empty()) options.issuers = {url};
  if (options.audiences.empty()) options.audiences = options.issuers;
  if (options.jwks_uri.empty()) options.jwks_uri = url + "/openid/v1/jwks";
  auto signer = signing_key(parts);
  if (!signer) return fail(signer.error());
  secret = crypto::sha256(cat("a secret beside service account tokens\n", signer->pem()));
  std::vector<authn::PublicKey> others;
  for (const std::string& file : o.service_account_key_files) {
    auto text = read_file(file);
    if (!text) return fail(text.error());
    auto keys = authn::parse_public_keys(*text);
    if (!keys) return fail(bad_request(cat("`", file, "`: ", keys.error().message)));
    for (authn::PublicKey& key : *keys) others.push_back(std::move(key));
  }
  return std::make_shared<const authn::ServiceAccountTokens>(
      std::move(options), std::move(*signer), std::move(others), parts.clock, parts.random);
}

Result<void> add_webhook(const AuthenticationParts& parts,
                         const std::vector<std::string>& audiences, AuthenticatorList& list) {
  const AuthenticationOptions& o = parts.options.authentication;
  if (o.webhook_config_file.empty()) return {};
  auto upstream = upstream::read_kubeconfig(o.webhook_config_file);
  if (!upstream) return fail(upstream.error());
  auto client = upstream::WebhookClient::make(parts.loop, *parts.ways.webhooks,
                                              std::move(*upstream), {}, &parts.files);
  if (!client) return fail(client.error());
  list.push_back(authn::webhook_authenticator(
      std::move(*client),
      {.version = o.webhook_version, .ttl = o.webhook_cache_ttl, .audiences = audiences},
      parts.clock));
  return {};
}

// The files that TLS is made of; those that were not given are empty.
struct TlsFiles {
  std::string certificate, key, client_ca, front_proxy_ca;
  std::vector<NamedCertificateFiles> named = {};

  std::vector<std::string> given() const {
    std::vector<std::string> out;
    for (const std::string* file : {&certificate, &key, &client_ca, &front_proxy_ca})
      if (!file->empty()) out.push_back(*file);
    for (const NamedCertificateFiles& files : named) {
      out.push_back(files.certificate);
      out.push_back(files.key);
    }
    return out;
  }
};

Result<net::TlsServerConfig> read_config(const TlsFiles& files, const DataDirectory& data) {
  net::TlsServerConfig config{.certificates = data.server.certificate,
                              .key = data.server.key,
                              .client_cas = data.authority.certificate};
  auto take = [](const std::string& file, std::string& into, bool adds) -> Result<void> {
    if (file.empty()) return {};
    auto text = read_file(file);
    if (!text) return fail(text.error());
    // Beside our own CA a file of nothing would go unnoticed.
    if (adds)
      if (auto ok = net::check_certificates(*text, cat("`", file, "`")); !ok) return ok;
    if (adds)
      into += *text;
    else
      into = std::move(*text);
    return {};
  };
  if (auto ok = take(files.certificate, config.certificates, false); !ok) return fail(ok.error());
  if (auto ok = take(files.key, config.key, false); !ok) return fail(ok.error());
  if (auto ok = take(files.client_ca, config.client_cas, true); !ok) return fail(ok.error());
  if (auto ok = take(files.front_proxy_ca, config.front_proxy_cas, false); !ok)
    return fail(ok.error());
  for (const NamedCertificateFiles& one : files.named) {
    net::NamedCertificate& named = config.named.emplace_back();
    named.names = one.names;
    if (auto ok = take(one.certificate, named.certificates, false); !ok) return fail(ok.error());
    if (auto ok = take(one.key, named.key, false); !ok) return fail(ok.error());
  }
  return config;
}

// The same, and what the flags say about TLS itself.
Result<net::TlsServerConfig> read_config(const TlsFiles& files, const DataDirectory& data,
                                         const ServingOptions& serving) {
  auto config = read_config(files, data);
  if (!config) return config;
  config->min_version = serving.tls_min_version;
  config->cipher_list = serving.tls_cipher_list;
  if (serving.is_http1_only) config->protocols = {"http/1.1"};
  return config;
}

}  // namespace

Result<Authentication> make_authentication(const AuthenticationParts& parts) {
  const AuthenticationOptions& o = parts.options.authentication;
  Authentication made;
  auto tokens = make_tokens(parts, made.secret);
  if (!tokens) return fail(tokens.error());
  made.service_account_tokens = std::move(*tokens);
  const std::vector<std::string>& audiences = made.service_account_tokens->options().audiences;
  AuthenticatorList list;
  if (!o.requestheader_client_ca_file.empty())
    list.push_back(authn::request_header_authenticator(o.request_header));
  list.push_back(authn::certificate_authenticator());
  if (auto ok = add_static_tokens(parts, audiences, list); !ok) return fail(ok.error());
  auto jwt = make_jwt_authentication(
      o, {.loop = parts.loop,
          .dialer = *parts.ways.issuers,
          .egress = parts.ways.egress(),
          .clock = parts.clock,
          .log = parts.log,
          .audiences = audiences,
          .account_issuers = made.service_account_tokens->options().issuers,
          .server_id = own_url(parts.options.bind_address, parts.options.secure_port),
          .anonymous_auth = parts.options.anonymous_auth,
          .egress_selectors = parts.options.gates.on(
              "StructuredAuthenticationConfigurationEgressSelector")});
  if (!jwt) return fail(jwt.error());
  made.jwt = std::move(*jwt);
  if (!parts.options.gates.on("StructuredAuthenticationConfigurationJWKSMetrics"))
    made.jwt.metrics->hide_keys();
  // Issuers are never those of service accounts, so the order of the authenticators does not
  // change the answer.
  list.push_back(made.jwt.authenticators->remembered());
  list.push_back(
      authn::service_account_authenticator(made.service_account_tokens, parts.store, parts.clock));
  if (o.bootstrap_tokens)
    list.push_back(authn::bootstrap_token_authenticator(parts.store, parts.clock, audiences));
  list.push_back(made.jwt.authenticators);
  if (auto ok = add_webhook(parts, audiences, list); !ok) return fail(ok.error());
  if (made.jwt.anonymous) list.push_back(made.jwt.anonymous);
  auto forget = [headers = o.request_header](http::Headers& of) {
    authn::strip_request_headers(headers, of);
  };
  auto note = [jwt = made.jwt.authenticators](std::string_view token, auto& texts) {
    jwt->note_refusal(token, texts);
  };
  made.chain = std::make_unique<authn::AuthenticatorChain>(std::move(list), forget, note);
  return made;
}

Result<std::shared_ptr<net::TlsServer>> make_tls(const ServeOptions& options,
                                                 const DataDirectory& data, net::FileWatch& watch,
                                                 const Log& log) {
  TlsFiles files{options.tls_cert_file, options.tls_private_key_file, options.client_ca_file,
                 options.authentication.requestheader_client_ca_file,
                 options.serving.named_certificates};
  const ServingOptions& serving = options.serving;
  auto config = read_config(files, data, serving);
  if (!config) return fail(config.error());
  auto tls = net::TlsServer::make(*config);
  if (!tls || files.given().empty()) return tls;
  std::vector<std::string> known;
  for (const std::string& file : files.given())
    known.push_back(net::read_whole_file(file).value_or(""));
  watch.watch_texts(files.given(), std::move(known),
                    [weak = std::weak_ptr(*tls), files, data, serving, &log](auto texts) {
                      auto server = weak.lock();
                      if (!server) return;
                      Result<void> done = texts ? Result<void>() : fail(texts.error());
                      // A certificate and its key are two files: between the two writes they do not
                      // fit, and nothing changes.
                      if (done) {
                        auto next = read_config(files, data, serving);
                        done = next ? server->reload(*next) : fail(next.error());
                      }
                      if (done)
                        log.write(LogLevel::kInfo, "certificates reloaded");
                      else
                        log.write(LogLevel::kWarning,
                                  cat("certificates not reloaded: ", done.error().message));
                    });
  return tls;
}

Result<std::vector<std::pair<std::string, std::string>>> authentication_facts(
    const ServeOptions& options, const DataDirectory& data) {
  const AuthenticationOptions& o = options.authentication;
  auto config = read_config({"", "", options.client_ca_file, o.requestheader_client_ca_file}, data);
  if (!config) return fail(config.error());
  std::vector<std::pair<std::string, std::string>> facts = {{"client-ca-file", config->client_cas}};
  // Servers behind this one believe the proxies that this one believes, and this one itself.
  const bool is_own_shown = options.backends.proxy_client_certificate.empty();
  authn::RequestHeaderOptions headers = o.request_header;
  std::string authorities = config->front_proxy_cas;
  if (is_own_shown) {
    authorities += data.front_proxy_authority.certificate;
    const bool names_some = o.requestheader_client_ca_file.empty() ||
                            !headers.allowed_names.empty();
    if (names_some) headers.allowed_names.emplace_back(kFrontProxyName);
  }
  if (authorities.empty()) return facts;
  auto or_default = [](std::vector<std::string>& list, const char* one) {
    if (list.empty()) list.emplace_back(one);
  };
  or_default(headers.username_headers, "X-Remote-User");
  or_default(headers.uid_headers, "X-Remote-Uid");
  or_default(headers.group_headers, "X-Remote-Group");
  or_default(headers.extra_prefixes, "X-Remote-Extra-");
  auto add = [&facts](std::string key, const std::vector<std::string>& texts) {
    json::Value list = json::Value::array();
    for (const std::string& text : texts) list.push_back(text);
    facts.emplace_back(std::move(key), json::print(list));
  };
  facts.emplace_back("requestheader-client-ca-file", std::move(authorities));
  add("requestheader-allowed-names", headers.allowed_names);
  add("requestheader-extra-headers-prefix", headers.extra_prefixes);
  add("requestheader-group-headers", headers.group_headers);
  add("requestheader-uid-headers", headers.uid_headers);
  add("requestheader-username-headers", headers.username_headers);
  return facts;
}

}  // namespace cardea::app

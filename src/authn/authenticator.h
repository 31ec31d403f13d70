#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/user.h"
#include "base/result.h"
#include "base/task.h"
#include "http/message.h"

namespace cardea::authn {

// The identity a client certificate carries.
struct CertificateIdentity {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string der_sha256;  // hex, for the credential id
  std::string uid;
  std::string issuer;  // its CA's name, for the log
};

// What a request brings along to say who sends it. Borrows.
struct Credentials {
  const CertificateIdentity* certificate = nullptr;  // what TLS saw, or none
  bool is_client = false;                            // a client CA vouches for it
  bool is_front_proxy = false;                       // a front proxy CA vouches for it
  std::string_view token;                            // of `Authorization: Bearer`, or empty
  std::string_view path;
  const http::Headers* headers = nullptr;  // the whole request's; null in a TokenReview
  const std::vector<std::string>* audiences = nullptr;  // whom the token must be meant for; null:
                                                        // this API server
};

// Who it is, and how that was found out. The audit event and the log say it; the token is never in
// it.
struct Identity {
  authz::User user;
  std::string authenticator;           // "x509", "token-file", "service-account", "jwt", "webhook",
                                       // "request-header", "anonymous"
  std::string issuer;                  // of a signed token, or of a certificate
  std::string key_id;                  // of the key that signed it
  std::string credential_id;           // "JTI=...", "X509SHA256=..."; also in the user's extra
  std::vector<std::string> audiences;  // those asked for that the token has
  // For the audit event, by Kubernetes' keys: that a token is stale, or of the old sort.
  std::vector<std::pair<std::string, std::string>> annotations;
};

inline constexpr std::string_view kCredentialIdExtra = "authentication.kubernetes.io/credential-id";

// nullopt: these credentials are not mine. An error: they are, and they are wrong.
using Outcome = Result<std::optional<Identity>>;

// Who sends this? Most answer from memory at once; one that has to ask elsewhere answers nullopt
// from `authenticate` and is then asked with `authenticate_waiting`. Instances are shared between
// threads; what `credentials` borrow must live until the answer is there.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  virtual std::optional<Outcome> authenticate(const Credentials& credentials) const = 0;
  virtual Task<Outcome> authenticate_waiting(Credentials credentials) const;
};

// The audiences a token serves that was made for none in particular, as static ones are: those of
// this server
// (`own`) that were asked for. Empty: it is not for whoever asks.
std::vector<std::string> served_audiences(const Credentials& credentials,
                                          const std::vector<std::string>& own);

// A certificate that no client CA vouches for is a wrong credential, not an absent one.
std::unique_ptr<Authenticator> certificate_authenticator();
// Lines of `token,user,uid[,"group1,group2"]`, good for `audiences` (those of this server).
Result<std::unique_ptr<Authenticator>> token_file_authenticator(
    std::string_view csv, std::vector<std::string> audiences = {});
std::unique_ptr<Authenticator> anonymous_authenticator();

// Asks each in turn. Nobody recognised the credentials, or one refused them and nobody else
// accepted: Unauthorized. Every authenticated user is in system:authenticated.
class AuthenticatorChain {
 public:
  // `forget` takes headers off a request that only authentication may believe; may be empty.
  explicit AuthenticatorChain(std::vector<std::shared_ptr<const Authenticator>> authenticators,
                              std::function<void(http::Headers&)> forget = {})
      : authenticators_(std::move(authenticators)), forget_(std::move(forget)) {}
  // Answers without waiting when everyone who has to be asked can. The error never says why, `why`
  // does: for the log and for token reviews. It names no secret.
  std::optional<Result<Identity>> decide(const Credentials& credentials,
                                         std::string* why = nullptr) const;
  Task<Result<Identity>> authenticate(Credentials credentials, std::string* why = nullptr) const;

  // Takes the credentials off a request: what comes after authentication has no use for them and
  // could only leak them.
  void forget(http::Headers& headers) const;

 private:
  std::vector<std::shared_ptr<const Authenticator>> authenticators_;
  std::function<void(http::Headers&)> forget_;
};

// The token of `Authorization: Bearer x`; empty when there is none.
std::string_view bearer_token(std::string_view authorization);

// The token of a request: from Authorization, else from the protocols a browser's WebSocket asks
// for. An error when there is more than one Authorization header, since two readers could take two
// different ones. `storage` keeps a decoded one.
Result<std::string_view> request_token(const http::Headers& headers, std::string& storage);

}  // namespace cardea::authn

#pragma once
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
};

// What a request brings along to say who sends it. Borrows.
struct Credentials {
  const CertificateIdentity* certificate = nullptr;  // verified by TLS against the client CAs, or none
  std::string_view token;                            // of `Authorization: Bearer`, or empty
  std::string_view path;
  const http::Headers* headers = nullptr;            // the whole request's; null in a TokenReview
  const std::vector<std::string>* audiences = nullptr;  // whom the token must be meant for; null: this API server
};

// Who it is, and how that was found out. The audit event and the log say it; the token is never in it.
struct Identity {
  authz::User user;
  std::string authenticator;  // "x509", "token-file", "service-account", "jwt", "webhook", "request-header", "anonymous"
  std::string issuer;         // of a signed token, or of a certificate
  std::string key_id;         // of the key that signed it
  std::vector<std::string> audiences;  // those asked for that the token has
};

// nullopt: these credentials are not mine. An error: they are, and they are wrong.
using Outcome = Result<std::optional<Identity>>;

// Who sends this? Most answer from memory at once; one that has to ask elsewhere answers nullopt from
// `authenticate` and is then asked with `authenticate_waiting`. Instances are shared between threads; what
// `credentials` borrow must live until the answer is there.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  virtual std::optional<Outcome> authenticate(const Credentials& credentials) const = 0;
  virtual Task<Outcome> authenticate_waiting(Credentials credentials) const;
};

std::unique_ptr<Authenticator> certificate_authenticator();
// Lines of `token,user,uid[,"group1,group2"]`.
Result<std::unique_ptr<Authenticator>> token_file_authenticator(std::string_view csv);
std::unique_ptr<Authenticator> anonymous_authenticator();

// Asks each in turn. Nobody recognised the credentials, or one refused them and nobody else accepted:
// Unauthorized. Every authenticated user is in system:authenticated.
class AuthenticatorChain {
 public:
  explicit AuthenticatorChain(std::vector<std::shared_ptr<const Authenticator>> authenticators)
      : authenticators_(std::move(authenticators)) {}
  // Answers without waiting when everyone who has to be asked can.
  std::optional<Result<Identity>> decide(const Credentials& credentials) const;
  Task<Result<Identity>> authenticate(Credentials credentials) const;

 private:
  std::vector<std::shared_ptr<const Authenticator>> authenticators_;
};

// The token of `Authorization: Bearer x`; empty when there is none.
std::string_view bearer_token(std::string_view authorization);

}  // namespace cardea::authn

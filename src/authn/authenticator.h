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

// The credentials of a request. Borrows.
struct Credentials {
  const CertificateIdentity* certificate = nullptr;  // the certificate that TLS received, or none
  bool is_client = false;                            // a client CA signed it
  bool is_front_proxy = false;                       // a front proxy CA signed it
  std::string_view token;                            // of `Authorization: Bearer`, or empty
  std::string_view path;
  const http::Headers* headers = nullptr;  // the whole request's; null in a TokenReview
  const std::vector<std::string>* audiences = nullptr;  // the audiences that the token must have;
                                                        // null: this API server
};

// The user, and how the user was authenticated. The audit event and the log show it; it never
// contains the token.
struct Identity {
  authz::User user;
  std::string authenticator;           // "x509", "token-file", "service-account", "jwt", "webhook",
                                       // "request-header", "anonymous"
  std::string issuer;                  // of a signed token, or of a certificate
  std::string key_id;                  // of the key that signed it
  std::string credential_id;           // "JTI=...", "X509SHA256=..."; also in the user's extra
  std::vector<std::string> audiences;  // the requested audiences that the token has
  // For the audit event, by Kubernetes' keys: that a token is stale, or a legacy token.
  std::vector<std::pair<std::string, std::string>> annotations;
};

inline constexpr std::string_view kCredentialIdExtra = "authentication.kubernetes.io/credential-id";

// nullopt: another authenticator may know these credentials. An error: the credentials belong
// to this authenticator, and they are wrong.
using Outcome = Result<std::optional<Identity>>;

// Finds the user of a request. Most authenticators answer from memory at once. One that must
// call another server returns nullopt from `authenticate`; then `authenticate_waiting` is
// called. Instances are shared between threads; the data that `credentials` borrows must live
// until the answer has arrived.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  virtual std::optional<Outcome> authenticate(const Credentials& credentials) const = 0;
  virtual Task<Outcome> authenticate_waiting(Credentials credentials) const;
};

// The audiences of a token without audiences, such as a static one: the requested audiences
// that belong to this server (`own`). Empty: the token is not valid for the requested
// audiences.
std::vector<std::string> served_audiences(const Credentials& credentials,
                                          const std::vector<std::string>& own);

// A certificate that no client CA signed is a wrong credential, not an absent one.
std::unique_ptr<Authenticator> certificate_authenticator();
// Lines of `token,user,uid[,"group1,group2"]`, valid for `audiences` (those of this server).
Result<std::unique_ptr<Authenticator>> token_file_authenticator(
    std::string_view csv, std::vector<std::string> audiences = {});
std::unique_ptr<Authenticator> anonymous_authenticator();

// Asks each authenticator in turn. The result is Unauthorized if no authenticator recognised
// the credentials, or if one refused them and no other accepted. Every authenticated user is in
// system:authenticated.
class AuthenticatorChain {
 public:
  // `forget` removes headers from a request that only authentication may trust; may be empty.
  // `note_refusal` sees each token of a request that is refused, and what the authenticators said
  // against it; it may change these texts, which are for the log and the audit event. May be empty.
  using NoteRefusal = std::function<void(std::string_view token, std::vector<std::string>& texts)>;
  explicit AuthenticatorChain(std::vector<std::shared_ptr<const Authenticator>> authenticators,
                              std::function<void(http::Headers&)> forget = {},
                              NoteRefusal note_refusal = {})
      : authenticators_(std::move(authenticators)),
        forget_(std::move(forget)),
        note_refusal_(std::move(note_refusal)) {}
  // Answers without waiting when all authenticators that must be asked can. The error does not
  // contain the cause; `why` does, for the log and for token reviews. It contains no secret.
  std::optional<Result<Identity>> decide(const Credentials& credentials,
                                         std::string* why = nullptr) const;
  Task<Result<Identity>> authenticate(Credentials credentials, std::string* why = nullptr) const;

  // Removes the credentials from a request: later stations do not need them and could only leak
  // them.
  void forget(http::Headers& headers) const;

 private:
  std::vector<std::shared_ptr<const Authenticator>> authenticators_;
  std::function<void(http::Headers&)> forget_;
  NoteRefusal note_refusal_;
};

// The token of `Authorization: Bearer x`; empty when there is none.
std::string_view bearer_token(std::string_view authorization);

// The token of a request: from Authorization, else from the protocols of a browser's WebSocket.
// More than one Authorization header is an error, because two readers could use different ones.
// `storage` keeps a decoded token.
Result<std::string_view> request_token(const http::Headers& headers, std::string& storage);

}  // namespace cardea::authn

#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/user.h"
#include "base/result.h"

namespace cardea::authn {

// The identity a verified client certificate carries.
struct CertificateIdentity {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string der_sha256;  // hex, for the credential id
};

// What a request brings along to say who sends it. Borrows.
struct Credentials {
  const CertificateIdentity* certificate = nullptr;  // verified by TLS, or none
  std::string_view authorization;                    // the header, or empty
  std::string_view path;
};

// Who sends this? nullopt: these credentials are not mine. An error: they are, and they are wrong.
// Instances are shared between threads.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  virtual Result<std::optional<authz::User>> authenticate(const Credentials& credentials) const = 0;
};

std::unique_ptr<Authenticator> certificate_authenticator();
// Lines of `token,user,uid[,"group1,group2"]`.
Result<std::unique_ptr<Authenticator>> token_file_authenticator(std::string_view csv);
std::unique_ptr<Authenticator> anonymous_authenticator();

// Asks each in turn. Nobody recognised the credentials, or one refused them and nobody else accepted:
// Unauthorized. Every authenticated user is in system:authenticated.
class AuthenticatorChain {
 public:
  explicit AuthenticatorChain(std::vector<std::unique_ptr<Authenticator>> authenticators)
      : authenticators_(std::move(authenticators)) {}
  Result<authz::User> authenticate(const Credentials& credentials) const;

 private:
  std::vector<std::unique_ptr<Authenticator>> authenticators_;
};

}  // namespace cardea::authn

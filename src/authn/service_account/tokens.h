#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authn/authenticator.h"
#include "authn/jwt/jwks.h"
#include "authn/jwt/signature.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace cardea::store {
class Store;
}

namespace cardea::authn {

// Where tokens of service accounts issued before audiences and expiry say they are from.
inline constexpr std::string_view kLegacyIssuer = "kubernetes/serviceaccount";

struct ServiceAccountOptions {
  std::vector<std::string> issuers;    // all are accepted; the first one issues
  std::vector<std::string> audiences;  // of this server
  std::string jwks_uri;                // where others find the keys
  std::int64_t max_expiration = 0;     // seconds; 0: no limit
  bool extend_expiration = true;       // see TokenRequest::may_extend
};

// An object by name and identity.
struct ObjectRef {
  std::string name, uid;
};

// What a token is asked to say.
struct ServiceAccountClaims {
  std::string namespace_name;
  ObjectRef account;
  std::optional<ObjectRef> pod, node, secret;  // what it is bound to: it dies with them
  std::vector<std::string> audiences;
  std::int64_t lifetime = 3600;  // seconds
};

struct IssuedToken {
  std::string token;
  std::int64_t expires = 0;  // as the client is told; the token itself may live longer
  std::string id = {};       // its claim `jti`
};

// Makes the tokens of service accounts and says by which keys others can verify them. Immutable;
// from any thread.
class ServiceAccountTokens {
 public:
  // `others` are further keys whose tokens are accepted.
  ServiceAccountTokens(ServiceAccountOptions options, SigningKey signer,
                       std::vector<PublicKey> others, const Clock& clock, Random& random);

  const ServiceAccountOptions& options() const { return options_; }

  // Kubernetes' grace for clients that never read their mounted token again: one that a kubelet
  // asks for (3607 seconds, bound to a pod, for this server) lives a year, and carries the time
  // from which on it counts as stale.
  Result<IssuedToken> issue(const ServiceAccountClaims& claims) const;

  // The signature's key, or null.
  const PublicKey* verifier_of(const Jwt& jwt) const;

  const std::string& discovery_document() const { return discovery_document_; }
  const std::string& key_set_document() const { return key_set_document_; }

 private:
  ServiceAccountOptions options_;
  SigningKey signer_;
  KeySet keys_;
  const Clock& clock_;
  Random& random_;
  std::string discovery_document_, key_set_document_;
};

// Recognises tokens of service accounts. That the signature is good may be remembered; that the
// account and whatever the token is bound to still exist is looked up in the store with every
// request, so that deleting one of them revokes the token with the next. All of what is borrowed
// outlives this.
std::unique_ptr<Authenticator> service_account_authenticator(
    std::shared_ptr<const ServiceAccountTokens> tokens, const store::Store& store,
    const Clock& clock);

}  // namespace cardea::authn

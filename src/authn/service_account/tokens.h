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

// The issuer in legacy service account tokens, from the time before audiences and expiry.
inline constexpr std::string_view kLegacyIssuer = "kubernetes/serviceaccount";

struct ServiceAccountOptions {
  std::vector<std::string> issuers;    // all are accepted; the first one issues
  std::vector<std::string> audiences;  // of this server
  std::string jwks_uri;                // where other servers find the keys
  std::int64_t max_expiration = 0;     // seconds; 0: no limit
  bool extend_expiration = true;       // see TokenRequest::may_extend
};

// An object by name and identity.
struct ObjectRef {
  std::string name, uid;
};

// The requested content of a token.
struct ServiceAccountClaims {
  std::string namespace_name;
  ObjectRef account;
  std::optional<ObjectRef> pod, node, secret;  // the objects to which it is bound: the token
                                               // becomes invalid when they are deleted
  std::vector<std::string> audiences;
  std::int64_t lifetime = 3600;  // seconds
};

struct IssuedToken {
  std::string token;
  std::int64_t expires = 0;  // as shown to the client; the token itself may live longer
  std::string id = {};       // its claim `jti`
};

// Makes the tokens of service accounts and publishes the keys that verify them. Immutable; from
// any thread.
class ServiceAccountTokens {
 public:
  // `others` are further keys whose tokens are accepted.
  ServiceAccountTokens(ServiceAccountOptions options, SigningKey signer,
                       std::vector<PublicKey> others, const Clock& clock, Random& random);

  const ServiceAccountOptions& options() const { return options_; }

  // Kubernetes' extension for clients that never read their mounted token again: a token that a
  // kubelet requests (3607 seconds, bound to a pod, for this server) lives a year, and contains
  // the time from which on it counts as stale.
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

// Recognises tokens of service accounts. A verified signature may be remembered. The account
// and the bound objects are looked up in the store with every request, so that deleting one of
// them revokes the token from the next request on. All borrowed parts must outlive this object.
std::unique_ptr<Authenticator> service_account_authenticator(
    std::shared_ptr<const ServiceAccountTokens> tokens, const store::Store& store,
    const Clock& clock);

}  // namespace cardea::authn

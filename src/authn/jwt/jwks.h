#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authn/jwt/jwt.h"
#include "authn/jwt/signature.h"
#include "base/result.h"
#include "json/value.h"

namespace cardea::authn {

// The public keys of one issuer, as published in a JWK set (RFC 7517). Immutable; from any thread.
struct KeySet {
  std::vector<PublicKey> keys;
  std::vector<std::string> skipped;  // why entries of the set were left out; one bad key does not
                                     // affect the others

  // The key that made the token's signature, or null. The keys with the token's key id are tried,
  // or all keys when the token has no key id. `algorithm` is the token's, which has already been
  // checked against the permitted ones.
  const PublicKey* verifier_of(const Jwt& jwt, Algorithm algorithm) const;
};

// Symmetric and unknown keys are skipped. The declared use and algorithm of a key are not
// enforced (as in Kubernetes); its type is. An error when the text is not a JWK set, or is
// larger than any issuer's set should be.
Result<std::shared_ptr<const KeySet>> parse_key_set(std::string_view text);

// One JWK, and back. `alg` is left out when empty.
Result<PublicKey> key_from_jwk(const json::Value& jwk);
json::Value jwk_from_key(const PublicKey& key, std::string_view alg);

}  // namespace cardea::authn

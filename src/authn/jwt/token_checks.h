#pragma once
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "authn/jwt/jwt.h"
#include "authn/jwt/signature.h"
#include "base/result.h"

// The checks of OpenID Connect besides the signature. Pure functions; the messages are
// Kubernetes'.
namespace cardea::authn {

using Time = std::chrono::system_clock::time_point;

// Which algorithms an issuer's tokens may be signed with.
class AlgorithmSet {
 public:
  static AlgorithmSet all();
  AlgorithmSet() = default;
  void add(Algorithm algorithm) { bits_ |= 1u << static_cast<int>(algorithm); }
  bool has(Algorithm algorithm) const { return bits_ >> static_cast<int>(algorithm) & 1; }
  std::vector<std::string> names() const;

 private:
  unsigned bits_ = 0;
};

struct TokenExpectations {
  std::string_view issuer;
  std::span<const std::string> audiences;  // one of them must be the token's
  AlgorithmSet algorithms;
};

// The cheap checks, before any key is looked at: shape of the registered claims, distributed claims
// have sources, issuer, audience, lifetime (no leeway after `exp`, a minute before `nbf`),
// algorithm. Gives the algorithm.
Result<Algorithm> check_token(const Jwt& jwt, const TokenExpectations& expected, Time now);

// When the token stops being valid; only for one that check_token accepted.
Time expiry_of(const json::Value& claims);

}  // namespace cardea::authn

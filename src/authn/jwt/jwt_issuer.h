#pragma once
#include <memory>
#include <optional>
#include <string>

#include "authn/authenticator.h"
#include "authn/jwt/claim_rules.h"
#include "authn/jwt/distributed_claims.h"
#include "authn/jwt/issuer_metrics.h"
#include "authn/jwt/jwt.h"
#include "authn/jwt/key_source.h"

namespace cardea::authn {

// One entry of the configuration's jwt list, ready for tokens of its issuer. From any thread.
class JwtIssuer {
 public:
  struct Parts {
    JwtConfig config;
    ClaimRules rules;
    AlgorithmSet algorithms;
    std::shared_ptr<KeySource> keys;
    std::shared_ptr<DistributedClaims> distributed;  // may be null: then distributed claims are
                                                     // errors
    std::shared_ptr<IssuerMetrics> metrics;          // may be null
  };
  explicit JwtIssuer(Parts parts) : parts_(std::move(parts)) {}

  // The user of the token, in an Identity, or why the token is refused. The token's issuer must
  // be this one. nullopt: keys or claims must be fetched first; call check_waiting.
  std::optional<Result<Identity>> check(const Jwt& jwt, Time now) const;
  Task<Result<Identity>> check_waiting(Jwt jwt, Time now) const;

  void count(bool accepted, std::chrono::nanoseconds took) const {
    if (parts_.metrics) parts_.metrics->token_checked(accepted, took);
  }
  // Nothing is fetched any more, except keys that another set of issuers shares. A stopped object
  // may outlive the loop.
  void stop(bool keeps_keys = false) const {
    if (!keeps_keys) parts_.keys->stop();
    if (parts_.distributed) parts_.distributed->stop();
  }
  const JwtConfig& config() const { return parts_.config; }
  const std::shared_ptr<KeySource>& keys() const { return parts_.keys; }

 private:
  // The key that signed the token; null when none of the issuer's keys did; or why the signature
  // cannot be valid.
  Result<const PublicKey*> verify(const Jwt& jwt, Time now,
                                  std::shared_ptr<const KeySet>& keys) const;
  Result<Identity> identify(const Jwt& jwt, const json::Value& claims, const PublicKey& key) const;
  TokenExpectations expectations() const {
    return {parts_.config.issuer.url, parts_.config.issuer.audiences, parts_.algorithms};
  }

  const Parts parts_;
};

}  // namespace cardea::authn

#include "authn/jwt/jwt_issuer.h"

#include "base/strings.h"

namespace cardea::authn {
namespace {

std::unexpected<Error> refuse(std::string message) {
  return fail(Error::of(Reason::kUnauthorized, std::move(message)));
}

constexpr std::string_view kBadSignature =
    "oidc: verify token: failed to verify signature: failed to verify id token signature";

}  // namespace

Result<const PublicKey*> JwtIssuer::verify(const Jwt& jwt, Time now,
                                           std::shared_ptr<const KeySet>& keys) const {
  auto algorithm = check_token(jwt, expectations(), now);
  if (!algorithm) return refuse(cat("oidc: verify token: ", algorithm.error().message));
  keys = parts_.keys->keys(now);
  return keys ? keys->verifier_of(jwt, *algorithm) : nullptr;
}

Result<Identity> JwtIssuer::identify(const Jwt& jwt, const json::Value& claims,
                                     const PublicKey& key) const {
  auto user = parts_.rules.user_of(claims);
  if (!user) return fail(std::move(user.error()));
  Identity identity;
  identity.user = std::move(*user);
  if (const json::Value& id = claims["jti"]; id.is_string() && !id.as_string().empty())
    identity.credential_id = cat("JTI=", id.as_string());
  identity.authenticator = "jwt";
  identity.issuer = parts_.config.issuer.url;
  identity.key_id = jwt.key_id.empty() ? key.id() : jwt.key_id;
  return identity;
}

std::optional<Result<Identity>> JwtIssuer::check(const Jwt& jwt, Time now) const {
  if (!parts_.keys->keys(now) && !parts_.keys->health().empty())
    return refuse("oidc: authenticator not initialized");
  // Before the keys are read: those that were read before a renewal ended are not made current by
  // its end.
  if (!parts_.keys->is_current()) return std::nullopt;
  std::shared_ptr<const KeySet> keys;
  auto key = verify(jwt, now, keys);
  if (!key) return fail(std::move(key.error()));
  if (!*key) {
    if (parts_.keys->may_refresh()) return std::nullopt;
    return refuse(std::string(kBadSignature));
  }
  if (claim_source(jwt.claims, parts_.config.mappings.groups.claim)) return std::nullopt;
  return identify(jwt, jwt.claims, **key);
}

Task<Result<Identity>> JwtIssuer::check_waiting(Jwt jwt, Time now) const {
  if (!parts_.keys->is_current()) {
    Result<void> renewed = co_await parts_.keys->current();
    (void)renewed;  // when the issuer does not answer, the keys it had are good for a while
  }
  std::shared_ptr<const KeySet> keys;
  auto key = verify(jwt, now, keys);
  if (!key) co_return fail(std::move(key.error()));
  if (!*key) {
    Result<void> fetched = co_await parts_.keys->refresh();
    if (!fetched)
      co_return refuse(cat("oidc: verify token: failed to verify signature: fetching keys ",
                           fetched.error().message));
    key = verify(jwt, now, keys);
    if (!key) co_return fail(std::move(key.error()));
    if (!*key) co_return refuse(std::string(kBadSignature));
  }
  json::Value claims = jwt.claims;
  if (auto source = claim_source(claims, parts_.config.mappings.groups.claim)) {
    if (!parts_.distributed)
      co_return refuse("oidc: could not expand distributed claims: no way to fetch them");
    Result<json::Value> value = co_await parts_.distributed->resolve(*source, expectations());
    if (!value)
      co_return refuse(cat("oidc: could not expand distributed claims: ", value.error().message));
    claims.set(source->claim, std::move(*value));
  }
  co_return identify(jwt, claims, **key);
}

}  // namespace cardea::authn

#include "authn/service_account/tokens.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "json/print.h"

namespace cardea::authn {
namespace {

using json::Value;

// The lifetime that a kubelet requests when a pod mounts the default token: a number that users
// do not choose by hand.
constexpr std::int64_t kMountedLifetime = 3607;
constexpr std::int64_t kExtendedLifetime = 365 * 24 * 3600;

// The algorithms that Kubernetes signs such tokens with. The key's kind decides among them.
constexpr Algorithm kAllowed[] = {Algorithm::kRs256, Algorithm::kEs256, Algorithm::kEs384,
                                  Algorithm::kEs512};

std::string_view algorithm_of(const PublicKey& key) {
  for (Algorithm a : kAllowed)
    if (key.fits(a)) return algorithm_name(a);
  return "";
}

Value reference(const ObjectRef& ref) {
  Value out = Value::object({{"name", ref.name}});
  if (!ref.uid.empty()) out.set("uid", ref.uid);
  return out;
}

Value list(const auto& texts) {
  Value out = Value::array();
  for (const auto& text : texts) out.push_back(Value(std::string_view(text)));
  return out;
}

std::int64_t seconds(std::chrono::system_clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

}  // namespace

ServiceAccountTokens::ServiceAccountTokens(ServiceAccountOptions options, SigningKey signer,
                                           std::vector<PublicKey> others, const Clock& clock,
                                           Random& random)
    : options_(std::move(options)), signer_(std::move(signer)), clock_(clock), random_(random) {
  keys_.keys.push_back(signer_);
  for (PublicKey& key : others)
    if (std::ranges::find(keys_.keys, key.id(), &PublicKey::id) == keys_.keys.end())
      keys_.keys.push_back(std::move(key));
  std::set<std::string> algorithms;
  Value set = Value::array();
  for (const PublicKey& key : keys_.keys) {
    algorithms.emplace(algorithm_of(key));
    set.push_back(jwk_from_key(key, algorithm_of(key)));
  }
  key_set_document_ = json::print(Value::object({{"keys", set}}));
  discovery_document_ = json::print(
      Value::object({{"issuer", options_.issuers.front()},
                     {"jwks_uri", options_.jwks_uri},
                     {"response_types_supported", list(std::vector{"id_token"})},
                     {"subject_types_supported", list(std::vector{"public"})},
                     {"id_token_signing_alg_values_supported", list(algorithms)}}));
}

Result<IssuedToken> ServiceAccountTokens::issue(const ServiceAccountClaims& c) const {
  const std::int64_t now = seconds(clock_.now());
  bool is_ours = std::ranges::all_of(c.audiences, [this](const std::string& a) {
    return std::ranges::find(options_.audiences, a) != options_.audiences.end();
  });
  bool extends = options_.extend_expiration && c.pod && c.lifetime == kMountedLifetime && is_ours;
  Value about = Value::object(
      {{"namespace", c.namespace_name}, {"serviceaccount", reference(c.account)}});
  if (c.pod) about.set("pod", reference(*c.pod));
  if (c.node) about.set("node", reference(*c.node));
  if (c.secret) about.set("secret", reference(*c.secret));
  if (extends) about.set("warnafter", now + c.lifetime);
  std::string id = make_uid(random_);
  Value payload = Value::object(
      {{"iss", options_.issuers.front()},
       {"sub", cat("system:serviceaccount:", c.namespace_name, ":", c.account.name)},
       {"aud", list(c.audiences)},
       {"iat", now},
       {"nbf", now},
       {"exp", now + (extends ? kExtendedLifetime : c.lifetime)},
       {"jti", id},
       {"kubernetes.io", about}});
  Value header = Value::object(
      {{"alg", algorithm_name(signer_.algorithm())}, {"kid", signer_.id()}});
  std::string token = cat(base64_url(json::print(header)), ".", base64_url(json::print(payload)));
  auto signature = signer_.sign(signer_.algorithm(), token);
  if (!signature) return fail(signature.error());
  return IssuedToken{cat(token, ".", base64_url(*signature)), now + c.lifetime, std::move(id)};
}

const PublicKey* ServiceAccountTokens::verifier_of(const Jwt& jwt) const {
  auto algorithm = algorithm_named(jwt.algorithm);
  if (!algorithm || std::ranges::find(kAllowed, *algorithm) == std::end(kAllowed)) return nullptr;
  return keys_.verifier_of(jwt, *algorithm);
}

}  // namespace cardea::authn

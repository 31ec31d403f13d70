#include "authn/jwt/jwks.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base/strings.h"
#include "crypto/freed.h"
#include "json/parse.h"

namespace cardea::authn {
namespace {

constexpr std::size_t kMaxKeySetBytes = 1u << 20;
constexpr std::size_t kMaxKeys = 256;

using crypto::BuilderPtr;
using crypto::KeyContextPtr;
using crypto::NumberPtr;
using crypto::ParamsPtr;

std::unexpected<Error> bad_jwk(std::string_view why) {
  ERR_clear_error();
  return fail(bad_request(cat("unusable key: ", why)));
}

struct Curve {
  std::string_view name;
  std::size_t coordinate;
};
constexpr Curve kCurves[] = {{"P-256", 32}, {"P-384", 48}, {"P-521", 66}};

Result<PublicKey> make_key(const char* type, OSSL_PARAM_BLD* builder, std::string id) {
  ParamsPtr params(OSSL_PARAM_BLD_to_param(builder));
  KeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* raw = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &raw, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return bad_jwk("its numbers make no key");
  auto key = PublicKey::take(raw, std::move(id));
  if (!key) return key;
  KeyContextPtr check(EVP_PKEY_CTX_new(key->get(), nullptr));
  if (!check || EVP_PKEY_public_check_quick(check.get()) != 1)
    return bad_jwk("its numbers make no key");
  return key;
}

NumberPtr number(std::string_view bytes) {
  return NumberPtr(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                             static_cast<int>(bytes.size()), nullptr));
}

Result<PublicKey> rsa_key(const json::Value& jwk, std::string id) {
  auto modulus = base64_url_decode(jwk["n"].as_string());
  auto exponent = base64_url_decode(jwk["e"].as_string());
  // Exponents beyond 32 bits make every verification slow, and are not used in practice.
  if (!modulus || !exponent || modulus->empty() || modulus->size() > 1100 || exponent->empty() ||
      exponent->size() > 4)
    return bad_jwk("bad RSA numbers");
  NumberPtr n = number(*modulus), e = number(*exponent);
  if (!n || !e || !BN_is_odd(n.get()) || !BN_is_odd(e.get()) || BN_is_one(e.get()))
    return bad_jwk("bad RSA numbers");
  BuilderPtr builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return bad_jwk("bad RSA numbers");
  return make_key("RSA", builder.get(), std::move(id));
}

Result<PublicKey> elliptic_key(const json::Value& jwk, std::string id) {
  for (const Curve& curve : kCurves) {
    if (jwk["crv"].as_string() != curve.name) continue;
    auto x = base64_url_decode(jwk["x"].as_string());
    auto y = base64_url_decode(jwk["y"].as_string());
    if (!x || !y || x->size() != curve.coordinate || y->size() != curve.coordinate)
      return bad_jwk("bad coordinates");
    const std::string point = cat('\x04', *x, *y);
    BuilderPtr builder(OSSL_PARAM_BLD_new());
    if (!builder ||
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                        curve.name.data(), curve.name.size()) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1)
      return bad_jwk("bad coordinates");
    return make_key("EC", builder.get(), std::move(id));
  }
  return bad_jwk("unsupported elliptic curve");
}

std::string number_member(const PublicKey& key, const char* name, std::size_t width = 0) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key.get(), name, &raw) != 1) return "";
  NumberPtr n(raw);
  const auto size = std::max(width, static_cast<std::size_t>(BN_num_bytes(n.get())));
  std::string bytes(size, '\0');
  BN_bn2binpad(n.get(), reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size));
  return base64_url(bytes);
}

}  // namespace

Result<PublicKey> key_from_jwk(const json::Value& jwk) {
  if (!jwk.is_object()) return bad_jwk("not a JSON object");
  const json::Value& id = jwk["kid"];
  if (!id.is_null() && !id.is_string()) return bad_jwk("its id is not a string");
  const std::string_view type = jwk["kty"].as_string();
  if (type == "RSA") return rsa_key(jwk, std::string(id.as_string()));
  if (type == "EC") return elliptic_key(jwk, std::string(id.as_string()));
  return bad_jwk("only RSA and EC keys are supported");
}

json::Value jwk_from_key(const PublicKey& key, std::string_view alg) {
  json::Value jwk = json::Value::object({{"use", "sig"}, {"kid", key.id()}});
  if (!alg.empty()) jwk.set("alg", alg);
  const Curve* curve = key.fits(Algorithm::kEs256)   ? &kCurves[0]
                       : key.fits(Algorithm::kEs384) ? &kCurves[1]
                       : key.fits(Algorithm::kEs512) ? &kCurves[2]
                                                     : nullptr;
  jwk.set("kty", curve ? "EC" : "RSA");
  if (curve) {
    jwk.set("crv", curve->name);
    jwk.set("x", number_member(key, OSSL_PKEY_PARAM_EC_PUB_X, curve->coordinate));
    jwk.set("y", number_member(key, OSSL_PKEY_PARAM_EC_PUB_Y, curve->coordinate));
  } else {
    jwk.set("n", number_member(key, OSSL_PKEY_PARAM_RSA_N));
    jwk.set("e", number_member(key, OSSL_PKEY_PARAM_RSA_E));
  }
  return jwk;
}

Result<std::shared_ptr<const KeySet>> parse_key_set(std::string_view text) {
  if (text.size() > kMaxKeySetBytes) return fail(bad_request("the key set is too large"));
  auto document = json::parse(text);
  if (!document) return fail(std::move(document.error()));
  const json::Value& entries = (*document)["keys"];
  if (!entries.is_array()) return fail(bad_request("a key set has a list named `keys`"));
  auto set = std::make_shared<KeySet>();
  for (const json::Value& jwk : entries.items()) {
    if (set->keys.size() == kMaxKeys) {
      set->skipped.push_back("more keys than a set may have");
      break;
    }
    auto key = key_from_jwk(jwk);
    if (key)
      set->keys.push_back(std::move(*key));
    else
      set->skipped.push_back(cat("key `", jwk["kid"].as_string(), "`: ", key.error().message));
  }
  return set;
}

const PublicKey* KeySet::verifier_of(const Jwt& jwt, Algorithm algorithm) const {
  for (const PublicKey& key : keys)
    if ((jwt.key_id.empty() || key.id() == jwt.key_id) &&
        key.verify(algorithm, jwt.signing_input, jwt.signature))
      return &key;
  return nullptr;
}

}  // namespace cardea::authn

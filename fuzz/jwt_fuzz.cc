// rooms: authn
// Any bytes as a token: an answer or an error, never a crash; nothing unsigned is ever accepted.
// The input is taken as it is, and as `header|payload|signature` before encoding, so that the
// parser's inside is reached.
#include <cstdint>
#include <string_view>

#include "authn/jwt/jwks.h"
#include "authn/jwt/jwt.h"
#include "authn/jwt/token_checks.h"
#include "base/strings.h"

using namespace cardea;

namespace {

void check(std::string_view token) {
  static const authn::SigningKey key = *authn::SigningKey::make_ec();
  static const std::vector<std::string> audiences = {"a", "b"};
  auto jwt = authn::parse_jwt(token);
  if (!jwt) return;
  if (token.size() > authn::kMaxTokenBytes || !jwt->claims.is_object() || jwt->algorithm.empty() ||
      jwt->header.has("crit"))
    __builtin_trap();
  const authn::Time now{std::chrono::seconds(1'800'000'000)};
  if (auto algorithm = authn::check_token(
          *jwt, {jwt->issuer(), audiences, authn::AlgorithmSet::all()}, now)) {
    if (authn::expiry_of(jwt->claims) < now) __builtin_trap();
    authn::KeySet keys;
    keys.keys = {key};
    if (keys.verifier_of(*jwt, *algorithm)) __builtin_trap();  // this key does not exist
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text);
  const auto parts = split(text, '|');
  if (parts.size() == 3)
    check(cat(base64_url(parts[0]), ".", base64_url(parts[1]), ".", base64_url(parts[2])));
  return 0;
}

// rooms: authn
// Any bytes as a key set and as PEM: keys or errors, never a crash; a key that was read prints as
// one that reads alike.
#include <cstdint>
#include <string_view>

#include "authn/jwt/authentication_validation.h"
#include "authn/jwt/jwks.h"

using namespace cardea;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto set = authn::parse_key_set(text))
    for (const authn::PublicKey& key : (*set)->keys) {
      auto again = authn::key_from_jwk(authn::jwk_from_key(key, ""));
      if (!again || again->derived_id() != key.derived_id()) __builtin_trap();
      if (key.verify(authn::Algorithm::kRs256, text, text) ||
          key.verify(authn::Algorithm::kEs256, text, text.substr(0, 64)))
        __builtin_trap();
    }
  (void)authn::parse_public_keys(text);
  (void)authn::certificates_of(text);
  return 0;
}

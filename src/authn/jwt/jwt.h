#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace cardea::authn {

// Longer tokens are refused unread.
inline constexpr std::size_t kMaxTokenBytes = 16 * 1024;

// A parsed signed token; nothing about it is verified yet. Until a key of its issuer has
// accepted the signature, `claims` are statements of an unknown sender. A value; borrows the
// token.
struct Jwt {
  std::string_view signing_input;  // `header.payload` as sent, which is what the signature covers
  std::string signature;           // raw bytes
  std::string algorithm;           // "RS256"
  std::string key_id;              // "" when the header names none
  json::Value header;
  json::Value claims;  // an object

  std::string_view issuer() const { return claims["iss"].as_string(); }
};

// Reads a JWS in compact form: exactly three parts of unpadded base64url, the first two JSON
// objects.
//
// Some tokens are refused because two readers could understand them differently, or because the
// sender would choose how the token is checked: tokens over kMaxTokenBytes, members that appear
// twice at any depth, `alg` absent or `none`, a `crit` header (no extension is implemented),
// `b64` and `zip`, a key in the header (`jwk`), the JSON forms with one or several signatures.
// Headers that only describe a key (`x5t`, `x5c`, `jku`) are ignored; keys come from
// configuration alone.
//
// Messages never contain any part of the token.
Result<Jwt> parse_jwt(std::string_view token);

// The same, with a cache of this thread's last token: several authenticators read one token in
// turn. Valid until this thread's next call, and not across a wait.
const Result<Jwt>& parse_jwt_once(std::string_view token);

}  // namespace cardea::authn

#include "authn/jwt/jwt.h"

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::authn {
namespace {

std::unexpected<Error> malformed(std::string_view why) {
  return fail(Error::of(Reason::kUnauthorized, cat("oidc: malformed jwt: ", why)));
}

Result<json::Value> decode_part(std::string_view part, std::string_view what) {
  auto bytes = base64_url_decode(part);
  if (!bytes) return malformed(cat(what, " is not base64url"));
  // The parser's own message may quote what it read, so it is not passed on.
  auto document = json::parse_document(*bytes);
  if (!document || !document->value.is_object())
    return malformed(cat(what, " is not a JSON object"));
  if (!document->duplicates.empty()) return malformed(cat(what, " has a member twice"));
  return std::move(document->value);
}

Result<void> check_header(const json::Value& header) {
  const json::Value& algorithm = header["alg"];
  if (!algorithm.is_string() || algorithm.as_string().empty())
    return malformed("no signature algorithm");
  if (equals_ignoring_case(algorithm.as_string(), "none"))
    return malformed("the token is not signed");
  // RFC 7515 section 4.1.11: extensions that are not understood make the token invalid, and we know
  // none.
  if (header.has("crit")) return malformed("critical header extensions are not supported");
  if (header.has("b64") || header.has("zip"))
    return malformed("the payload is encoded in an unsupported way");
  if (header.has("jwk")) return malformed("the header contains a key");
  if (const json::Value* id = header.find("kid"); id && !id->is_string())
    return malformed("the key id is not a string");
  return {};
}

}  // namespace

Result<Jwt> parse_jwt(std::string_view token) {
  if (token.size() > kMaxTokenBytes) return malformed("the token is too large");
  const std::size_t first = token.find('.');
  const std::size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos)
    return malformed("it does not have three parts");

  auto header = decode_part(token.substr(0, first), "the header");
  if (!header) return fail(std::move(header.error()));
  if (auto fine = check_header(*header); !fine) return fail(std::move(fine.error()));
  auto claims = decode_part(token.substr(first + 1, second - first - 1), "the payload");
  if (!claims) return fail(std::move(claims.error()));
  auto signature = base64_url_decode(token.substr(second + 1));
  if (!signature || signature->empty()) return malformed("the signature is not base64url");

  Jwt jwt;
  jwt.signing_input = token.substr(0, second);
  jwt.signature = std::move(*signature);
  jwt.algorithm = (*header)["alg"].as_string();
  jwt.key_id = (*header)["kid"].as_string();
  jwt.header = std::move(*header);
  jwt.claims = std::move(*claims);
  return jwt;
}

const Result<Jwt>& parse_jwt_once(std::string_view token) {
  struct Last {
    std::string token;
    Result<Jwt> jwt = malformed("there is none");
  };
  thread_local Last last;
  if (last.token == token && !token.empty()) return last.jwt;
  // What is too large is not worth keeping.
  last.token = token.size() <= kMaxTokenBytes ? token : "";
  last.jwt = parse_jwt(token.size() <= kMaxTokenBytes ? std::string_view(last.token) : token);
  return last.jwt;
}

}  // namespace cardea::authn

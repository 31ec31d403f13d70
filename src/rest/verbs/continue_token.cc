#include "rest/verbs/continue_token.h"

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::rest {
namespace {

// The token travels in URLs.
std::string url_base64(std::string_view bytes) {
  std::string text = base64(bytes);
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  while (text.ends_with('=')) text.pop_back();
  return text;
}

std::optional<std::string> url_base64_decode(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  while (plain.size() % 4 != 0) plain += '=';
  return base64_decode(plain);
}

std::unexpected<Error> invalid_token(std::string_view why) {
  return fail(bad_request(cat("invalid continue token: continue key is not valid: ", why)));
}

}  // namespace

std::string encode(const ContinueToken& token) {
  return url_base64(json::print(json::Value::object(
      {{"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"start", token.start}})));
}

Result<ContinueToken> decode_continue(std::string_view text) {
  auto bytes = url_base64_decode(text);
  if (!bytes) return invalid_token("illegal base64 data");
  auto value = json::parse(*bytes);
  if (!value) {
    // Go names the character U+0081 where bytes are not UTF-8 text.
    auto first = bytes->empty() ? 0u : static_cast<unsigned char>((*bytes)[0]);
    char escaped[32];
    std::snprintf(escaped, sizeof escaped, "'\\u%04x'", first);
    return invalid_token(first >= 0x80
                             ? cat("invalid character ", escaped, " looking for beginning of value")
                             : value.error().message);
  }
  if ((*value)["v"].as_string() != "meta.k8s.io/v1")
    return invalid_token("server does not recognize this encoded version");
  if ((*value)["start"].as_string().empty())
    return invalid_token("encoded continue token is missing the start key");
  if ((*value)["rv"].as_int() == 0)
    return invalid_token("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  return ContinueToken{(*value)["rv"].as_int(), std::string((*value)["start"].as_string())};
}

}  // namespace cardea::rest

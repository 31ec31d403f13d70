#include "http/url.h"

#include <algorithm>

#include "base/strings.h"
#include "http/message.h"

namespace cardea::http {
namespace {

std::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(bad_request(cat("`", text, "` is not a URL we can call: ", why)));
}

bool is_plain(char c) {
  return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    url.tls = false;
    rest.remove_prefix(7);
  } else {
    return wrong(text, "it must begin with https:// or http://");
  }
  if (!std::all_of(rest.begin(), rest.end(), is_plain))
    return wrong(text, "white space or control characters");
  if (rest.find('#') != std::string_view::npos) return wrong(text, "it has a fragment");
  const std::size_t path = std::min(rest.find_first_of("/?"), rest.size());
  url.authority = rest.substr(0, path);
  url.target = rest.substr(path);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  if (url.authority.find('@') != std::string::npos) return wrong(text, "it names a user");

  std::string_view host = url.authority;
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return wrong(text, "missing `]`");
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
    if (!port.empty() && port[0] != ':') return wrong(text, "bad port");
  } else if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (host.empty()) return wrong(text, "no host");
  url.host = host;
  url.port = url.tls ? 443 : 80;
  if (!port.empty()) {
    const auto number = parse_int(port.substr(1));
    if (!number || *number < 1 || *number > 65535) return wrong(text, "bad port");
    url.port = static_cast<std::uint16_t>(*number);
  }
  return url;
}

std::string escape_header_key(std::string_view key) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : key) {
    if (c != '%' && is_token(std::string_view(&c, 1))) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace cardea::http

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/lib/libraries.h"
#include "cel/lib/url.h"

namespace cardea::cel {
namespace {

using Args = const Value*;
constexpr std::size_t kNone = std::string_view::npos;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool good_escapes(std::string_view s, std::string& why) {
  for (std::size_t i = 0; i < s.size(); ++i)
    if (s[i] == '%' && (i + 2 >= s.size() || !is_hex(s[i + 1]) || !is_hex(s[i + 2]))) {
      why = cat("invalid URL escape ", quoted(s.substr(i, 3)));
      return false;
    }
  return true;
}

// The end of the scheme; 0 if there is none; npos (with `why`) if the text before the colon is not
// a scheme.
std::size_t scheme_length(std::string_view s, std::string& why) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (is_alpha(c)) continue;
    if (is_digit(c) || c == '+' || c == '-' || c == '.') {
      if (i == 0) return 0;
    } else if (c == ':') {
      if (i == 0) return why = "missing protocol scheme", kNone;
      return i;
    } else {
      return 0;
    }
  }
  return 0;
}

bool valid_port(std::string_view port) {
  return port.empty() || (port[0] == ':' && std::all_of(port.begin() + 1, port.end(), is_digit));
}

bool good_host(std::string_view host, std::string& why) {
  if (host.starts_with('[')) {
    const std::size_t close = host.rfind(']');
    if (close == kNone) return why = "missing ']' in host", false;
    const std::string_view port = host.substr(close + 1);
    if (!valid_port(port)) return why = cat("invalid port ", quoted(port), " after host"), false;
    return true;
  }
  if (const std::size_t colon = host.rfind(':'); colon != kNone) {
    const std::string_view port = host.substr(colon);
    if (!valid_port(port)) return why = cat("invalid port ", quoted(port), " after host"), false;
    if (host.substr(0, colon).find(':') != kNone)
      return why = cat("invalid port ", quoted(host.substr(host.find(':'))), " after host"), false;
  }
  for (const char c : host) {
    static constexpr std::string_view kBad = " \"\\^`{|}<>/?#@";
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F || kBad.find(c) != kNone)
      return why = cat("invalid character ", quoted(std::string(1, c)), " in host name"), false;
  }
  if (!good_escapes(host, why)) return false;
  // RFC 3986, section 3.2.2: only what is not ASCII may be escaped; and a percent sign.
  for (std::size_t at = host.find('%'); at != kNone; at = host.find('%', at + 3))
    if (host[at + 1] < '8' && host.substr(at, 3) != "%25")
      return why = cat("invalid URL escape ", quoted(host.substr(at, 3))), false;
  return true;
}

std::string unescaped(std::string_view s, bool query) {
  std::string text(s);
  if (query) std::ranges::replace(text, '+', ' ');
  return percent_decode(text).value_or(text);
}

// A path in which everything is escaped that Go escapes. A path that is already escaped validly
// stays.
std::string escape_path(std::string_view raw) {
  static constexpr std::string_view kPlain = "-_.~$&+,/:;=@!'()*[]%";
  const bool as_is = std::ranges::all_of(
      raw, [](char c) { return is_alpha(c) || is_digit(c) || kPlain.find(c) != kNone; });
  if (as_is) return std::string(raw);
  static constexpr std::string_view kKept = "-_.~$&+,/:;=@";
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : unescaped(raw, false)) {
    if (is_alpha(c) || is_digit(c) || kKept.find(c) != kNone) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

}  // namespace

std::optional<Url> parse_url(Arena& arena, std::string_view text, std::string& why) {
  std::string reason;
  auto fail = [&](std::string_view r) {
    why = cat("parse ", quoted(text), ": ", r);
    return std::nullopt;
  };
  if (text.empty()) return fail("empty url");
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      return fail("net/url: invalid control character in URL");
  Url url;
  url.text = text;
  std::string_view rest = text;
  if (const std::size_t hash = rest.find('#'); hash != kNone) {
    url.fragment = rest.substr(hash + 1);
    rest = rest.substr(0, hash);
    if (!good_escapes(url.fragment, reason)) return fail(reason);
  }
  if (text == "*") {  // a request for the server as a whole
    url.path = url.escaped_path = text;
    return url;
  }
  const std::size_t scheme = scheme_length(rest, reason);
  if (scheme == kNone) return fail(reason);
  if (scheme > 0) {
    url.scheme = arena.copy(lower(rest.substr(0, scheme)));
    rest = rest.substr(scheme + 1);
  }
  if (const std::size_t question = rest.find('?'); question != kNone) {
    url.query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  if (!rest.starts_with('/')) {
    if (url.scheme.empty()) return fail("invalid URI for request");
    return url;  // opaque, such as mailto:x
  }
  if (rest.starts_with("//") && (!url.scheme.empty() || !rest.starts_with("///"))) {
    rest.remove_prefix(2);
    const std::size_t slash = rest.find('/');
    std::string_view authority = rest.substr(0, slash);
    rest = slash == kNone ? std::string_view() : rest.substr(slash);
    if (const std::size_t at = authority.rfind('@'); at != kNone) {
      url.user = authority.substr(0, at);
      authority = authority.substr(at + 1);
    }
    if (!good_host(authority, reason)) return fail(reason);
    url.host = arena.copy(unescaped(authority, false));
  }
  if (!good_escapes(rest, reason)) return fail(reason);
  url.path = rest;
  url.escaped_path = arena.copy(escape_path(rest));
  return url;
}

namespace {

Value text_to_url(Frame& f, Args a, std::size_t) {
  std::string why;
  const auto url = parse_url(f.arena, a[0].string(), why);
  return url ? Value::of_opaque(Kind::kUrl, f.arena.make<Url>(*url))
             : f.error(cat("URL parse error during conversion from string: ", why));
}
Value is_url(Frame& f, Args a, std::size_t) {
  f.spend(a[0].size * std::uint64_t{4});  // one unit of cost, but every character is read
  if (f.work == 0) return f.over_cost();
  std::string why;
  return Value::of(parse_url(f.arena, a[0].string(), why).has_value());
}
Value scheme(Frame&, Args a, std::size_t) {
  return Value::of_text(url_of(a[0]).scheme);
}
Value host(Frame&, Args a, std::size_t) {
  return Value::of_text(url_of(a[0]).host);
}
std::size_t port_at(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  return colon != kNone && valid_port(host.substr(colon)) ? colon : kNone;
}
Value host_name(Frame&, Args a, std::size_t) {
  std::string_view h = url_of(a[0]).host;
  h = h.substr(0, port_at(h));
  if (h.starts_with('[') && h.ends_with(']')) h = h.substr(1, h.size() - 2);
  return Value::of_text(h);
}
Value port(Frame&, Args a, std::size_t) {
  const std::string_view h = url_of(a[0]).host;
  const std::size_t at = port_at(h);
  return Value::of_text(at == kNone ? std::string_view() : h.substr(at + 1));
}
Value escaped_path(Frame&, Args a, std::size_t) {
  return Value::of_text(url_of(a[0]).escaped_path);
}

Value query(Frame& f, Args a, std::size_t) {
  MapBuilder out(f.arena);
  std::vector<std::pair<std::string, std::vector<Value>>> values;
  std::string why;
  for (const std::string_view part : split(url_of(a[0]).query, '&')) {
    if (part.empty() || part.find(';') != kNone || !good_escapes(part, why)) continue;
    const std::size_t equals = part.find('=');
    const std::string key = unescaped(part.substr(0, equals), true);
    const Value value = f.text(equals == kNone ? "" : unescaped(part.substr(equals + 1), true));
    if (value.is_error()) return value;
    auto found = std::ranges::find(values, key, &std::pair<std::string, std::vector<Value>>::first);
    if (found == values.end()) found = values.insert(values.end(), {key, {}});
    found->second.push_back(value);
  }
  for (const auto& [key, list] : values) {
    ListBuilder items(f.arena);
    for (const Value& v : list) items.add(v);
    out.add(Value::of_text(f.arena.copy(key)), items.build());
  }
  return out.build();
}

#define U "kubernetes.URL"
constexpr OverloadRow kRows[] = {
    {"url", "string_to_url", "(string) " U, text_to_url},
    {"isURL", "is_url_string", "(string) bool", is_url},
    {"getScheme", "url_get_scheme", U ".() string", scheme},
    {"getHost", "url_get_host", U ".() string", host},
    {"getHostname", "url_get_hostname", U ".() string", host_name},
    {"getPort", "url_get_port", U ".() string", port},
    {"getEscapedPath", "url_get_escaped_path", U ".() string", escaped_path},
    {"getQuery", "url_get_query", U ".() map(string, list(string))", query},
};

}  // namespace

std::span<const OverloadRow> urls_overloads() {
  return kRows;
}

}  // namespace cardea::cel

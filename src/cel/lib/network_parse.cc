#include <charconv>
#include <cstring>

#include "base/strings.h"
#include "cel/lib/network.h"

namespace cardea::cel {
namespace {

bool parse_four(std::string_view text, std::uint8_t* out, std::string& why) {
  std::size_t part = 0;
  std::size_t digits = 0;
  unsigned value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      if (digits == 1 && value == 0) return why = "IPv4 field has octet with leading zero", false;
      value = value * 10 + static_cast<unsigned>(c - '0');
      ++digits;
      if (value > 255) return why = "IPv4 field has value >255", false;
    } else if (c == '.') {
      if (i == 0 || i == text.size() - 1 || text[i - 1] == '.')
        return why = cat("IPv4 field must have at least one digit (at ", quoted(text.substr(i)),
                         ")"),
               false;
      if (part == 3) return why = "IPv4 address too long", false;
      out[part++] = static_cast<std::uint8_t>(value);
      value = 0;
      digits = 0;
    } else {
      return why = cat("unexpected character (at ", quoted(text.substr(i)), ")"), false;
    }
  }
  if (part < 3) return why = "IPv4 address too short", false;
  out[3] = static_cast<std::uint8_t>(value);
  return true;
}

bool parse_six(std::string_view text, std::uint8_t* out, std::string& why) {
  std::string_view s = text;
  int ellipsis = -1;
  int i = 0;
  if (s.starts_with("::")) {
    ellipsis = 0;
    s.remove_prefix(2);
    if (s.empty()) return true;
  }
  while (i < 16) {
    std::size_t off = 0;
    unsigned acc = 0;
    for (; off < s.size(); ++off) {
      const char c = s[off];
      const int d = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
      if (d < 0) break;
      if (off > 3)
        return why = cat("each group must have 4 or less digits (at ", quoted(s), ")"), false;
      acc = acc << 4 | static_cast<unsigned>(d);
    }
    if (off == 0)
      return why = cat("each colon-separated field must have at least one digit (at ", quoted(s),
                       ")"),
             false;
    if (off < s.size() && s[off] == '.') {
      if (ellipsis < 0 && i != 12)
        return why = cat(
                   "embedded IPv4 address must replace the final 2 fields of the address (at ",
                   quoted(s), ")"),
               false;
      if (i + 4 > 16)
        return why = cat(
                   "too many hex fields to fit an embedded IPv4 at the end of the address (at ",
                   quoted(s), ")"),
               false;
      if (!parse_four(s, out + i, why)) return false;
      s = {};
      i += 4;
      break;
    }
    out[i] = static_cast<std::uint8_t>(acc >> 8);
    out[i + 1] = static_cast<std::uint8_t>(acc);
    i += 2;
    s.remove_prefix(off);
    if (s.empty()) break;
    if (s[0] != ':')
      return why = cat("unexpected character, want colon (at ", quoted(s), ")"), false;
    if (s.size() == 1)
      return why = cat("colon must be followed by more characters (at ", quoted(s), ")"), false;
    s.remove_prefix(1);
    if (s[0] == ':') {
      if (ellipsis >= 0) return why = cat("multiple :: in address (at ", quoted(s), ")"), false;
      ellipsis = i;
      s.remove_prefix(1);
      if (s.empty()) break;
    }
  }
  if (!s.empty()) return why = cat("trailing garbage after address (at ", quoted(s), ")"), false;
  if (i < 16) {
    if (ellipsis < 0) return why = "address string too short", false;
    const int shift = 16 - i;
    for (int j = i - 1; j >= ellipsis; --j) out[j + shift] = out[j];
    std::memset(out + ellipsis, 0, static_cast<std::size_t>(shift));
  } else if (ellipsis >= 0) {
    return why = "the :: must expand to at least one field of zeros", false;
  }
  return true;
}

bool is_four_in_six(const Ip& ip) {
  static constexpr std::uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return ip.six && std::memcmp(ip.bytes, kPrefix, 12) == 0;
}

// An address as written, without the rules for zones and mapped addresses.
bool parse_any(std::string_view text, Ip& ip, std::string& why) {
  for (const char c : text) {
    if (c == '.') return parse_four(text, ip.bytes, why);
    if (c == ':') {
      ip.six = true;
      return parse_six(text, ip.bytes, why);
    }
    if (c == '%') return why = "missing IPv6 address", false;
  }
  why = "unable to parse IP";
  return false;
}

}  // namespace

std::optional<Ip> parse_ip(std::string_view text, std::string& why, bool mapped_in_hex) {
  Ip ip;
  const std::size_t zone = text.find('%');
  std::string reason;
  if (!parse_any(
          zone == std::string_view::npos || text.find(':') > zone ? text : text.substr(0, zone), ip,
          reason)) {
    why = cat("IP Address ", quoted(text), " parse error during conversion from string: ParseAddr(",
              quoted(text), "): ", reason);
    return std::nullopt;
  }
  if (zone != std::string_view::npos) {
    why = cat("IP address ", quoted(text), " with zone value is not allowed");
    return std::nullopt;
  }
  if (is_four_in_six(ip) && !(mapped_in_hex && text.find('.') == std::string_view::npos)) {
    why = cat("IPv4-mapped IPv6 address ", quoted(text), " is not allowed");
    return std::nullopt;
  }
  return ip;
}

std::optional<Cidr> parse_cidr(std::string_view text, std::string& why) {
  auto bad = [&](std::string_view reason) {
    why = cat("network address parse error during conversion from string: netip.ParsePrefix(",
              quoted(text), "): ", reason);
    return std::nullopt;
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return bad("no '/'");
  Cidr cidr;
  std::string reason;
  if (text.substr(0, slash).find('%') != std::string_view::npos)
    return bad("IPv6 zones cannot be present in a prefix");
  if (!parse_any(text.substr(0, slash), cidr.ip, reason))
    return bad(cat("ParseAddr(", quoted(text.substr(0, slash)), "): ", reason));
  const std::string_view bits = text.substr(slash + 1);
  const bool shaped = !bits.empty() && bits.size() <= 3 &&
                      bits.find_first_not_of("0123456789") == std::string_view::npos &&
                      (bits.size() == 1 || bits[0] != '0');
  if (!shaped) return bad(cat("bad bits after slash: ", quoted(bits)));
  std::from_chars(bits.data(), bits.data() + bits.size(), cidr.prefix);
  if (cidr.prefix > cidr.ip.width() * 8) return bad("prefix length out of range");
  if (is_four_in_six(cidr.ip)) {
    why = cat("IPv4-mapped IPv6 address ", quoted(text), " is not allowed");
    return std::nullopt;
  }
  return cidr;
}

Ip masked(const Ip& ip, std::uint32_t prefix) {
  Ip out = ip;
  for (std::uint32_t i = 0; i < ip.width(); ++i) {
    const std::uint32_t kept = prefix > i * 8 ? prefix - i * 8 : 0;
    if (kept < 8) out.bytes[i] &= static_cast<std::uint8_t>(0xFF00u >> kept);
  }
  return out;
}

bool cidr_contains(const Cidr& cidr, const Ip& ip) {
  if (cidr.ip.six != ip.six) return false;
  const Ip a = masked(cidr.ip, cidr.prefix);
  const Ip b = masked(ip, cidr.prefix);
  return std::memcmp(a.bytes, b.bytes, a.width()) == 0;
}

std::string print_ip(const Ip& ip) {
  if (!ip.six)
    return cat(int{ip.bytes[0]}, ".", int{ip.bytes[1]}, ".", int{ip.bytes[2]}, ".",
               int{ip.bytes[3]});
  auto word = [&](int i) { return ip.bytes[2 * i] << 8 | ip.bytes[2 * i + 1]; };
  // The first longest run of two or more zero words is left out.
  int best = -1;
  int best_length = 1;
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && word(end) == 0) ++end;
    if (end - i > best_length) {
      best = i;
      best_length = end - i;
    }
    i = end + 1;
  }
  std::string out;
  char buffer[8];
  for (int i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_length - 1;
      continue;
    }
    if (!out.empty() && !out.ends_with("::")) out += ":";
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, word(i), 16).ptr;
    out.append(buffer, end);
  }
  return out;
}

std::string print_cidr(const Cidr& cidr) {
  return cat(print_ip(cidr.ip), "/", cidr.prefix);
}

}  // namespace cardea::cel

#include "catalog/kinds/ip.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace cardea::catalog {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool has_leading_zero(std::string_view number) {
  return number.size() > 1 && number.front() == '0';
}

bool read_v4(std::string_view text, std::uint8_t* out) {
  auto parts = split(text, '.');
  if (parts.size() != 4) return false;
  for (int i = 0; i < 4; ++i) {
    if (parts[i].empty()) return false;
    int value = 0;
    for (char c : parts[i]) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
      if (value > 255) return false;
    }
    out[i] = static_cast<std::uint8_t>(value);
  }
  return true;
}

bool read_group(std::string_view text, std::uint16_t& out) {
  if (text.empty() || text.size() > 4) return false;
  out = 0;
  for (char c : text) {
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return false;
    out = static_cast<std::uint16_t>(out * 16 + digit);
  }
  return true;
}

// Reads "1:2:3" or "1:2:1.2.3.4" into bytes; empty text is no bytes.
bool read_groups(std::string_view text, std::vector<std::uint8_t>& out) {
  if (text.empty()) return true;
  auto parts = split(text, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i + 1 == parts.size() && parts[i].find('.') != std::string_view::npos) {
      std::uint8_t tail[4];
      if (!read_v4(parts[i], tail)) return false;
      out.insert(out.end(), tail, tail + 4);
      return true;
    }
    std::uint16_t group;
    if (!read_group(parts[i], group)) return false;
    out.push_back(static_cast<std::uint8_t>(group >> 8));
    out.push_back(static_cast<std::uint8_t>(group & 0xff));
  }
  return true;
}

std::optional<Ip> parse_v6(std::string_view text) {
  std::vector<std::uint8_t> head, tail;
  std::size_t gap = text.find("::");
  bool ok = gap == std::string_view::npos
                ? read_groups(text, head) && head.size() == 16
                : read_groups(text.substr(0, gap), head) &&
                      read_groups(text.substr(gap + 2), tail) && head.size() + tail.size() <= 14;
  if (!ok) return std::nullopt;
  Ip ip;
  std::ranges::copy(head, ip.bytes.begin());
  std::ranges::copy(tail, ip.bytes.end() - static_cast<std::ptrdiff_t>(tail.size()));
  ip.v4 = std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), ip.bytes.begin());
  return ip;
}

std::string text_v6(const std::array<std::uint8_t, 16>& bytes) {
  std::uint16_t groups[8];
  for (int i = 0; i < 8; ++i)
    groups[i] = static_cast<std::uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  int best = -1, best_length = 1;
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > best_length) best = i, best_length = end - i;
    i = end > i ? end : i + 1;
  }
  std::string out;
  for (int i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_length - 1;
      continue;
    }
    if (!out.empty() && !out.ends_with(':')) out += ':';
    constexpr char kHex[] = "0123456789abcdef";
    bool started = false;
    for (int shift = 12; shift >= 0; shift -= 4) {
      int digit = groups[i] >> shift & 15;
      if (digit != 0 || started || shift == 0) out += kHex[digit], started = true;
    }
  }
  return out;
}

bool leading_zeros_in_v4(std::string_view text) {
  std::size_t start = text.rfind(':');
  std::string_view v4 = start == std::string_view::npos ? text : text.substr(start + 1);
  return v4.find('.') != std::string_view::npos &&
         std::ranges::any_of(split(v4, '.'), has_leading_zero);
}

bool written_as_v6(std::string_view text) {
  return text.find(':') != std::string_view::npos;
}

}  // namespace

std::string Ip::text() const {
  if (!v4) return text_v6(bytes);
  return cat(static_cast<int>(bytes[12]), ".", static_cast<int>(bytes[13]), ".",
             static_cast<int>(bytes[14]), ".", static_cast<int>(bytes[15]));
}

bool Ip::unspecified() const {
  auto start = v4 ? bytes.begin() + 12 : bytes.begin();
  return std::all_of(start, bytes.end(), [](std::uint8_t b) { return b == 0; });
}
bool Ip::loopback() const {
  if (v4) return bytes[12] == 127;
  return std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t b) { return b == 0; }) &&
         bytes[15] == 1;
}
bool Ip::link_local_unicast() const {
  return v4 ? bytes[12] == 169 && bytes[13] == 254 : bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}
bool Ip::link_local_multicast() const {
  return v4 ? bytes[12] == 224 && bytes[13] == 0 && bytes[14] == 0
            : bytes[0] == 0xff && (bytes[1] & 0x0f) == 0x02;
}

Ip Cidr::network() const {
  Ip out = address;
  int keep = address.v4 ? prefix + 96 : prefix;
  for (int i = 0; i < 16; ++i) {
    int bits = std::clamp(keep - 8 * i, 0, 8);
    out.bytes[i] &= static_cast<std::uint8_t>(0xff00 >> bits);
  }
  return out;
}

Ip Cidr::last() const {
  Ip out = network();
  int keep = address.v4 ? prefix + 96 : prefix;
  for (int i = 0; i < 16; ++i) {
    int bits = std::clamp(keep - 8 * i, 0, 8);
    out.bytes[i] |= static_cast<std::uint8_t>(0xff >> bits);
  }
  return out;
}

bool Cidr::contains(const Ip& ip) const {
  return ip.v4 == address.v4 && Cidr{ip, prefix}.network().bytes == network().bytes;
}

std::optional<Ip> parse_ip(std::string_view text) {
  if (written_as_v6(text)) return parse_v6(text);
  Ip ip;
  ip.v4 = true;
  std::ranges::copy(kMappedPrefix, ip.bytes.begin());
  if (!read_v4(text, ip.bytes.data() + 12)) return std::nullopt;
  return ip;
}

std::optional<Cidr> parse_cidr(std::string_view text) {
  std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto address = parse_ip(text.substr(0, slash));
  std::string_view digits = text.substr(slash + 1);
  if (!address || digits.empty() || digits.size() > 9 ||
      !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  auto prefix = parse_int(digits);
  bool v6_form = written_as_v6(text);
  if (!prefix || *prefix > (v6_form ? 128 : 32)) return std::nullopt;
  int length = static_cast<int>(*prefix);
  if (v6_form && address->v4) length = std::max(0, length - 96);
  return Cidr{*address, length};
}

void validate_ip(const Path& path, std::string_view text, bool strict, json::FieldErrors& out) {
  auto ip = parse_ip(text);
  if (!ip) {
    out.push_back(
        json::invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    return;
  }
  if (!strict) return;
  if (leading_zeros_in_v4(text))
    out.push_back(json::invalid(path, text, "must not have leading 0s"));
  else if (ip->v4 && written_as_v6(text))
    out.push_back(json::invalid(path, text, "must not be an IPv4-mapped IPv6 address"));
}

void validate_canonical_ip(const Path& path, std::string_view text, json::FieldErrors& out) {
  std::size_t before = out.size();
  validate_ip(path, text, true, out);
  if (out.size() != before) return;
  if (std::string canonical = parse_ip(text)->text(); canonical != text)
    out.push_back(
        json::invalid(path, text, cat("must be in canonical form (", quoted(canonical), ")")));
}

void validate_cidr(const Path& path, std::string_view text, bool strict, json::FieldErrors& out) {
  auto cidr = parse_cidr(text);
  if (!cidr) {
    out.push_back(json::invalid(path, text,
                                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
    return;
  }
  if (!strict) return;
  std::size_t slash = text.find('/');
  if (leading_zeros_in_v4(text.substr(0, slash)) || has_leading_zero(text.substr(slash + 1)))
    out.push_back(json::invalid(path, text, "must not have leading 0s in IP or prefix length"));
  else if (cidr->address.v4 && written_as_v6(text))
    out.push_back(json::invalid(path, text, "must not have an IPv4-mapped IPv6 address"));
  else if (cidr->address != cidr->network())
    out.push_back(json::invalid(path, text, "must not have bits set beyond the prefix length"));
}

void warn_about_ip(const Path& path, std::string_view text, std::vector<std::string>& out) {
  auto ip = parse_ip(text);
  if (!ip) return;
  if (leading_zeros_in_v4(text) || (ip->v4 && written_as_v6(text)))
    out.push_back(cat(path.text(), ": non-standard IP address ", quoted(text), " is invalid: use ",
                      quoted(ip->text())));
  else if (!ip->v4 && ip->text() != text)
    out.push_back(cat(path.text(), ": IPv6 address ", quoted(text),
                      " should be in RFC 5952 canonical format (", quoted(ip->text()), ")"));
}

void warn_about_cidr(const Path& path, std::string_view text, std::vector<std::string>& out) {
  auto cidr = parse_cidr(text);
  if (!cidr) return;
  std::string network = cat(cidr->network().text(), "/", cidr->prefix);
  std::size_t before = out.size();
  if (cidr->address != cidr->network())
    out.push_back(cat(path.text(), ": CIDR value ", quoted(text),
                      " is ambiguous in this context (should be ", quoted(network), " or ",
                      quoted(cat(cidr->address.text(), "/", cidr->address.v4 ? 32 : 128)), "?)"));
  std::size_t slash = text.find('/');
  if (leading_zeros_in_v4(text.substr(0, slash)) || has_leading_zero(text.substr(slash + 1)) ||
      (cidr->address.v4 && written_as_v6(text)))
    out.push_back(cat(path.text(), ": non-standard CIDR value ", quoted(text), " is invalid: use ",
                      quoted(network)));
  if (out.size() != before || cidr->address.v4) return;
  if (std::string canonical = cat(cidr->address.text(), "/", cidr->prefix); canonical != text)
    out.push_back(cat(path.text(), ": IPv6 CIDR value ", quoted(text),
                      " should be in RFC 5952 canonical format (", quoted(canonical), ")"));
}

}  // namespace cardea::catalog

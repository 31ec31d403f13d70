#include "base/strings.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace cardea {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  parts.reserve(static_cast<std::size_t>(std::ranges::count(text, separator)) + 1);
  for (;;) {
    auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

namespace {
char lower_char(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower_char(c);
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower_char(a[i]) != lower_char(b[i])) return false;
  return true;
}

namespace {

// The length of the UTF-8 sequence at the start of `text`, or 0 when it is malformed. Overlong
// forms, surrogates and code points beyond U+10FFFF are malformed.
std::size_t utf8_sequence(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto follows = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  unsigned char c = byte(0);
  if (c < 0x80) return 1;
  if (c < 0xC2) return 0;
  if (c < 0xE0) return follows(1) ? 2 : 0;
  if (c < 0xF0) {
    if (!follows(1) || !follows(2)) return 0;
    if (c == 0xE0 && byte(1) < 0xA0) return 0;
    if (c == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (c > 0xF4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  if (c == 0xF0 && byte(1) < 0x90) return 0;
  if (c == 0xF4 && byte(1) > 0x8F) return 0;
  return 4;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    auto n = utf8_sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  char buffer[8];
  auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  while (!text.empty()) {
    // Most of what is quoted needs nothing.
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) -
                                                text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    auto n = utf8_sequence(text);
    auto c = static_cast<unsigned char>(text[0]);
    if (n == 0) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", c);
      out += buffer;
      n = 1;
    } else if (n > 1) {
      out += text.substr(0, n);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c >= 0x20 && c != 0x7f) {
      out += static_cast<char>(c);
    } else {
      constexpr std::string_view kShort = "abtnvfr";  // 0x07 to 0x0d
      if (c >= 0x07 && c <= 0x0d) {
        out += '\\';
        out += kShort[c - 0x07u];
      } else {
        std::snprintf(buffer, sizeof buffer, "\\x%02x", c);
        out += buffer;
      }
    }
    text.remove_prefix(n);
  }
  out += '"';
  return out;
}

std::string go_float(double number) {
  char buffer[400];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific)
                 .ptr;
  std::string text(buffer, end);
  auto e = text.find('e');
  if (e == text.npos) return text;  // not finite
  auto exponent = parse_int(std::string_view(text).substr(text[e + 1] == '+' ? e + 2 : e + 1));
  if (*exponent < -4 || *exponent >= 6) return text;
  end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr;
  return std::string(buffer, end);
}

std::optional<std::string> percent_decode(std::string_view text) {
  if (!text.contains('%')) return std::string(text);
  auto hex = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    int high = hex(text[i + 1]), low = hex(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

namespace {
constexpr std::string_view
    kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kBase64[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t padding = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      char c = text[i + k];
      if (c == '=' && i + 4 == text.size() && k >= 2) {
        ++padding;
        group <<= 6;
        continue;
      }
      auto at = kBase64.find(c);
      if (at == std::string_view::npos || padding) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(at);
    }
    for (std::size_t k = 0; k + padding < 3; ++k)
      out += static_cast<char>(group >> (16 - 8 * k) & 0xff);
  }
  return out;
}

namespace {

// The value of each character of the URL alphabet, 64 for the others.
struct Base64UrlValues {
  std::uint8_t of[256];
  constexpr Base64UrlValues() : of() {
    for (auto& value : of) value = 64;
    for (std::uint8_t i = 0; i < 62; ++i) of[static_cast<unsigned char>(kBase64[i])] = i;
    of[static_cast<unsigned char>('-')] = 62;
    of[static_cast<unsigned char>('_')] = 63;
  }
};
constexpr Base64UrlValues kBase64Url;

}  // namespace

std::string base64_url(std::string_view bytes) {
  std::string out = base64(bytes);
  while (!out.empty() && out.back() == '=') out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

std::optional<std::string> base64_url_decode(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out(text.size() * 3 / 4, '\0');
  char* to = out.data();
  std::uint8_t wrong = 0;
  auto next = [&, at = text.data()]() mutable {
    const std::uint8_t value = kBase64Url.of[static_cast<unsigned char>(*at++)];
    wrong |= value;
    return static_cast<std::uint32_t>(value);
  };
  for (std::size_t whole = text.size() / 4; whole > 0; --whole) {
    const std::uint32_t a = next(), b = next(), c = next(), d = next();
    *to++ = static_cast<char>(a << 2 | b >> 4);
    *to++ = static_cast<char>(b << 4 | c >> 2);
    *to++ = static_cast<char>(c << 6 | d);
  }
  std::uint32_t left = 0;  // bits of the last character that belong to no byte
  if (const std::size_t rest = text.size() % 4; rest != 0) {
    const std::uint32_t a = next(), b = next();
    *to++ = static_cast<char>(a << 2 | b >> 4);
    left = b & 15;
    if (rest == 3) {
      const std::uint32_t c = next();
      *to++ = static_cast<char>(b << 4 | c >> 2);
      left = c & 3;
    }
  }
  if ((wrong & 64) != 0 || left != 0) return std::nullopt;
  return out;
}

}  // namespace cardea

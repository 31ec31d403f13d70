#include "schema/wire/go_base64.h"

#include <array>

#include "base/strings.h"

namespace cardea::schema {
namespace {

constexpr std::array<signed char, 256> kDigits = [] {
  std::array<signed char, 256> table{};
  table.fill(-1);
  std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<signed char>(i);
  return table;
}();

bool is_break(char c) {
  return c == '\n' || c == '\r';
}

std::unexpected<Error> illegal(std::size_t at) {
  return fail(bad_request(cat("illegal base64 data at input byte ", at)));
}

}  // namespace

Result<std::optional<std::string>> canonical_base64(std::string_view text) {
  std::size_t in_group = 0, i = 0;
  bool breaks = false;
  int last = 0;
  for (; i < text.size(); ++i) {
    char c = text[i];
    if (is_break(c)) {
      breaks = true;
      continue;
    }
    int digit = kDigits[static_cast<unsigned char>(c)];
    if (digit < 0) break;
    last = digit;
    in_group = (in_group + 1) % 4;
  }
  std::size_t padding = 0;
  if (i == text.size()) {
    if (in_group != 0) return illegal(text.size() - in_group);
  } else {
    if (text[i] != '=' || in_group < 2) return illegal(i);
    for (; i < text.size() && (text[i] == '=' || is_break(text[i])); ++i) {
      if (is_break(text[i])) {
        breaks = true;
      } else if (++padding > 4 - in_group) {
        return illegal(i);
      }
    }
    if (padding < 4 - in_group) return illegal(i);
    if (i < text.size()) return illegal(i);
  }
  int loose_bits = padding == 2 ? last & 15 : padding == 1 ? last & 3 : 0;
  if (!breaks && loose_bits == 0) return std::nullopt;
  std::string plain;
  for (char c : text)
    if (!is_break(c)) plain += c;
  auto bytes = base64_decode(plain);
  CARDEA_CHECK(bytes.has_value());
  return base64(*bytes);
}

}  // namespace cardea::schema

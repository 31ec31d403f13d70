#include "cel/syntax/unicode.h"

#include <re2/re2.h>

namespace cardea::cel {

std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC2 ? 1 : 0;
  if (more == 0 || lead > 0xF4 || at + static_cast<std::size_t>(more) >= text.size()) {
    ++at;
    return 0xFFFD;
  }
  std::uint32_t c = lead & (0x3Fu >> more);
  for (int i = 1; i <= more; ++i) {
    const auto next = static_cast<unsigned char>(text[at + static_cast<std::size_t>(i)]);
    if ((next & 0xC0) != 0x80) {
      ++at;
      return 0xFFFD;
    }
    c = c << 6 | (next & 0x3F);
  }
  at += static_cast<std::size_t>(more) + 1;
  return c;
}

void append_code_point(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static constexpr unsigned char kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLead[more] | (c >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F));
}

std::size_t offset_of(std::string_view text, std::uint64_t n) {
  std::size_t at = 0;
  for (; n > 0; --n) {
    if (at >= text.size()) return std::string_view::npos;
    next_code_point(text, at);
  }
  return at;
}

bool is_printable(std::uint32_t c) {
  if (c < 0x7F) return c >= 0x20;
  if (c == 0xFFFD) return true;
  // RE2 knows the Unicode categories: letters, marks, numbers, punctuation, symbols.
  static const RE2 kPrintable(R"([\pL\pM\pN\pP\pS])");
  std::string one;
  append_code_point(one, c);
  return RE2::FullMatch(one, kPrintable);
}

bool is_space(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace cardea::cel

#pragma once
#include <cstddef>
#include <string_view>

namespace cardea {

// The beginning of `text` with at most `bytes` bytes, without half a character at its end.
inline std::string_view utf8_prefix(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace cardea

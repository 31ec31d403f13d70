#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cardea::cel {

// The code point at `at`; `at` moves behind it. Each invalid byte gives one U+FFFD.
std::uint32_t next_code_point(std::string_view text, std::size_t& at);
void append_code_point(std::string& out, std::uint32_t c);
// The offset of the n-th code point; text.size() if n is their number; npos beyond.
std::size_t offset_of(std::string_view text, std::uint64_t n);
bool is_printable(std::uint32_t c);  // as Go's strconv sees it
bool is_space(std::uint32_t c);      // Unicode white space

}  // namespace cardea::cel

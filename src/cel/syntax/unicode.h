#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cardea::cel {

// The code point at `at`, which moves past it. Invalid bytes come out one by one as U+FFFD.
std::uint32_t next_code_point(std::string_view text, std::size_t& at);
void append_code_point(std::string& out, std::uint32_t c);
// Where the n-th code point begins; text.size() when n is their number; npos beyond.
std::size_t offset_of(std::string_view text, std::uint64_t n);
bool is_printable(std::uint32_t c);  // as Go's strconv sees it
bool is_space(std::uint32_t c);      // Unicode white space

}  // namespace cardea::cel

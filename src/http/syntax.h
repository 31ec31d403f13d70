#pragma once
// What requests and responses have in common on the wire. For the parsers of this room.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cardea::http {

// The most fields a head may have: room for a user of ten thousand groups, each in a field of its
// own.
inline constexpr std::size_t kMaxFields = 20'000;

// Where the head ends (just behind its empty line), or npos. Lines end in LF, with or without CR.
std::size_t end_of_head(std::string_view text, std::size_t from);

// Cuts the next line off `text`, which holds a LF, and returns it without its end.
std::string_view take_line(std::string_view& text);

std::string_view trim_spaces(std::string_view text);

// Does a comma-separated list hold this word? Without case.
bool lists(std::string_view value, std::string_view word);

// The value of a Content-Length: digits only.
std::optional<std::uint64_t> parse_length(std::string_view value);

}  // namespace cardea::http

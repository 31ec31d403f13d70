#pragma once
// What requests and responses have in common on the wire. For the parsers of this room.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cardea::http {

struct Request;

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

// Is it fit for a Host header? The name is not looked up; characters that could end it are refused.
bool is_host(std::string_view text);

// Takes a request's target apart into `target`, `path` and `query`. Its method is known already.
// False: it cannot be understood.
bool read_target(std::string_view text, Request& request);

// What clients read whose bodies the server cannot hold now.
inline constexpr std::string_view kTooManyBodies = "please try again later";

// Can a body follow the head of an answer?
bool may_have_body(int status);

}  // namespace cardea::http

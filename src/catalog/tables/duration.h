#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cardea::catalog {

// A duration with two or three significant figures, in kubectl's form: `45s`, `2m30s`, `5h`,
// `3d4h`.
std::string human_duration(std::chrono::system_clock::duration span);

// Reads RFC 3339 with or without a fraction of seconds.
std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text);

}  // namespace cardea::catalog

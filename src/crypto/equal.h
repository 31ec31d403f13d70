#pragma once
#include <string_view>

namespace cardea::crypto {

// Whether two texts are the same. The time that this takes tells nothing about their content, only
// about their sizes: for secrets that a client guesses.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace cardea::crypto

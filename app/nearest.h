#pragma once
#include <span>
#include <string>
#include <string_view>

namespace cardea::app {

// The word that somebody meant who wrote `word`: the one of `known` with the fewest changes of a
// letter. Empty when none is close.
std::string nearest(std::string_view word, std::span<const std::string> known);

// "; did you mean `serve`", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace cardea::app

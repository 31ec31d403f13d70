#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cel/syntax/lexer.h"

namespace cardea::cel {

// What is wrong with a text whose tokens are no expression, in the words and at the places people
// know from cel-go.
//
// The parser stops at the first token that does not fit; this reads the tokens once more, on
// failure only, the way a generated recursive descent parser does: it drops a surplus token, adds a
// missing one, or skips to where an enclosing rule may go on, and says so once until a token fits
// again. Empty when the tokens are an expression. `skipped` are the parts of the text that are no
// token, in order; `unread` is where the parser stopped. Ends after 30 attempts to go on.
std::vector<Issue> syntax_errors(std::string_view text, std::span<const Lexeme> tokens,
                                 std::span<const Skipped> skipped, std::uint32_t unread,
                                 std::uint32_t max_depth);

}  // namespace cardea::cel

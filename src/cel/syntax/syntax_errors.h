#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cel/syntax/lexer.h"

namespace cardea::cel {

// The syntax errors of a text that is not an expression, with cel-go's wording and positions.
//
// The parser stops at the first token that does not fit; this reads the tokens once more, on
// failure only, as a generated recursive descent parser does: it drops a surplus token, adds a
// missing one, or skips to a place where an enclosing rule can continue, and reports it once
// until a token fits again. Empty when the tokens are an expression. `skipped` are the parts of
// the text that are not tokens, in order; `unread` is where the parser stopped. Ends after 30
// attempts to continue.
std::vector<Issue> syntax_errors(std::string_view text, std::span<const Lexeme> tokens,
                                 std::span<const Skipped> skipped, std::uint32_t unread,
                                 std::uint32_t max_depth);

}  // namespace cardea::cel

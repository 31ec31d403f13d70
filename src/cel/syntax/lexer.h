#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax/ast.h"

namespace cardea::cel {

enum class Token : std::uint8_t {
  kEnd,
  kIdent,
  kQuotedIdent,
  kInt,
  kUint,
  kFloat,
  kString,
  kBytes,
  kTrue,
  kFalse,
  kNull,
  kIn,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kQuestion,
  kColon,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kPercent,
  kNot,
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kDot,
  kComma,
};

struct Lexeme {
  Token token = Token::kEnd;
  std::uint32_t position = 0;
  std::string_view text;  // as written, quotes and prefixes included
};

// A part of the text that is not a token.
struct Skipped {
  std::uint32_t begin = 0, end = 0;
};

// Splits the whole text. Parts that are not tokens are reported in `issues` and skipped.
std::vector<Lexeme> scan(std::string_view text, std::vector<Issue>& issues,
                         std::vector<Skipped>& skipped);

// Words that can only be names of fields.
bool is_reserved(std::string_view word);

// The content of a string or bytes literal as written, with escapes resolved. False (and a reason)
// if it has a bad escape.
bool unquote(std::string_view literal, bool bytes, std::string& out, std::string& why);

}  // namespace cardea::cel

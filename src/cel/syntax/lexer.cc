#include "cel/syntax/lexer.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::cel {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr std::string_view kSimpleEscapes = "abfnrtv\\'\"`?";

constexpr std::string_view kReserved[] = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

struct Punctuation {
  std::string_view text;
  Token token;
};
constexpr Punctuation kPunctuation[] = {
    {"==", Token::kEqual},        {"!=", Token::kNotEqual},    {"<=", Token::kLessEqual},
    {">=", Token::kGreaterEqual}, {"&&", Token::kAnd},         {"||", Token::kOr},
    {"<", Token::kLess},          {">", Token::kGreater},      {"?", Token::kQuestion},
    {":", Token::kColon},         {"+", Token::kPlus},         {"-", Token::kMinus},
    {"*", Token::kStar},          {"/", Token::kSlash},        {"%", Token::kPercent},
    {"!", Token::kNot},           {"(", Token::kLeftParen},    {")", Token::kRightParen},
    {"[", Token::kLeftBracket},   {"]", Token::kRightBracket}, {"{", Token::kLeftBrace},
    {"}", Token::kRightBrace},    {".", Token::kDot},          {",", Token::kComma}};

struct Word {
  std::string_view text;
  Token token;
};
constexpr Word kWords[] = {
    {"true", Token::kTrue}, {"false", Token::kFalse}, {"null", Token::kNull}, {"in", Token::kIn}};

class Scanner {
 public:
  Scanner(std::string_view text, std::vector<Issue>& issues, std::vector<Skipped>& skipped)
      : text_(text), issues_(issues), skipped_(skipped) {}

  std::vector<Lexeme> run() {
    while (skip_blank(), at_ < text_.size()) step();
    out_.push_back({Token::kEnd, static_cast<std::uint32_t>(text_.size()), {}});
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f')
        ++at_;
      else if (c == '/' && peek(1) == '/')
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      else
        return;
    }
  }

  void emit(Token token, std::size_t end) {
    out_.push_back({token, static_cast<std::uint32_t>(at_), text_.substr(at_, end - at_)});
    at_ = end;
  }

  // A token ends before the character at `wrong`; the text that was read so far is skipped together
  // with it.
  void bad(std::size_t wrong) {
    std::size_t stop = std::min(wrong + 1, text_.size());
    while (stop < text_.size() && (static_cast<unsigned char>(text_[stop]) & 0xC0) == 0x80) ++stop;
    if (issues_.size() < kMaxIssues)
      issues_.push_back(
          {static_cast<std::uint32_t>(at_),
           cat("Syntax error: token recognition error at: '", text_.substr(at_, stop - at_), "'")});
    skipped_.push_back({static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(stop)});
    at_ = stop;
  }

  void step() {
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"' || c == '\'') return quoted_text(0, false, false);
    if (is_letter(c)) return word();
    if (c == '`') return quoted_identifier();
    for (const Punctuation& p : kPunctuation)
      if (text_.substr(at_).starts_with(p.text)) return emit(p.token, at_ + p.text.size());
    bad(c == '=' || c == '&' || c == '|' ? at_ + 1 : at_);
  }

  void number() {
    std::size_t end = at_;
    if (peek() == '0' && peek(1) == 'x' && is_hex(peek(2))) {
      end += 2;
      while (end < text_.size() && is_hex(text_[end])) ++end;
      const bool natural = end < text_.size() && (text_[end] == 'u' || text_[end] == 'U');
      return emit(natural ? Token::kUint : Token::kInt, end + (natural ? 1 : 0));
    }
    auto run = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    run();
    bool real = false;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
      real = true;
      ++end;
      run();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        real = true;
        end = exponent;
        run();
      }
    }
    if (real) return emit(Token::kFloat, end);
    const bool natural = end < text_.size() && (text_[end] == 'u' || text_[end] == 'U');
    emit(natural ? Token::kUint : Token::kInt, end + (natural ? 1 : 0));
  }

  void word() {
    // A prefix r, b or both directly before a quote is part of the literal.
    std::size_t prefix = 0;
    bool raw = false;
    bool bytes = false;
    for (; prefix < 2; ++prefix) {
      const char c = peek(prefix);
      if ((c == 'r' || c == 'R') && !raw)
        raw = true;
      else if ((c == 'b' || c == 'B') && !bytes && !raw)
        bytes = true;
      else
        break;
    }
    if (prefix > 0 && (peek(prefix) == '"' || peek(prefix) == '\''))
      return quoted_text(prefix, raw, bytes);
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    for (const Word& w : kWords)
      if (name == w.text) return emit(w.token, end);
    emit(Token::kIdent, end);
  }

  void quoted_identifier() {
    std::size_t i = at_ + 1;
    for (; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '`' && i > at_ + 1) return emit(Token::kQuotedIdent, i + 1);
      if (!is_letter(c) && !is_digit(c) && c != '.' && c != '-' && c != '/' && c != ' ') break;
    }
    bad(i);
  }

  void quoted_text(std::size_t prefix, bool raw, bool bytes) {
    const std::size_t open = at_ + prefix;
    const char quote = text_[open];
    const Token token = bytes ? Token::kBytes : Token::kString;
    const char three[] = {quote, quote, quote};
    const std::string_view fence(three, 3);
    const bool triple = text_.substr(open).starts_with(fence);
    std::size_t i = open + (triple ? 3 : 1);
    while (i < text_.size()) {
      const char c = text_[i];
      if (c == '\\' && !raw) {
        if (!escape(i)) break;
        continue;
      }
      if (!triple && (c == '\n' || c == '\r')) break;
      if (c == quote && !triple) return emit(token, i + 1);
      if (c == quote && text_.substr(i).starts_with(fence)) return emit(token, i + 3);
      ++i;
    }
    // A literal without an end is read in another way: as an empty text, or as a name.
    if (triple) return emit(token, open + 2);
    if (prefix > 0) return emit(Token::kIdent, open);
    bad(i);
  }

  // Moves over an escape sequence, or to the first character that makes it invalid.
  bool escape(std::size_t& i) const {
    ++i;
    auto digits = [&](int count, auto fits) {
      for (; count > 0; --count, ++i)
        if (i >= text_.size() || !fits(text_[i])) return false;
      return true;
    };
    if (i >= text_.size()) return false;
    const char c = text_[i];
    if (c >= '0' && c <= '3') return digits(3, [](char d) { return d >= '0' && d <= '7'; });
    const int hex = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (hex == 0 && kSimpleEscapes.find(c) == std::string_view::npos) return false;
    ++i;
    return digits(hex, is_hex);
  }

  static constexpr std::size_t kMaxIssues = 100;
  std::string_view text_;
  std::vector<Issue>& issues_;
  std::vector<Skipped>& skipped_;
  std::size_t at_ = 0;
  std::vector<Lexeme> out_;
};

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// Reads `count` digits of base 8 or 16.
bool read_digits(std::string_view text, std::size_t& at, int count, int base, std::uint32_t& out) {
  out = 0;
  for (int i = 0; i < count; ++i, ++at) {
    if (at >= text.size()) return false;
    const char c = text[at];
    int d = is_digit(c) ? c - '0' : is_hex(c) ? (c | 0x20) - 'a' + 10 : 99;
    if (d >= base) return false;
    out = out * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(d);
  }
  return true;
}

}  // namespace

std::vector<Lexeme> scan(std::string_view text, std::vector<Issue>& issues,
                         std::vector<Skipped>& skipped) {
  return Scanner(text, issues, skipped).run();
}

bool is_reserved(std::string_view word) {
  return std::ranges::find(kReserved, word) != std::end(kReserved);
}

bool unquote(std::string_view literal, bool bytes, std::string& out, std::string& why) {
  bool raw = false;
  while (!literal.empty() && literal[0] != '"' && literal[0] != '\'') {
    raw |= literal[0] == 'r' || literal[0] == 'R';
    literal.remove_prefix(1);
  }
  const std::size_t width = literal.size() >= 6 &&
                                    literal.substr(0, 3) == std::string(3, literal[0])
                                ? 3
                                : 1;
  std::string_view body = literal.substr(width, literal.size() - 2 * width);
  for (std::size_t i = 0; i < body.size();) {
    const char c = body[i];
    if (c == '\r') {  // line ends are \n, whatever the file has
      out += '\n';
      i += i + 1 < body.size() && body[i + 1] == '\n' ? 2 : 1;
      continue;
    }
    if (c != '\\' || raw) {
      out += c;
      ++i;
      continue;
    }
    if (++i >= body.size()) return why = "unable to unescape string", false;
    const char e = body[i++];
    static constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"`?";
    if (const std::size_t simple = kSimpleEscapes.find(e); simple != std::string_view::npos) {
      out += kTo[simple];
      continue;
    }
    std::uint32_t code = 0;
    if (e == 'x' || e == 'X') {
      if (!read_digits(body, i, 2, 16, code)) return why = "unable to unescape string", false;
    } else if (e >= '0' && e <= '3') {
      --i;
      if (!read_digits(body, i, 3, 8, code))
        return why = "unable to unescape octal sequence in string", false;
    } else if ((e == 'u' || e == 'U') && !bytes) {
      if (!read_digits(body, i, e == 'u' ? 4 : 8, 16, code))
        return why = "unable to unescape string", false;
      if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return why = "invalid unicode code point", false;
    } else {
      return why = "unable to unescape string", false;
    }
    if (bytes)
      out += static_cast<char>(code);
    else
      append_utf8(out, code);
  }
  return true;
}

}  // namespace cardea::cel

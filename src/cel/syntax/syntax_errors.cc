#include "cel/syntax/syntax_errors.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"

namespace cardea::cel {
namespace {

// Tokens as bits.
using Set = std::uint64_t;
constexpr Set bit(Token t) {
  return Set{1} << static_cast<unsigned>(t);
}
template <class... T>
constexpr Set set_of(T... tokens) {
  return (bit(tokens) | ...);
}

struct Name {
  Token token;
  std::string_view text;
};
// In the order in which messages list them.
constexpr Name kNames[] = {{Token::kEnd, "<EOF>"},         {Token::kEqual, "'=='"},
                           {Token::kNotEqual, "'!='"},     {Token::kIn, "'in'"},
                           {Token::kLess, "'<'"},          {Token::kLessEqual, "'<='"},
                           {Token::kGreaterEqual, "'>='"}, {Token::kGreater, "'>'"},
                           {Token::kAnd, "'&&'"},          {Token::kOr, "'||'"},
                           {Token::kLeftBracket, "'['"},   {Token::kRightBracket, "']'"},
                           {Token::kLeftBrace, "'{'"},     {Token::kRightBrace, "'}'"},
                           {Token::kLeftParen, "'('"},     {Token::kRightParen, "')'"},
                           {Token::kDot, "'.'"},           {Token::kComma, "','"},
                           {Token::kMinus, "'-'"},         {Token::kNot, "'!'"},
                           {Token::kQuestion, "'?'"},      {Token::kColon, "':'"},
                           {Token::kPlus, "'+'"},          {Token::kStar, "'*'"},
                           {Token::kSlash, "'/'"},         {Token::kPercent, "'%'"},
                           {Token::kTrue, "'true'"},       {Token::kFalse, "'false'"},
                           {Token::kNull, "'null'"},       {Token::kFloat, "NUM_FLOAT"},
                           {Token::kInt, "NUM_INT"},       {Token::kUint, "NUM_UINT"},
                           {Token::kString, "STRING"},     {Token::kBytes, "BYTES"},
                           {Token::kIdent, "IDENTIFIER"},  {Token::kQuotedIdent, "ESC_IDENTIFIER"}};

std::string written(Set set) {
  std::string out;
  int count = 0;
  for (const Name& name : kNames) {
    if ((set & bit(name.token)) == 0) continue;
    if (count++ > 0) out += ", ";
    out += name.text;
  }
  return count > 1 ? cat("{", out, "}") : out;
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\t')
      out += "\\t";
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else
      out += c;
  }
  return out + "'";
}

constexpr Set kPrimary = set_of(Token::kLeftBracket, Token::kLeftBrace, Token::kLeftParen,
                                Token::kDot, Token::kMinus, Token::kTrue, Token::kFalse,
                                Token::kNull, Token::kFloat, Token::kInt, Token::kUint,
                                Token::kString, Token::kBytes, Token::kIdent);
constexpr Set kExpression = kPrimary | bit(Token::kNot);
constexpr Set kElement = kExpression | bit(Token::kQuestion);
constexpr Set kFieldName = set_of(Token::kIdent, Token::kQuotedIdent);
constexpr Set kField = kFieldName | bit(Token::kQuestion);
constexpr Set kRelations = set_of(Token::kEqual, Token::kNotEqual, Token::kIn, Token::kLess,
                                  Token::kLessEqual, Token::kGreaterEqual, Token::kGreater);
constexpr Set kArithmetic = set_of(Token::kStar, Token::kSlash, Token::kPercent, Token::kPlus,
                                   Token::kMinus);
constexpr Set kPostfix = set_of(Token::kDot, Token::kLeftBracket);
constexpr Set kNumber = set_of(Token::kInt, Token::kFloat);

// A place within a rule: the tokens that may come next, and whether the rule may end there.
struct Place {
  Set next = 0;
  bool ends = false;
};
constexpr Place kRuleEnd{0, true};

class Reader {
 public:
  Reader(std::string_view text, std::span<const Lexeme> tokens, std::span<const Skipped> skipped,
         std::uint32_t unread, std::uint32_t max_depth)
      : text_(text), tokens_(tokens), skipped_(skipped), unread_(unread), max_depth_(max_depth) {}

  std::vector<Issue> run() {
    expression({bit(Token::kEnd), false});
    if (!match(Token::kEnd, kRuleEnd)) fail(1);
    // Errors in names are known only after the whole text has been read.
    if (!stopped_) issues_.insert(issues_.end(), noted_.begin(), noted_.end());
    return std::move(issues_);
  }

 private:
  // --- tokens

  const Lexeme& ahead(std::size_t n = 0) const {
    return tokens_[std::min(at_ + n, tokens_.size() - 1)];
  }
  bool sees(Set set, std::size_t n = 0) const { return (set & bit(ahead(n).token)) != 0; }
  bool sees(Token token, std::size_t n = 0) const { return ahead(n).token == token; }
  void skip() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  void take() {
    recovering_ = false;
    attempted_.clear();
    attempted_at_ = tokens_.size();
    skip();
  }
  void stop() {
    stopped_ = true;
    at_ = tokens_.size() - 1;
  }

  static std::string shown(const Lexeme& token) {
    return token.token == Token::kEnd ? "'<EOF>'" : quoted(token.text);
  }

  void report(const Lexeme& where, std::string message) {
    if (stopped_) return;
    issues_.push_back({where.position, cat("Syntax error: ", message)});
    if (issues_.size() >= 100) stop();
  }

  // --- what may follow

  // Everything that may come at a place, with the rules around it.
  Set expected(Place place) const {
    for (auto outer = follows_.rbegin(); place.ends && outer != follows_.rend(); ++outer)
      place = {place.next | outer->next, outer->ends};
    return place.ends ? place.next | bit(Token::kEnd) : place.next;
  }
  // The places where one of the enclosing rules may continue.
  Set resumable() const {
    Set out = 0;
    for (const Place& place : follows_) out |= place.next;
    return out;
  }
  void skip_until(Set set, bool counted) {
    for (int skipped = 0; !sees(Token::kEnd) && !sees(set); skip()) {
      if (!counted || skipped++ < 256) continue;
      if (!stopped_)
        issues_.push_back({kNowhere, "error recovery token lookahead limit exceeded: 256"});
      return stop();
    }
  }

  // --- continuing after an error

  struct Error {
    const Lexeme* offending = nullptr;
    const Lexeme* start = nullptr;  // of a choice without a fitting alternative; null: the wrong
                                    // token
    Set expected = 0;
  };

  bool mismatch(Set wanted) {
    error_ = {&ahead(), nullptr, wanted};
    return false;
  }
  bool no_alternative(std::size_t from, std::size_t to) {
    error_ = {&tokens_[std::min(to, tokens_.size() - 1)],
              &tokens_[std::min(from, tokens_.size() - 1)], 0};
    return false;
  }
  bool may_attempt() {
    if (stopped_) return false;
    if (attempts_++ < 30) return true;
    report(ahead(), "error recovery attempt limit exceeded: 30");
    stop();
    return false;
  }

  // Whether parsing can continue after one token is dropped.
  bool drop_one(Set wanted) {
    if (!sees(wanted, 1)) return false;
    if (!std::exchange(recovering_, true))
      report(ahead(), cat("extraneous input ", shown(ahead()), " expecting ", written(wanted)));
    take();
    return true;
  }

  bool match(Token token, Place after) {
    if (sees(token)) return take(), true;
    const Set wanted = bit(token);
    if (!may_attempt()) return mismatch(wanted);
    if (drop_one(wanted)) return take(), true;
    if (!sees(expected(after))) return mismatch(wanted);
    if (!std::exchange(recovering_, true))
      report(ahead(), cat("missing ", written(wanted), " at ", shown(ahead())));
    return true;
  }

  // Before a choice.
  bool sync(Place place) {
    if (recovering_ || place.ends || sees(place.next)) return true;
    return drop_one(place.next) || mismatch(place.next);
  }
  // After a repeated part.
  void sync_loop(Set next) {
    if (recovering_ || sees(next)) return;
    report(ahead(), cat("extraneous input ", shown(ahead()), " expecting ", written(next)));
    recovering_ = true;
    skip_until(next | resumable(), false);
  }

  // Ends a rule that failed: the text behind it may still be read.
  void fail(int rule) {
    if (stopped_) return;
    if (!std::exchange(recovering_, true)) {
      if (error_.start == nullptr)
        report(*error_.offending, cat("mismatched input ", shown(*error_.offending), " expecting ",
                                      written(error_.expected)));
      else
        report(*error_.offending, no_alternative_text());
    }
    if (!may_attempt()) return;
    // The same failure without progress: one token must be dropped.
    if (attempted_at_ == at_ && attempted_.contains(rule)) skip();
    attempted_at_ = at_;
    attempted_.insert(rule);
    skip_until(resumable(), true);
  }

  std::string no_alternative_text() const {
    if (error_.start->token == Token::kEnd) return "no viable alternative at input '<EOF>'";
    std::string input;
    const std::uint32_t end = error_.offending->position +
                              static_cast<std::uint32_t>(error_.offending->text.size());
    std::uint32_t from = error_.start->position;
    for (const Skipped& s : skipped_) {
      if (s.end <= from || s.begin >= end) continue;
      input += text_.substr(from, s.begin - from);
      from = s.end;
    }
    input += text_.substr(from, end - from);
    for (const std::string_view word : {"true", "false", "null"})
      if (input.size() == word.size() + 1 && input.ends_with(word))
        return cat("mismatched input '", word, "' expecting IDENTIFIER");
    return cat("no viable alternative at input ", quoted(input));
  }

  // Reads a rule. `follow` is the place behind it in the enclosing rule.
  template <class Body>
  void rule(int number, Place follow, Body body) {
    if (stopped_) return;
    follows_.push_back(follow);
    if (!body()) fail(number);
    follows_.pop_back();
  }

  // --- the grammar

  void expression(Place follow) {
    rule(2, follow, [&] {
      bool read = true;
      if (++depth_ <= max_depth_)
        read = conditional();
      else
        too_deep();
      --depth_;
      return read;
    });
  }
  void too_deep() {
    if (!stopped_)
      issues_.push_back({kNowhere, cat("expression recursion limit exceeded: ", max_depth_)});
    stop();
  }
  bool conditional() {
    either({bit(Token::kQuestion), true});
    if (!sees(Token::kQuestion)) return true;
    take();
    either({bit(Token::kColon), false});
    if (!match(Token::kColon, {kExpression, false})) return false;
    expression(kRuleEnd);
    return true;
  }
  void either(Place follow) {
    rule(3, follow, [&] { return chain(Token::kOr, [&](Place f) { both(f); }); });
  }
  void both(Place follow) {
    rule(4, follow, [&] { return chain(Token::kAnd, [&](Place f) { relation(f); }); });
  }
  template <class Operand>
  bool chain(Token token, Operand operand) {
    operand({bit(token), true});
    while (sees(token)) {
      take();
      operand({bit(token), true});
    }
    return true;
  }
  // Precedence and grouping do not change which tokens may come next.
  void relation(Place follow) {
    rule(5, follow, [&] {
      calculation({kRelations, true});
      while (sees(kRelations)) {
        take();
        calculation({kRelations, true});
      }
      return true;
    });
  }
  void calculation(Place follow) {
    rule(6, follow, [&] {
      unary({kArithmetic, true});
      while (sees(kArithmetic)) {
        take();
        unary({kArithmetic, true});
      }
      return true;
    });
  }

  void unary(Place follow) {
    rule(7, follow, [&] {
      if (!sync({kExpression, false})) return false;
      if (sees(Token::kNot)) {
        while (sees(Token::kNot)) {
          take();
          sync_loop(kExpression);
        }
      } else if (sees(Token::kMinus) && !sees(kNumber, 1)) {
        if (!sees(kPrimary, 1)) return no_alternative(at_, at_ + 1);
        while (sees(Token::kMinus)) {
          if (!sees(kPrimary, 1)) return no_alternative(at_, at_ + 1);
          take();
          sync_loop(kPrimary);
        }
        if (!sees(kPrimary)) return no_alternative(at_, at_);
      } else if (!sees(kPrimary)) {
        return no_alternative(at_, at_);
      }
      member(kRuleEnd);
      return true;
    });
  }

  void member(Place follow) {
    rule(8, follow, [&] {
      primary({kPostfix, true});
      while (sees(kPostfix) && !stopped_)
        if (!(sees(Token::kDot) ? selection() : index())) return false;
      return true;
    });
  }
  bool selection() {
    if (!sees(kField, 1)) return no_alternative(at_, at_ + 1);
    const bool call = sees(Token::kIdent, 1) && sees(Token::kLeftParen, 2);
    take();
    if (call) {
      take();
      return arguments({kPostfix, true});
    }
    if (sees(Token::kQuestion)) take();
    field_name({kPostfix, true});
    return true;
  }
  bool index() {
    take();
    if (!sync({kElement, false})) return false;
    if (sees(Token::kQuestion)) take();
    expression({bit(Token::kRightBracket), false});
    return match(Token::kRightBracket, {kPostfix, true});
  }
  bool arguments(Place after) {
    take();
    if (!sync({kExpression | bit(Token::kRightParen), false})) return false;
    if (sees(kExpression)) {
      rule(9, {bit(Token::kRightParen), false}, [&] {
        expression({bit(Token::kComma), true});
        while (sees(Token::kComma)) {
          take();
          expression({bit(Token::kComma), true});
        }
        return true;
      });
    }
    return match(Token::kRightParen, after);
  }
  void field_name(Place follow) {
    rule(10, follow, [&] {
      const std::uint32_t place = ahead().position;
      if (sync({kFieldName, false}) && (sees(kFieldName) || no_alternative(at_, at_)))
        return take(), true;
      if (!recovering_ && !stopped_) noted_.push_back({place, "unsupported ident kind"});
      return false;
    });
  }

  void primary(Place follow) {
    rule(11, follow, [&] {
      if (!sync({kPrimary, false})) return false;
      switch (ahead().token) {
        case Token::kDot:
          if (!sees(Token::kIdent, 1)) return no_alternative(at_, at_ + 1);
          return named(1);
        case Token::kIdent:
          return named(0);
        case Token::kLeftParen:
          take();
          expression({bit(Token::kRightParen), false});
          return match(Token::kRightParen, kRuleEnd);
        case Token::kLeftBracket:
          return braced(Token::kRightBracket, kElement, [&](Place f) { elements(f); });
        case Token::kLeftBrace:
          return braced(Token::kRightBrace, kElement, [&](Place f) { entries(f, kElement); });
        default:
          if (!sees(kPrimary)) return no_alternative(at_, at_);
          literal();
          return true;
      }
    });
  }
  void literal() {
    rule(12, kRuleEnd, [&] {
      if (sees(Token::kMinus)) {
        if (!sees(kNumber, 1)) return no_alternative(at_, at_ + 1);
        take();
      }
      take();
      return true;
    });
  }
  // A variable, a call, or the name of a type before its fields.
  bool named(std::size_t dots) {
    std::size_t last = dots;
    while (sees(Token::kDot, last + 1) && sees(Token::kIdent, last + 2)) last += 2;
    const bool structure = sees(Token::kLeftBrace, last + 1);
    const std::size_t count = structure ? last : dots;
    // Up to the place where the parser stopped, the parser has reported the reserved words itself.
    if (!structure && ahead().position >= unread_ && is_reserved(ahead(dots).text))
      noted_.push_back({ahead().position, cat("reserved identifier: ", ahead(dots).text)});
    for (std::size_t i = 0; i <= count; ++i) take();
    if (structure) return braced(Token::kRightBrace, kField, [&](Place f) { entries(f, kField); });
    return sees(Token::kLeftParen) ? arguments(kRuleEnd) : true;
  }
  // A list, a map or fields: the content may end with a comma.
  template <class Inside>
  bool braced(Token close, Set first, Inside inside) {
    const Set end = bit(Token::kComma) | bit(close);
    take();
    if (!sync({first | end, false})) return false;
    if (sees(first)) inside(Place{end, false});
    if (!sync({end, false})) return false;
    if (sees(Token::kComma)) take();
    return match(close, kRuleEnd);
  }
  void elements(Place follow) {
    rule(13, follow, [&] {
      element({bit(Token::kComma), true});
      while (sees(Token::kComma) && sees(kElement, 1)) {
        take();
        element({bit(Token::kComma), true});
      }
      return true;
    });
  }
  void element(Place follow) {
    rule(14, follow, [&] {
      if (!sync({kElement, false})) return false;
      if (sees(Token::kQuestion)) take();
      expression(kRuleEnd);
      return true;
    });
  }
  void field(Place follow) {
    rule(15, follow, [&] {
      if (!sync({kField, false})) return false;
      if (sees(Token::kQuestion)) take();
      field_name(kRuleEnd);
      return true;
    });
  }
  void entries(Place follow, Set first) {
    rule(16, follow, [&] {
      while (true) {
        const Place colon{bit(Token::kColon), false};
        if (first == kField)
          field(colon);
        else
          element(colon);
        if (!match(Token::kColon, {kExpression, false})) return false;
        expression({bit(Token::kComma), true});
        if (!sees(Token::kComma) || !sees(first, 1)) return true;
        take();
      }
    });
  }

  static constexpr std::uint32_t kNowhere = 0;
  std::string_view text_;
  std::span<const Lexeme> tokens_;
  std::span<const Skipped> skipped_;
  std::uint32_t unread_;
  std::uint32_t max_depth_;
  std::uint32_t depth_ = 0;
  std::size_t at_ = 0;
  std::vector<Place> follows_;
  std::vector<Issue> issues_, noted_;
  Error error_;
  bool recovering_ = false;
  bool stopped_ = false;
  int attempts_ = 0;
  std::size_t attempted_at_ = ~std::size_t{0};
  std::set<int> attempted_;
};

}  // namespace

std::vector<Issue> syntax_errors(std::string_view text, std::span<const Lexeme> tokens,
                                 std::span<const Skipped> skipped, std::uint32_t unread,
                                 std::uint32_t max_depth) {
  return Reader(text, tokens, skipped, unread, max_depth).run();
}

}  // namespace cardea::cel

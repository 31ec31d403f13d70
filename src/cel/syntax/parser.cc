#include "cel/syntax/parser.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "base/strings.h"
#include "cel/syntax/lexer.h"
#include "cel/syntax/operators.h"
#include "cel/syntax/syntax_errors.h"

namespace cardea::cel {
namespace {

struct Operator {
  Token token;
  int level;  // larger binds tighter
  std::string_view function;
};
constexpr Operator kBinary[] = {
    {Token::kLess, 1, op::kLess},       {Token::kLessEqual, 1, op::kLessEqual},
    {Token::kGreater, 1, op::kGreater}, {Token::kGreaterEqual, 1, op::kGreaterEqual},
    {Token::kEqual, 1, op::kEqual},     {Token::kNotEqual, 1, op::kNotEqual},
    {Token::kIn, 1, op::kIn},           {Token::kPlus, 2, op::kAdd},
    {Token::kMinus, 2, op::kSubtract},  {Token::kStar, 3, op::kMultiply},
    {Token::kSlash, 3, op::kDivide},    {Token::kPercent, 3, op::kModulo}};

class TextParser : public Parser {
 public:
  TextParser(std::string_view text, const ParseOptions& options, Ast& ast)
      : options_(options), ast_(ast) {
    tokens_ = scan(text, issues, skipped_);
  }

  void run() {
    Expr* root = expression();
    if (!failed_ && current().token != Token::kEnd) syntax();
    ast_.root = root;
  }

  // The exact syntax errors, if there are any, instead of the place alone at which parsing stopped.
  void explain(std::string_view text) {
    if (!misread_) return;
    std::vector<Issue> found = syntax_errors(text, tokens_, skipped_, current().position,
                                             options_.max_depth);
    if (found.empty())
      found.push_back(
          {current().position, cat("Syntax error: mismatched input '", current().text, "'")});
    // A reserved word or a bad number before that place is reported too.
    issues.insert(issues.end(), found.begin(), found.end());
  }

  Expr* make(Expr::Kind kind, std::uint32_t position) override {
    auto* e = ast_.arena.make<Expr>();
    e->kind = kind;
    e->id = ++ast_.expressions;
    e->position = position;
    return e;
  }
  void report(std::uint32_t position, std::string message) override {
    if (issues.size() < 100) issues.push_back({position, std::move(message)});
  }
  std::span<Expr*> keep(const std::vector<Expr*>& args) override {
    const std::span<Expr*> out = ast_.arena.array<Expr*>(args.size());
    std::copy(args.begin(), args.end(), out.begin());
    return out;
  }
  std::string_view keep(std::string_view text) override { return ast_.arena.copy(text); }

  std::vector<Issue> issues;

 private:
  const Lexeme& current() const { return tokens_[at_]; }
  bool take(Token token) {
    if (failed_ || current().token != token) return false;
    ++at_;
    return true;
  }
  // Nothing is read after the first syntax error: explain() finds the errors.
  Expr* syntax() {
    misread_ = !failed_ || misread_;
    failed_ = true;
    return make(Expr::Kind::kLiteral, current().position);
  }
  bool expect(Token token) {
    if (take(token)) return true;
    syntax();
    return false;
  }

  class Depth {
   public:
    Depth(TextParser& p, std::uint32_t& counter) : p_(p), counter_(counter) { deeper(); }
    ~Depth() { counter_ -= added_; }
    void deeper() {
      ++added_;
      if (++counter_ <= p_.options_.max_depth) return;
      if (!p_.failed_)
        p_.report(p_.current().position,
                  cat("expression recursion limit exceeded: ", p_.options_.max_depth));
      p_.failed_ = true;
    }

   private:
    TextParser& p_;
    std::uint32_t& counter_;
    std::uint32_t added_ = 0;
  };

  Expr* call(std::string_view function, std::uint32_t position, const std::vector<Expr*>& args) {
    Expr* e = make(Expr::Kind::kCall, position);
    e->name = function;
    e->args = keep(args);
    return e;
  }

  Expr* expression() {
    Depth depth(*this, expression_depth_);
    if (failed_) return make(Expr::Kind::kLiteral, 0);
    Expr* condition = chain(Token::kOr, op::kOr);
    const std::uint32_t position = current().position;
    if (!take(Token::kQuestion)) return condition;
    Expr* yes = chain(Token::kOr, op::kOr);
    if (!expect(Token::kColon)) return condition;
    return call(op::kConditional, position, {condition, yes, expression()});
  }

  // Chains of && and
  //
  //
  // become balanced trees, so that long chains do not become deep trees.
  Expr* chain(Token token, std::string_view function) {
    auto operand = [&] { return token == Token::kOr ? chain(Token::kAnd, op::kAnd) : binary(1); };
    std::vector<Expr*> terms{operand()};
    std::vector<std::uint32_t> positions;
    while (!failed_ && current().token == token) {
      positions.push_back(current().position);
      ++at_;
      terms.push_back(operand());
    }
    return balanced(function, terms, positions, 0, positions.size());
  }
  Expr* balanced(std::string_view function, const std::vector<Expr*>& terms,
                 const std::vector<std::uint32_t>& positions, std::size_t low, std::size_t high) {
    if (low == high) return terms[low];
    const std::size_t middle = (low + high) / 2;
    Expr* left = balanced(function, terms, positions, low, middle);
    Expr* right = balanced(function, terms, positions, middle + 1, high);
    return call(function, positions[middle], {left, right});
  }

  Expr* binary(int level) {
    if (level > 3) return unary();
    Expr* left = binary(level + 1);
    Depth depth(*this, binary_depth_[level]);
    while (!failed_) {
      const auto* o = std::ranges::find(kBinary, current().token, &Operator::token);
      if (o == std::end(kBinary) || o->level != level) break;
      depth.deeper();
      const std::uint32_t position = current().position;
      ++at_;
      Expr* right = binary(level + 1);
      left = call(o->function, position, {left, right});
    }
    return left;
  }

  Expr* unary() {
    const Token token = current().token;
    if (token == Token::kMinus &&
        (tokens_[at_ + 1].token == Token::kInt || tokens_[at_ + 1].token == Token::kFloat))
      return member();
    if (token != Token::kNot && token != Token::kMinus) return member();
    const std::uint32_t position = current().position;
    int count = 0;
    while (current().token == token) {
      ++count;
      ++at_;
    }
    Expr* operand = member();
    if (count % 2 == 0) return operand;
    return call(token == Token::kNot ? op::kNot : op::kNegate, position, {operand});
  }

  Expr* member() {
    Expr* e = primary();
    Depth depth(*this, member_depth_);
    while (!failed_) {
      const std::uint32_t position = current().position;
      if (take(Token::kDot)) {
        depth.deeper();
        e = selection(e, position);
      } else if (take(Token::kLeftBracket)) {
        depth.deeper();
        const bool optional = optional_mark();
        Expr* index = expression();
        if (!expect(Token::kRightBracket)) return e;
        e = call(optional ? op::kOptionalIndex : op::kIndex, position, {e, index});
      } else if (current().token == Token::kLeftBrace && names_type(e)) {
        e = structure(e);
      } else {
        break;
      }
    }
    return e;
  }

  bool optional_mark() {
    const std::uint32_t position = current().position;
    if (!take(Token::kQuestion)) return false;
    if ((options_.macros & kOptionalMacros) == 0) report(position, "unsupported syntax '?'");
    return true;
  }

  Expr* selection(Expr* target, std::uint32_t position) {
    const bool optional = optional_mark();
    const Lexeme field = current();
    // After a dot every word is a field name, but `in`, `true`, `false` and `null` are not
    // identifiers.
    if (field.token == Token::kQuotedIdent) {
      if (!options_.quoted_fields) report(field.position, "unsupported syntax: '`'");
    } else if (field.token != Token::kIdent) {
      return syntax();
    }
    ++at_;
    if (!optional && field.token == Token::kIdent && current().token == Token::kLeftParen)
      return invocation(target, field);
    std::string_view name = field.token == Token::kQuotedIdent
                                ? field.text.substr(1, field.text.size() - 2)
                                : field.text;
    name = keep(name);
    if (optional) {
      Expr* e = make(Expr::Kind::kSelect, position);
      e->optional = true;
      e->target = target;
      e->name = name;
      return e;
    }
    Expr* e = make(Expr::Kind::kSelect, position);
    e->target = target;
    e->name = name;
    return e;
  }

  Expr* invocation(Expr* target, const Lexeme& name) {
    const std::uint32_t position = current().position;
    ++at_;
    std::vector<Expr*> args = arguments(Token::kRightParen);
    if (failed_) return make(Expr::Kind::kLiteral, position);
    const MacroCall macro{name.text, position, target, args};
    if (Expr* made = expand_macro(*this, options_.macros, macro)) {
      if (made->kind == Expr::Kind::kMacro) made->name = keep(made->name);
      return made;
    }
    Expr* e = make(Expr::Kind::kCall, position);
    e->name = keep(name.text);
    e->target = target;
    e->args = keep(args);
    return e;
  }

  std::vector<Expr*> arguments(Token close) {
    std::vector<Expr*> args;
    if (take(close)) return args;
    do {
      args.push_back(expression());
    } while (take(Token::kComma));
    expect(close);
    return args;
  }

  static bool names_type(const Expr* e) {
    while (e->kind == Expr::Kind::kSelect && !e->has && !e->optional) e = e->target;
    return e->kind == Expr::Kind::kIdent;
  }
  static std::string type_text(const Expr* e) {
    if (e->kind == Expr::Kind::kIdent) return (e->absolute ? "." : "") + std::string(e->name);
    return type_text(e->target) + "." + std::string(e->name);
  }

  Expr* structure(Expr* type) {
    Expr* e = make(Expr::Kind::kStruct, current().position);
    e->name = keep(type_text(type));
    ++at_;
    std::vector<Expr*> values;
    std::vector<std::string_view> names;
    std::vector<char> marked;
    while (!failed_ && current().token != Token::kRightBrace) {
      marked.push_back(optional_mark());
      const Lexeme field = current();
      if (field.token != Token::kIdent && field.token != Token::kQuotedIdent) return syntax();
      ++at_;
      names.push_back(keep(field.token == Token::kQuotedIdent
                               ? field.text.substr(1, field.text.size() - 2)
                               : field.text));
      if (!expect(Token::kColon)) return e;
      values.push_back(expression());
      if (!take(Token::kComma)) break;
    }
    expect(Token::kRightBrace);
    e->args = keep(values);
    e->fields = ast_.arena.array<std::string_view>(names.size());
    std::ranges::copy(names, e->fields.begin());
    e->marked = keep_marks(marked);
    return e;
  }

  std::span<bool> keep_marks(const std::vector<char>& marks) {
    const std::span<bool> out = ast_.arena.array<bool>(marks.size());
    std::ranges::copy(marks, out.begin());
    return out;
  }

  Expr* primary() {
    const Lexeme first = current();
    switch (first.token) {
      case Token::kLeftParen: {
        ++at_;
        Expr* e = expression();
        expect(Token::kRightParen);
        return e;
      }
      case Token::kLeftBracket:
        return list();
      case Token::kLeftBrace:
        return map();
      case Token::kDot:
      case Token::kIdent:
        return identifier();
      case Token::kMinus:
        // A minus before a number is part of the number. Elsewhere only unary() reads a minus, and
        // not after `!`.
        if (tokens_[at_ + 1].token == Token::kInt || tokens_[at_ + 1].token == Token::kFloat)
          return number();
        ++at_;
        return syntax();
      case Token::kInt:
      case Token::kUint:
      case Token::kFloat:
        return number();
      case Token::kString:
      case Token::kBytes:
        return text(first.token == Token::kBytes);
      case Token::kTrue:
      case Token::kFalse:
      case Token::kNull: {
        ++at_;
        Expr* e = make(Expr::Kind::kLiteral, first.position);
        e->literal = first.token == Token::kNull ? Value::null()
                                                 : Value::of(first.token == Token::kTrue);
        return e;
      }
      default:
        return syntax();
    }
  }

  Expr* identifier() {
    const std::uint32_t position = current().position;
    const bool absolute = take(Token::kDot);
    const Lexeme name = current();
    if (name.token != Token::kIdent) return syntax();
    ++at_;
    if (is_reserved(name.text)) report(position, cat("reserved identifier: ", name.text));
    if (current().token == Token::kLeftParen) {
      Expr* e = invocation(nullptr, name);
      if (absolute && e->kind == Expr::Kind::kCall) e->name = keep(cat(".", e->name));
      return e;
    }
    Expr* e = make(Expr::Kind::kIdent, name.position);
    e->name = keep(name.text);
    e->absolute = absolute;
    return e;
  }

  Expr* list() {
    Expr* e = make(Expr::Kind::kList, current().position);
    ++at_;
    std::vector<Expr*> items;
    std::vector<char> marked;
    while (!failed_ && current().token != Token::kRightBracket) {
      marked.push_back(optional_mark());
      items.push_back(expression());
      if (!take(Token::kComma)) break;
    }
    expect(Token::kRightBracket);
    e->args = keep(items);
    e->marked = keep_marks(marked);
    return e;
  }

  Expr* map() {
    Expr* e = make(Expr::Kind::kMap, current().position);
    ++at_;
    std::vector<Expr*> entries;
    std::vector<char> marked;
    while (!failed_ && current().token != Token::kRightBrace) {
      marked.push_back(optional_mark());
      entries.push_back(expression());
      if (!expect(Token::kColon)) return e;
      entries.push_back(expression());
      if (!take(Token::kComma)) break;
    }
    expect(Token::kRightBrace);
    e->args = keep(entries);
    e->marked = keep_marks(marked);
    return e;
  }

  Expr* number() {
    const std::uint32_t position = current().position;  // of the sign, if there is one
    const bool negative = take(Token::kMinus);
    const Lexeme token = current();
    ++at_;
    Expr* e = make(Expr::Kind::kLiteral, position);
    std::string digits = (negative ? "-" : "") + std::string(token.text);
    if (token.token == Token::kFloat) {
      e->literal = Value::of_double(std::strtod(digits.c_str(), nullptr));
      if (std::isinf(e->literal.real)) report(position, "invalid double literal");
      return e;
    }
    if (token.token == Token::kUint) digits.pop_back();
    const bool hex = token.text.size() > 1 && (token.text[1] == 'x' || token.text[1] == 'X');
    errno = 0;
    if (token.token == Token::kUint) {
      e->literal = Value::of_uint(std::strtoull(digits.c_str(), nullptr, hex ? 16 : 10));
      if (errno == ERANGE) report(position, "invalid uint literal");
    } else {
      e->literal = Value::of_int(std::strtoll(digits.c_str(), nullptr, hex ? 16 : 10));
      if (errno == ERANGE) report(position, "invalid int literal");
    }
    return e;
  }

  Expr* text(bool bytes) {
    const Lexeme token = current();
    ++at_;
    Expr* e = make(Expr::Kind::kLiteral, token.position);
    std::string content;
    std::string why;
    if (!unquote(token.text, bytes, content, why)) report(token.position, why);
    const std::string_view kept = keep(content);
    e->literal = bytes ? Value::of_bytes(kept) : Value::of_text(kept);
    return e;
  }

  const ParseOptions& options_;
  Ast& ast_;
  std::vector<Lexeme> tokens_;
  std::vector<Skipped> skipped_;
  std::size_t at_ = 0;
  bool failed_ = false;
  bool misread_ = false;  // by a token that does not fit, not by a limit
  std::uint32_t expression_depth_ = 0;
  std::uint32_t binary_depth_[4] = {};
  std::uint32_t member_depth_ = 0;
};

}  // namespace

Parsed parse(std::string_view text, const ParseOptions& options) {
  auto ast = std::make_shared<Ast>(std::string(text));
  Parsed out;
  out.source = std::shared_ptr<const Source>(ast, &ast->source);
  if (!is_valid_utf8(text)) {
    out.issues.push_back({0, "invalid UTF-8 in expression"});
    return out;
  }
  if (code_points(text) > options.max_code_points) {
    out.issues.push_back({0, cat("expression code point size exceeds limit: size: ",
                                 code_points(text), ", limit ", options.max_code_points)});
    return out;
  }
  TextParser parser(ast->source.text(), options, *ast);
  parser.run();
  parser.explain(ast->source.text());
  out.issues = std::move(parser.issues);
  if (out.issues.empty())
    out.ast = std::move(ast);
  else
    std::ranges::stable_sort(out.issues, {}, &Issue::position);
  return out;
}

}  // namespace cardea::cel

#include "json/selector.h"

#include <algorithm>

#include "base/names.h"
#include "base/strings.h"
#include "json/field_error.h"
#include "json/label_matcher.h"

namespace cardea::json {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

// Words, and the signs `! = == != < > ( ) ,`, with white space between them.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::string_view peek() {
    auto saved = at_;
    auto token = next();
    at_ = saved;
    return token;
  }

  std::string_view next() {  // "" at the end
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ == text_.size()) return {};
    std::size_t start = at_;
    if (is_sign(text_[at_])) {
      char c = text_[at_++];
      bool pairs = (c == '=' || c == '!') && at_ < text_.size() && text_[at_] == '=';
      if (pairs) ++at_;
    } else {
      while (at_ < text_.size() && !is_sign(text_[at_]) && !is_space(text_[at_])) ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  static bool is_sign(char c) {
    return std::string_view("=!(),<>").find(c) != std::string_view::npos;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_word(std::string_view token) {
  return !token.empty() && !Lexer::is_sign(token[0]);
}

Result<void> check_values(const Requirement& r) {
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    const std::string& value = r.values[i];
    if (r.op == Operator::kGreaterThan || r.op == Operator::kLessThan) {
      if (!parse_int(value))
        return fail(bad_request(invalid(cat("values[", i, "]"), value,
                                        "for 'Gt', 'Lt' operators, the value must be an integer")
                                    .message()));
    } else if (auto problems = label_value_problems(value); !problems.empty()) {
      return fail(bad_request(
          invalid(cat("values[", i, "][", r.key, "]"), value, join(problems, "; ")).message()));
    }
  }
  return {};
}

class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : lexer_(text) {}

  Result<LabelSelector> run() {
    LabelSelector selector;
    if (lexer_.peek().empty()) return selector;
    for (;;) {
      auto token = lexer_.peek();
      if (!is_word(token) && token != "!")
        return error(cat("found '", token, "', expected: !, identifier, or 'end of string'"));
      auto r = requirement();
      if (!r) return error(cat("unable to parse requirement: ", r.error().message));
      selector.add(std::move(*r));
      token = lexer_.next();
      if (token.empty()) return selector;
      if (token != ",") return error(cat("found '", token, "', expected: ',' or 'end of string'"));
      token = lexer_.peek();
      if (!is_word(token) && token != "!")
        return error(cat("found '", token, "', expected: identifier after ','"));
    }
  }

 private:
  static std::unexpected<Error> error(std::string message) {
    return fail(bad_request(std::move(message)));
  }

  Result<Requirement> requirement() {
    bool absent = lexer_.peek() == "!";
    if (absent) lexer_.next();
    std::string_view key = lexer_.next();
    if (!is_word(key)) return error(cat("found '", key, "', expected: identifier"));
    if (auto problems = label_key_problems(key); !problems.empty())
      return error(invalid("", key, join(problems, "; ")).message());
    if (absent) return Requirement{std::string(key), Operator::kDoesNotExist, {}};
    std::string_view next = lexer_.peek();
    if (next.empty() || next == ",") return Requirement{std::string(key), Operator::kExists, {}};
    return with_operator(key, lexer_.next());
  }

  Result<Requirement> with_operator(std::string_view key, std::string_view op) {
    struct Row {
      std::string_view text;
      Operator op;
    };
    static constexpr Row kRows[] = {{"in", Operator::kIn},        {"notin", Operator::kNotIn},
                                    {"=", Operator::kEquals},     {"==", Operator::kEquals},
                                    {"!=", Operator::kNotEquals}, {">", Operator::kGreaterThan},
                                    {"<", Operator::kLessThan}};
    const Row* row = std::ranges::find(kRows, op, &Row::text);
    if (row == std::end(kRows))
      return error(cat("found '", op, "', expected: in, notin, =, ==, !=, gt, lt"));
    Requirement r{std::string(key), row->op, {}};
    if (r.op == Operator::kIn || r.op == Operator::kNotIn) {
      auto values = value_list();
      if (!values) return fail(values.error());
      r.values = std::move(*values);
    } else {
      r.values.push_back(single_value());
    }
    return check(std::move(r));
  }

  std::string single_value() {
    return is_word(lexer_.peek()) ? std::string(lexer_.next()) : std::string();
  }

  Result<std::vector<std::string>> value_list() {
    auto open = lexer_.next();
    if (open != "(") return error(cat("found '", open, "' expected: '('"));
    std::vector<std::string> values;
    for (;;) {
      values.push_back(single_value());
      auto token = lexer_.next();
      if (token == ")") break;
      if (token != ",") return error(cat("found '", token, "', expected: ',' or ')'"));
    }
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
    return values;
  }

  static Result<Requirement> check(Requirement r) {
    if (auto ok = check_values(r); !ok) return fail(ok.error());
    return r;
  }

  Lexer lexer_;
};

// Splits at commas that no backslash escapes.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\') {
      char next = i + 1 < text.size() ? text[i + 1] : '\0';
      if (next != '\\' && next != ',' && next != '=')
        return fail(bad_request(
            cat("invalid field selector: invalid escape sequence: ", text.substr(i, 2))));
      out += next;
      ++i;
    } else if (c == ',' || c == '=') {
      return fail(bad_request(cat("invalid field selector: unescaped character in value: ", c)));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  return LabelParser(text).run();
}

Result<void> LabelSelector::check(const Requirement& r) {
  if (auto problems = label_key_problems(r.key); !problems.empty())
    return fail(bad_request(invalid("key", r.key, join(problems, "; ")).message()));
  bool is_set = r.op == Operator::kIn || r.op == Operator::kNotIn;
  bool is_presence = r.op == Operator::kExists || r.op == Operator::kDoesNotExist;
  Value values = Value::array();
  for (const std::string& v : r.values) values.push_back(v);
  if (is_set && r.values.empty())
    return fail(bad_request(
        invalid("values", values, "for 'in', 'notin' operators, values set can't be empty")
            .message()));
  if (is_presence && !r.values.empty())
    return fail(bad_request(
        invalid("values", values, "values set must be empty for exists and does not exist")
            .message()));
  if (!is_set && !is_presence && r.values.size() != 1)
    return fail(
        bad_request(invalid("values", values, "exact-match compatibility requires one single value")
                        .message()));
  return check_values(r);
}

bool LabelSelector::matches(const Value& labels) const {
  return LabelMatcher(*this).matches(labels);
}

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector selector;
  std::vector<std::string_view> terms = split_terms(text);
  std::ranges::sort(terms);  // as Kubernetes does, which decides what an error speaks of
  for (std::string_view term : terms) {
    if (term.empty()) continue;
    std::size_t at = term.find_first_of("=!");
    while (at != std::string_view::npos && term[at] == '!' && term.substr(at, 2) != "!=")
      at = term.find_first_of("=!", at + 1);
    if (at == std::string_view::npos)
      return fail(
          bad_request(cat("invalid selector: '", text, "'; can't understand '", term, "'")));
    bool equal = term[at] == '=';
    std::size_t length = equal && term.substr(at, 2) != "==" ? 1 : 2;
    auto value = unescape(term.substr(at + length));
    if (!value) return fail(value.error());
    selector.terms_.push_back({std::string(term.substr(0, at)), equal, std::move(*value)});
  }
  return selector;
}

std::optional<std::string> FieldSelector::exact(std::string_view field) const {
  for (const Term& t : terms_)
    if (t.field == field && t.equal) return t.value;
  return std::nullopt;
}

}  // namespace cardea::json

#include "json/json_path.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::json {

// One side of a comparison in a filter: a path from the item, or a literal.
struct JsonPath::Operand {
  Steps path;
  std::optional<Value> literal;
};

struct JsonPath::Step {
  enum class Kind { kField, kAll, kSlice, kUnion, kFilter, kDescend };

  Kind kind;
  std::string name;                      // kField
  std::optional<std::int64_t> from, to;  // kSlice; an index is a slice of one
  std::int64_t stride = 1;
  bool index = false;
  std::vector<Step> choices;  // kUnion
  std::string comparison;     // kFilter; empty: the left side exists
  std::shared_ptr<const Operand> left, right;
};

class JsonPath::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Steps> run() {
    Steps out = steps(kMaxNesting);
    if (error_.empty() && at_ != text_.size()) fail_at("unexpected text");
    if (!error_.empty()) return fail(bad_request(error_));
    return out;
  }

 private:
  static constexpr int kMaxNesting = 20;

  bool done() const { return at_ >= text_.size() || !error_.empty(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void fail_at(std::string_view what) {
    if (error_.empty())
      error_ = cat("invalid JSONPath `", text_, "`: ", what, " at position ", at_);
  }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }

  Steps steps(int nesting) {
    Steps out;
    if (nesting == 0) {
      fail_at("too deeply nested");
      return out;
    }
    if (peek() == '$' || peek() == '@') ++at_;
    while (!done()) {
      if (take("..")) {
        out.push_back({.kind = Step::Kind::kDescend});
        if (peek() != '[') field(out);
      } else if (take(".")) {
        if (peek() != '[' && !at_end_of_path()) field(out);
      } else if (peek() == '[') {
        bracket(out, nesting);
      } else {
        break;
      }
    }
    return out;
  }

  bool at_end_of_path() const {
    return done() || std::string_view(" )=!<>,]").find(text_[at_]) != std::string_view::npos;
  }

  void field(Steps& out) {
    std::string name;
    while (!done()) {
      char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        name.push_back(text_[at_ + 1]);
        at_ += 2;
        continue;
      }
      if (std::string_view(".[]() ,=!<>{}$@").find(c) != std::string_view::npos) break;
      name.push_back(c);
      ++at_;
    }
    if (name.empty()) return fail_at("a field name is missing");
    if (name == "*")
      out.push_back({.kind = Step::Kind::kAll});
    else
      out.push_back({.kind = Step::Kind::kField, .name = std::move(name)});
  }

  void bracket(Steps& out, int nesting) {
    ++at_;
    skip_spaces();
    if (take("?(")) return filter(out, nesting);
    std::vector<Step> choices;
    do {
      skip_spaces();
      choices.push_back(choice());
      skip_spaces();
    } while (take(","));
    if (!take("]")) return fail_at("unterminated array");
    if (choices.size() == 1)
      out.push_back(std::move(choices[0]));
    else
      out.push_back({.kind = Step::Kind::kUnion, .choices = std::move(choices)});
  }

  Step choice() {
    if (take("*")) return {.kind = Step::Kind::kAll};
    if (peek() == '\'' || peek() == '"') return {.kind = Step::Kind::kField, .name = quoted_text()};
    Step out{.kind = Step::Kind::kSlice};
    out.from = number();
    if (!take(":")) {
      if (!out.from) fail_at("invalid array index");
      out.index = true;
      return out;
    }
    out.to = number();
    if (take(":")) out.stride = number().value_or(1);
    if (out.stride <= 0) fail_at("the step of a slice must be positive");
    return out;
  }

  std::optional<std::int64_t> number() {
    std::size_t start = at_;
    if (peek() == '-') ++at_;
    while (!done() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    if (at_ == start) return std::nullopt;
    auto value = parse_int(text_.substr(start, at_ - start));
    if (!value) fail_at("invalid number");
    return value;
  }

  std::string quoted_text() {
    char quote = text_[at_++];
    std::string out;
    while (!done() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out.push_back(text_[at_++]);
    }
    if (done()) {
      fail_at("unterminated quoted string");
      return out;
    }
    ++at_;
    return out;
  }

  void filter(Steps& out, int nesting) {
    Step step{.kind = Step::Kind::kFilter};
    step.left = operand(nesting);
    skip_spaces();
    for (std::string_view operation : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(operation)) continue;
      step.comparison = operation;
      skip_spaces();
      step.right = operand(nesting);
      break;
    }
    skip_spaces();
    if (!take(")")) return fail_at("unterminated filter");
    if (!take("]")) return fail_at("unterminated array");
    out.push_back(std::move(step));
  }

  std::shared_ptr<const Operand> operand(int nesting) {
    skip_spaces();
    auto out = std::make_shared<Operand>();
    char c = peek();
    if (c == '@' || c == '$' || c == '.' || c == '[') {
      out->path = steps(nesting - 1);
      return out;
    }
    if (c == '\'' || c == '"') {
      out->literal = Value(quoted_text());
      return out;
    }
    std::size_t start = at_;
    while (!done() && std::string_view(" )=!<>").find(text_[at_]) == std::string_view::npos) ++at_;
    auto literal = json::parse(text_.substr(start, at_ - start));
    if (!literal)
      fail_at("unrecognized literal in a filter");
    else
      out->literal = std::move(*literal);
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

Result<JsonPath> JsonPath::parse(std::string_view text) {
  text = trim(text);
  if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
  auto steps = Parser(text).run();
  if (!steps) return fail(std::move(steps.error()));
  JsonPath out;
  out.steps_ = std::make_shared<const Steps>(std::move(*steps));
  return out;
}

namespace {

std::optional<int> compare(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_int() && b.is_int()) return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
    return a.as_double() < b.as_double() ? -1 : a.as_double() > b.as_double();
  }
  if (a.is_string() && b.is_string()) return a.as_string().compare(b.as_string());
  if (a.is_bool() && b.is_bool())
    return static_cast<int>(a.as_bool()) - static_cast<int>(b.as_bool());
  return std::nullopt;
}

}  // namespace

bool JsonPath::accepts(const Step& filter, const Value& item) {
  auto value_of = [&item](const Operand& operand) -> std::optional<Value> {
    if (operand.literal) return operand.literal;
    std::vector<const Value*> found;
    walk(operand.path, 0, item, found);
    return found.empty() ? std::nullopt : std::optional<Value>(*found[0]);
  };
  auto left = value_of(*filter.left);
  if (filter.comparison.empty()) return left.has_value();
  auto right = value_of(*filter.right);
  if (!left || !right) return false;
  auto order = compare(*left, *right);
  if (filter.comparison == "==") return order ? *order == 0 : *left == *right;
  if (filter.comparison == "!=") return order ? *order != 0 : !(*left == *right);
  if (!order) return false;
  if (filter.comparison == "<") return *order < 0;
  if (filter.comparison == "<=") return *order <= 0;
  if (filter.comparison == ">") return *order > 0;
  return *order >= 0;
}

void JsonPath::walk_all(const Value& value, const Steps& steps, std::size_t at,
                        std::vector<const Value*>& out, int depth) {
  if (depth > kMaxDepth) return;
  walk(steps, at, value, out);
  for (const auto& member : value.members()) walk_all(member.value, steps, at, out, depth + 1);
  for (const Value& item : value.items()) walk_all(item, steps, at, out, depth + 1);
}

void JsonPath::walk(const Steps& steps, std::size_t at, const Value& value,
                    std::vector<const Value*>& out) {
  if (at == steps.size()) {
    out.push_back(&value);
    return;
  }
  const Step& step = steps[at];
  switch (step.kind) {
    case Step::Kind::kField:
      if (const Value* member = value.find(step.name)) walk(steps, at + 1, *member, out);
      return;
    case Step::Kind::kAll:
      for (const auto& member : value.members()) walk(steps, at + 1, member.value, out);
      for (const Value& item : value.items()) walk(steps, at + 1, item, out);
      return;
    case Step::Kind::kSlice: {
      auto size = static_cast<std::int64_t>(value.items().size());
      std::int64_t from = step.from.value_or(0), to = step.to.value_or(size);
      if (from < 0) from += size;
      if (to < 0) to += size;
      if (step.index) to = from + 1;
      if (from < 0 || to > size) return;
      for (std::int64_t i = from; i < to; i += step.stride)
        walk(steps, at + 1, value.items()[static_cast<std::size_t>(i)], out);
      return;
    }
    case Step::Kind::kUnion:
      for (const Step& choice : step.choices) {
        std::vector<const Value*> found;
        walk({choice}, 0, value, found);
        for (const Value* one : found) walk(steps, at + 1, *one, out);
      }
      return;
    case Step::Kind::kFilter:
      for (const Value& item : value.items())
        if (accepts(step, item)) walk(steps, at + 1, item, out);
      return;
    case Step::Kind::kDescend:
      walk_all(value, steps, at + 1, out, 0);
      return;
  }
}

std::vector<const Value*> JsonPath::find(const Value& root) const {
  std::vector<const Value*> out;
  if (steps_) walk(*steps_, 0, root, out);
  return out;
}

const Value* JsonPath::first(const Value& root) const {
  auto found = find(root);
  return found.empty() ? nullptr : found[0];
}

std::vector<std::string> JsonPath::plain_fields() const {
  std::vector<std::string> out;
  if (!steps_) return out;
  for (const Step& step : *steps_) {
    if (step.kind != Step::Kind::kField) return {};
    out.push_back(step.name);
  }
  return out;
}

}  // namespace cardea::json

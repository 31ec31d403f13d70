#include "cardea/cel.h"

#include <algorithm>
#include <deque>

#include "base/strings.h"
#include "cel/environments.h"
#include "cel/partial/partial.h"
#include "cel/partial/pattern.h"
#include "cel/syntax/print.h"
#include "engine/documents.h"
#include "engine/guarded.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::v1 {

using engine::guarded;

struct Program::Content {
  std::shared_ptr<const cel::Program> program;
};

struct Residual::Content {
  cel::Residual residual;
};

namespace {

Error bad_question(std::string message) {
  return {Error::Code::kBadQuestion, std::move(message)};
}

bool is_plain_type(const cel::Type& type) {
  if (type.kind == cel::Type::kOpaque || type.kind == cel::Type::kObject ||
      type.kind == cel::Type::kParam || type.kind == cel::Type::kOptional)
    return false;
  return std::ranges::all_of(type.params, [](const cel::Type* p) { return is_plain_type(*p); });
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// Null: there is no such type.
const cel::Type* read_type(cel::Environment& environment, const std::string& text) {
  const cel::Type* type = environment.types().parse(text);
  bool is_read = is_plain_type(*type) &&
                 without_spaces(cel::print_type(type)) == without_spaces(text);
  return is_read || text == "list" || text == "map" ? type : nullptr;
}

// The values of variables, and the documents that they are views of.
class Slots {
 public:
  explicit Slots(const cel::Environment& environment)
      : environment_(environment),
        values_(environment.variables().size()),
        is_bound_(values_.size(), false) {}

  Status bind(const Bindings& bindings) {
    for (const auto& [name, text] : bindings) {
      const cel::Variable* variable = environment_.find_variable(name);
      if (!variable) return bad_question(cat("the variable ", quoted(name), " was not declared"));
      auto value = json::parse(text);
      if (!value)
        return Error{Error::Code::kBadDocument, cat(quoted(name), ": ", value.error().message)};
      values_[variable->slot] = cel::Value::of_json(documents_.emplace_back(std::move(*value)));
      is_bound_[variable->slot] = true;
    }
    return Done();
  }
  const std::vector<cel::Value>& values() const { return values_; }
  bool is_bound(const cel::Variable& variable) const { return is_bound_[variable.slot]; }

 private:
  const cel::Environment& environment_;
  std::vector<cel::Value> values_;
  std::vector<bool> is_bound_;
  std::deque<json::Value> documents_;
};

cel::Limits limited(std::uint64_t cost) {
  cel::Limits limits;
  limits.cost = cost;
  return limits;
}

Error failed(const cel::Program& program, const cel::Value& value) {
  return {value.error->fatal ? Error::Code::kCostLimit : Error::Code::kEvaluation,
          program.source().format({value.error->position, std::string(value.error->message)})};
}

Result<Value> public_value(const cel::Program& program, const cel::Value& value,
                           std::uint64_t cost) {
  if (value.is_error()) return failed(program, value);
  Value out{.text = cel::print_value(value), .json = "", .cost = cost};
  if (json::Value as_json; cel::to_json(value, as_json)) out.json = json::print(as_json);
  return out;
}

}  // namespace

Result<Program> Program::compile(std::string_view expression,
                                 const std::vector<Variable>& variables) {
  return guarded([&]() -> Result<Program> {
    cel::Environment environment = cel::kubernetes_environment();
    environment.library(cel::Library::kBindings)
        .library(cel::Library::kMath)
        .library(cel::Library::kEncoders);
    for (const Variable& v : variables) {
      if (!cel::is_variable_name(v.name))
        return bad_question(cat(quoted(v.name), " is not a name for a variable"));
      if (environment.find_variable(v.name))
        return bad_question(cat("the variable ", quoted(v.name), " was declared twice"));
      const cel::Type* type = read_type(environment, v.type);
      if (!type)
        return bad_question(cat(quoted(v.type), " is not a type that a variable can have"));
      environment.variable(v.name, type);
    }
    auto program = cel::compile(expression, std::move(environment).share());
    if (!program) return Error{Error::Code::kDoesNotCompile, program.error().text};
    return Program(std::make_shared<const Content>(Content{std::move(*program)}));
  });
}

std::string Program::type() const {
  return guarded([&] { return cel::print_type(content_->program->type()); },
                 [](std::string) { return std::string(); });
}

Result<Value> Program::evaluate(const Bindings& bindings, std::uint64_t cost_limit) const {
  return guarded([&]() -> Result<Value> {
    const cel::Program& program = *content_->program;
    Slots slots(program.environment());
    if (Status bound = slots.bind(bindings); !bound) return bound.error();
    cel::Evaluation evaluation(limited(cost_limit));
    cel::Value value = evaluation.run(program, slots.values());
    return public_value(program, value, evaluation.cost());
  });
}

Result<Residual> Program::partially_evaluate(const Bindings& bindings,
                                             const std::vector<std::string>& unknown,
                                             std::uint64_t cost_limit) const {
  return guarded([&]() -> Result<Residual> {
    const cel::Program& program = *content_->program;
    const cel::Environment& environment = program.environment();
    Slots slots(environment);
    if (Status bound = slots.bind(bindings); !bound) return bound.error();
    std::vector<cel::UnknownPattern> patterns;
    std::deque<std::string> keys;
    for (const std::string& text : unknown) {
      auto pattern = cel::read_pattern(text, environment, keys);
      if (!pattern) return engine::public_error(Error::Code::kBadQuestion, pattern.error());
      patterns.push_back(std::move(*pattern));
    }
    for (const cel::Variable& v : environment.variables())
      if (!slots.is_bound(v)) patterns.push_back({.variable = v.name, .qualifiers = {}});
    cel::Residual residual = cel::reduce(content_->program, slots.values(),
                                         cel::Unknowns(environment, patterns), limited(cost_limit));
    if (residual.is_value() && residual.value().is_error())
      return failed(program, residual.value());
    return Residual(
        std::make_shared<const Residual::Content>(Residual::Content{std::move(residual)}));
  });
}

bool Residual::is_value() const {
  return content_->residual.is_value();
}

std::string Residual::text() const {
  return guarded(
      [&] {
        const cel::Residual& r = content_->residual;
        return r.is_value() ? cel::print_value(r.value()) : r.print();
      },
      [](std::string) { return std::string(); });
}

bool Residual::can_be_true() const {
  const cel::Residual& r = content_->residual;
  return r.is_value() ? r.value().is_true() : r.can_be_true();
}
bool Residual::can_be_false() const {
  const cel::Residual& r = content_->residual;
  return r.is_value() ? r.value().is_false() : r.can_be_false();
}
bool Residual::can_fail() const {
  const cel::Residual& r = content_->residual;
  return !r.is_value() && r.can_fail();
}

std::vector<std::string> Residual::reads() const {
  return guarded(
      [&] {
        const cel::Residual& r = content_->residual;
        return r.is_value() ? std::vector<std::string>() : r.reads();
      },
      [](std::string) { return std::vector<std::string>(); });
}

Result<Value> Residual::evaluate(const Bindings& bindings, std::uint64_t cost_limit) const {
  return guarded([&]() -> Result<Value> {
    const cel::Residual& r = content_->residual;
    Slots slots(r.program().environment());
    if (Status bound = slots.bind(bindings); !bound) return bound.error();
    if (r.is_value()) return public_value(r.program(), r.value(), 0);
    cel::Evaluation evaluation(limited(cost_limit));
    cel::Value value = r.run(evaluation, slots.values());
    return public_value(r.program(), value, evaluation.cost());
  });
}

}  // namespace cardea::v1

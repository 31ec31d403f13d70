// ExpressionReview: an expression with the variables of access policies is checked, evaluated, and
// reduced where something is unknown. Answered and not stored; no object of the cluster is read.
#include <deque>

#include "authz/access/environment.h"
#include "authz/access/policy.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "catalog/object_types.h"
#include "cel/partial/pattern.h"
#include "cel/syntax/print.h"
#include "rest/reviews/admit_review.h"
#include "rest/verbs/subresources.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr std::uint64_t kMostExpressionCost = 1'000'000;  // what one expression of a policy may
                                                          // cost
constexpr std::uint64_t kMostCostOfParts = 1'000'000, kMostCostOfOne = 100'000;
constexpr std::size_t kMostExpressionVariables = 32, kMostUnknown = 32, kMostParts = 64,
                      kMostDepth = 8;
constexpr std::size_t kLongestValue = 4096;  // bytes shown of one

json::FieldErrors expression_errors(const Value& spec) {
  using authz::access::kLongestExpression;
  json::FieldErrors out;
  std::string_view text = spec["expression"].as_string();
  if (text.empty()) out.push_back(json::required("spec.expression"));
  if (text.size() > kLongestExpression)
    out.push_back(json::too_long("spec.expression", static_cast<int>(kLongestExpression)));
  const Value& variables = spec["variables"];
  if (!variables.is_null() && !variables.is_object())
    out.push_back(json::invalid("spec.variables", {}, "must be an object"));
  if (variables.size() > kMostExpressionVariables)
    out.push_back(json::too_many("spec.variables", static_cast<int>(variables.size()),
                                 static_cast<int>(kMostExpressionVariables)));
  if (spec["unknown"].size() > kMostUnknown)
    out.push_back(json::too_many("spec.unknown", static_cast<int>(spec["unknown"].size()),
                                 static_cast<int>(kMostUnknown)));
  if (!variables.is_object()) return out;
  for (const json::Member& m : variables.members()) {
    const std::string at = cat("spec.variables[", m.key(), "]");
    if (!cel::is_variable_name(m.key()))
      out.push_back(json::invalid(at, m.key(), "is not the name of a variable"));
    else if (m.key().starts_with("authorizer"))
      out.push_back(json::forbidden(at, "has no value outside of a request"));
  }
  return out;
}

Result<void> check_expression(const Call& call, const Value& review) {
  json::FieldErrors errors = expression_errors(review["spec"]);
  if (errors.empty()) return {};
  return fail(json::invalid_object(call.resource->group, call.resource->kind, "", errors));
}

std::string shortened_value(std::string text) {
  if (text.size() <= kLongestValue) return text;
  return cat(utf8_prefix(text, kLongestValue), "…");
}

// What an expression runs in: the variables with their values, and those without. `authorizer` asks
// when it runs, which here it must not: it never has a value, so its answers stay unknown.
struct ExpressionStage {
  std::shared_ptr<const cel::Environment> environment;
  std::vector<cel::Value> slots;
  std::deque<std::string> keys;  // of the patterns
  std::vector<cel::UnknownPattern> unknown;
};

Result<ExpressionStage> make_expression_stage(const Value& spec) {
  ExpressionStage out;
  cel::Environment env = authz::access::language_without_objects();
  env.variable("object", "dyn").variable("oldObject", "dyn");
  const Value& variables = spec["variables"];
  if (variables.is_object())
    for (const json::Member& m : variables.members())
      if (!env.find_variable(m.key())) env.variable(m.key(), "dyn");
  for (const Value& pattern : spec["unknown"].items()) {
    const std::string text(pattern.as_string());
    const std::string name = text.substr(0, text.find_first_of(".["));
    if (!env.find_variable(text) && !env.find_variable(name) && cel::is_variable_name(name))
      env.variable(name, "dyn");
    auto read = cel::read_pattern(text, env, out.keys);
    if (!read) return fail(bad_request(cat("spec.unknown: ", read.error().message)));
    out.unknown.push_back(std::move(*read));
  }
  out.environment = std::move(env).share();
  out.slots.resize(out.environment->variables().size());
  for (const cel::Variable& v : out.environment->variables()) {
    const Value* given = variables.is_object() ? variables.find(v.name) : nullptr;
    if (given)
      out.slots[v.slot] = given->is_null() ? cel::Value::null() : cel::Value::of_json(*given);
    else
      out.unknown.push_back({v.name, {}});
  }
  return out;
}

void add_value(Value& out, const cel::Program& program, const cel::Value& v) {
  if (v.is_error()) {
    out.set("outcome", "Error");
    out.set("value", shortened_value(program.source().format(
                         {v.error->position, std::string(v.error->message)})));
    return;
  }
  const bool is_bool = v.kind == cel::Kind::kBool;
  out.set("outcome", !is_bool ? "Value" : v.boolean ? "True" : "False");
  out.set("value", shortened_value(cel::print_value(v)));
}

// The result of a program: its value, or what is left of it. Returns the cost.
std::uint64_t add_result(Value& out, const ExpressionStage& stage,
                         const std::shared_ptr<const cel::Program>& program, std::uint64_t limit) {
  cel::Limits limits;
  limits.cost = limit;
  const cel::Residual residual = cel::reduce(
      program, stage.slots, cel::Unknowns(*stage.environment, stage.unknown), limits);
  if (residual.is_value()) {
    add_value(out, *program, residual.value());
    return residual.spent();
  }
  out.set("outcome", "Unknown");
  out.set("value", shortened_value(residual.print()));
  return residual.spent();
}

// The operands of `&&`, `||`, `!` and `?:`, from the whole to its parts, each with its own result.
class ExpressionParts {
 public:
  explicit ExpressionParts(const ExpressionStage& stage) : stage_(stage) {}

  void add(const cel::Node& node, std::size_t depth) {
    if (list_.size() == kMostParts || left_ == 0) return;
    const std::string text = cel::print(node);
    auto program = cel::compile(text, stage_.environment);
    if (!program) return;
    Value one = Value::object(
        {{"depth", static_cast<std::int64_t>(depth)}, {"expression", shortened_value(text)}});
    const std::uint64_t spent = add_result(one, stage_, *program, std::min(left_, kMostCostOfOne));
    left_ -= std::min(left_, spent);
    list_.push_back(std::move(one));
    const bool is_joined = node.op == cel::Op::kAnd || node.op == cel::Op::kOr ||
                           node.op == cel::Op::kNot || node.op == cel::Op::kConditional;
    if (!is_joined || depth == kMostDepth) return;
    for (const cel::Node* child : node.children()) add(*child, depth + 1);
  }

  Value list() && { return Value::array(std::move(list_)); }

 private:
  const ExpressionStage& stage_;
  std::uint64_t left_ = kMostCostOfParts;
  std::vector<Value> list_;
};

// What the types of a resource say about the expression; empty when they fit.
std::string type_problem(const Call& call, const Value& spec, const ExpressionStage& stage) {
  const Value& wanted = spec["resource"];
  if (!wanted.is_object()) return "";
  const catalog::Resource* r = call.catalog->find(
      wanted["group"].as_string(), wanted["version"].as_string(), wanted["resource"].as_string());
  if (!r || (r->is_off && !call.is_own)) return "the server does not serve this resource";
  cel::Environment env = authz::access::language_without_objects();
  const std::string type = catalog::ObjectTypes(env).type_of(r->schema);
  env.variable("object", type).variable("oldObject", type);
  for (const cel::Variable& v : stage.environment->variables())
    if (!env.find_variable(v.name)) env.variable(v.name, "dyn");
  auto program = cel::compile(spec["expression"].as_string(), std::move(env).share());
  return program ? "" : shortened_value(program.error().text);
}

Value expression_status(const Call& call, const Value& spec, const ExpressionStage& stage) {
  Value out = Value::object();
  auto program = cel::compile(spec["expression"].as_string(), stage.environment);
  if (!program) {
    out.set("outcome", "Invalid");
    out.set("value", shortened_value(program.error().text));
    return out;
  }
  out.set("type", cel::print_type((*program)->type()));
  if (std::string problem = type_problem(call, spec, stage); !problem.empty())
    out.set("typeProblem", problem);
  add_result(out, stage, *program, kMostExpressionCost);
  if (out["outcome"].as_string() != "Unknown") {
    cel::Limits limits;
    limits.cost = kMostExpressionCost;
    cel::Evaluation evaluation(limits);
    evaluation.run(**program, stage.slots);
    out.set("cost", static_cast<std::int64_t>(evaluation.cost()));
  }
  ExpressionParts parts(stage);
  parts.add((*program)->root(), 0);
  out.set("parts", std::move(parts).list());
  return out;
}

}  // namespace

Task<Result<Answer>> review_expression(Call& call) {
  Result<Value> review = co_await admit_review(call, {.check = check_expression});
  if (!review) co_return fail(review.error());
  const Value spec = (*review)["spec"];
  Result<ExpressionStage> stage = make_expression_stage(spec);
  if (!stage) co_return fail(stage.error());
  review->set("status", expression_status(call, spec, *stage));
  co_return Answer::of(std::move(*review), 201);
}

}  // namespace cardea::rest

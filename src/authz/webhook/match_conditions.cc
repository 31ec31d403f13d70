#include "authz/webhook/match_conditions.h"

#include <set>

#include "authz/authorizer.h"
#include "base/strings.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"

namespace cardea::authz {
namespace {

constexpr std::size_t kMostMatchConditions = 64;
constexpr std::uint64_t kCostLimit = 1'000'000;  // of one expression

}  // namespace

std::expected<MatchConditions, json::FieldErrors> MatchConditions::compile(
    const std::vector<std::string>& expressions, const std::string& at) {
  MatchConditions out;
  json::FieldErrors errors;
  if (expressions.empty()) return out;
  if (expressions.size() > kMostMatchConditions) {
    errors.push_back(json::too_many(at, static_cast<int>(expressions.size()),
                                    static_cast<int>(kMostMatchConditions)));
    return std::unexpected(std::move(errors));
  }
  auto environment = cel::access_review_environment().share();
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const std::string& text = expressions[i];
    std::string where = cat(at, "[", i, "].expression");
    if (trim(text).empty()) {
      errors.push_back(json::required(where));
    } else if (!seen.insert(text).second) {
      errors.push_back(json::duplicate(where, text));
    } else if (auto program = cel::compile(text, environment); !program) {
      errors.push_back(
          json::invalid(where, text, cat("compilation failed: ", program.error().text)));
    } else if ((*program)->type()->kind != cel::Type::Kind::kBool) {
      errors.push_back(json::invalid(where, text, "must evaluate to bool"));
    } else {
      out.conditions_.push_back({text, std::move(*program)});
    }
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return out;
}

MatchConditions::Outcome MatchConditions::evaluate(const json::Value& request) const {
  if (conditions_.empty()) return {.matches = true};
  thread_local cel::Evaluation evaluation({.cost = kCostLimit});
  const cel::Value variables[] = {cel::Value::of_json(request)};
  std::vector<std::string> errors;
  for (const Entry& c : conditions_) {
    cel::Value value = evaluation.run(*c.program, variables);
    // One condition that is false settles it, whatever the results of the others are.
    if (value.is_false()) return {};
    if (value.is_true()) continue;
    std::string why = value.is_error() ? cat("resulted in error: ", value.error->message)
                                       : std::string("eval result type should be bool");
    errors.push_back(cat("cel evaluation error: expression '", c.expression, "' ", why));
  }
  return {.matches = errors.empty(), .error = aggregated(errors)};
}

}  // namespace cardea::authz

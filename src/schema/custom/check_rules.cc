#include "schema/custom/check_rules.h"

#include <algorithm>
#include <cstdio>

#include "base/strings.h"
#include "schema/custom/rule_compiler.h"
#include "schema/custom/shown_schema.h"

namespace cardea::schema {
namespace {

using json::Value;

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::size_t kNamed = 4;  // of the dearest rules, when all together cost too much

std::uint64_t multiplied(std::uint64_t cost, std::uint64_t times) {
  if (cost == 0) return 0;
  return kMost / cost < times ? kMost : cost * times;
}

std::string too_dear(std::string_view what, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  char shown[64] = "more than 100x";
  if (factor <= 100) std::snprintf(shown, sizeof shown, factor < 1.5 ? "%fx" : "%.1fx", factor);
  return cat(what, " exceeds budget by factor of ", shown,
             " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where "
             "arrays, maps, and strings are declared)");
}

// By how much a node multiplies what is below it; nullopt when nothing bounds it.
std::optional<std::uint64_t> elements(const Value& schema) {
  const std::string_view type = schema["type"].as_string();
  const auto bound = [&](std::string_view key) -> std::optional<std::uint64_t> {
    const Value* v = schema.find(key);
    if (v == nullptr || v->is_null()) return std::nullopt;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(v->as_int(), 0));
  };
  if (type == "array") return bound("maxItems");
  if (type == "object" && !schema["additionalProperties"].is_null()) return bound("maxProperties");
  return 1;
}

}  // namespace

RuleChecker::Context RuleChecker::Context::nested() const {
  Context out = *this;
  out.can_compile = false;
  return out;
}

RuleChecker::Context RuleChecker::Context::element(const Value& schema,
                                                   const std::string& path) const {
  Context out = *this;
  const auto factor = elements(schema);
  out.occurrences = occurrences && factor ? std::optional(multiplied(*occurrences, *factor))
                                          : std::nullopt;
  if (schema["items"].is_object() && schema["x-kubernetes-list-type"].as_string() != "map" &&
      uncorrelatable.empty())
    out.uncorrelatable = path;
  return out;
}

void RuleChecker::observe(const std::string& path, std::uint64_t cost) {
  total_ = kMost - total_ < cost ? kMost : total_ + cost;
  if (cost < kTotalLimit / 100) return;
  dearest_.push_back({path, cost});
  std::ranges::stable_sort(dearest_, std::ranges::greater{}, &Cost::cost);
  if (dearest_.size() > kNamed) dearest_.resize(kNamed);
}

void RuleChecker::node(const Value& schema, const std::string& path, bool root,
                       const Context& context) {
  const Value& rules = schema["x-kubernetes-validations"];
  if (rules.empty() || !context.can_compile) return;
  RuleCompiler compiler(schema, root || schema["x-kubernetes-embedded-resource"].as_bool());
  if (!compiler.has_type()) {
    json::FieldError e = json::forbidden(
        path + ".x-kubernetes-validations",
        "internal error: failed to construct type information for x-kubernetes-validations rules: "
        "unable to convert structural schema to CEL declarations");
    e.type = json::FieldError::Type::kInternal;
    errors.push_back(std::move(e));
    return;
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string at = cat(path, ".x-kubernetes-validations[", i, "]");
    const CompiledRule rule = compiler.compile(rules[i]);
    const auto shown = [&](const char* key, const std::string& detail) {
      errors.push_back(
          json::shown_as(json::invalid(cat(at, ".", key), rules[i], detail), shown_rule(rules[i])));
    };
    const std::uint64_t cost = multiplied(
        rule.max_cost, context.occurrences.value_or(compiler.most_occurrences()));
    if (!suppress_costs_ && cost > kRuleLimit)
      errors.push_back(
          json::forbidden(at + ".rule", too_dear("estimated rule cost", cost, kRuleLimit)));
    observe(at + ".rule", cost);
    if (!rule.error.empty()) shown("rule", rule.error);
    if (!rule.message_error.empty()) {
      shown("messageExpression", rule.message_error);
    } else if (rule.message != nullptr) {
      if (!suppress_costs_ && rule.message_max_cost > kRuleLimit)
        errors.push_back(json::forbidden(
            at + ".messageExpression",
            too_dear("estimated messageExpression cost", rule.message_max_cost, kRuleLimit)));
      observe(at + ".messageExpression", rule.message_max_cost);
    }
    const Value& optional_old = rules[i]["optionalOldSelf"];
    if (rule.uses_old && !context.uncorrelatable.empty())
      errors.push_back(json::invalid(
          at + ".rule", rules[i]["rule"],
          cat("oldSelf cannot be used on the uncorrelatable portion of the schema within ",
              context.uncorrelatable)));
    else if (!rule.uses_old && !optional_old.is_null())
      errors.push_back(json::invalid(at + ".optionalOldSelf", optional_old,
                                     "may not be set if oldSelf is not used in rule"));
  }
}

void RuleChecker::total(const std::string& path) {
  if (total_ <= kTotalLimit) return;
  for (const Cost& c : dearest_)
    errors.push_back(json::forbidden(c.path,
                                     "contributed to estimated rule cost total exceeding cost "
                                     "limit for entire OpenAPIv3 schema"));
  errors.push_back(json::forbidden(
      path,
      too_dear("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
               total_, kTotalLimit)));
}

}  // namespace cardea::schema

#include "schema/custom/rule_compiler.h"

#include "base/strings.h"
#include "cel/check/schema_types.h"
#include "cel/cost/estimate.h"
#include "cel/environments.h"
#include "schema/custom/check_schema.h"

namespace cardea::schema {

using json::Value;

RuleCompiler::RuleCompiler(const Value& schema, bool root)
    : schema_(schema), root_(root), size_(cel::data_size(schema, root)) {}
RuleCompiler::~RuleCompiler() = default;

std::uint64_t RuleCompiler::most_occurrences() const {
  return cel::most_occurrences(*size_);
}

std::shared_ptr<const cel::Environment> RuleCompiler::environment(bool optional_old) {
  auto& kept = optional_old ? optional_ : plain_;
  if (kept) return kept;
  cel::Environment env = cel::kubernetes_environment();
  const cel::Type* self = cel::declare_schema(env, "selfType", schema_, root_);
  CARDEA_CHECK(self != nullptr);
  env.variable("self", self).variable("oldSelf", optional_old ? env.types().optional(self) : self);
  return kept = std::move(env).share();
}

CompiledRule RuleCompiler::compile(const Value& rule) {
  CompiledRule out;
  out.source = rule;
  out.optional_old = rule["optionalOldSelf"].as_bool();
  const std::string_view text = rule["rule"].as_string();
  if (trim(text).empty()) return out;
  const auto env = environment(out.optional_old);
  auto program = cel::compile(text, env);
  if (!program) {
    out.error = cat("compilation failed: ", program.error().text);
    return out;
  }
  if ((*program)->type()->kind != cel::Type::kBool || (*program)->type()->nullable) {
    out.error = "cel expression must evaluate to a bool";
    return out;
  }
  const cel::Estimate estimate = cel::estimate(text, *env, size_.get());
  out.uses_old = estimate.variables.contains("oldSelf");
  out.max_cost = estimate.max_cost;
  out.rule = std::move(*program);
  if (const std::string_view message = rule["messageExpression"].as_string(); !message.empty()) {
    auto made = cel::compile(message, env);
    if (!made) {
      out.message_error = cat("messageExpression compilation failed: ", made.error().text);
      return out;
    }
    if ((*made)->type()->kind != cel::Type::kString || (*made)->type()->nullable) {
      out.message_error = "messageExpression must evaluate to a string";
      return out;
    }
    out.message_max_cost = cel::estimate(message, *env, size_.get()).max_cost;
    out.message = std::move(*made);
  }
  if (const std::string_view path = rule["fieldPath"].as_string(); !path.empty())
    if (const auto found = find_field(schema_, path, true)) out.field_path = found->path;
  return out;
}

}  // namespace cardea::schema

#include "authz/cel_conditions.h"

#include "authz/user_info.h"
#include "base/result.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "cel/known_texts.h"
#include "cel/partial/partial.h"

namespace cardea::authz {
namespace {

using json::Value;

constexpr cel::Limits kLimits{.cost = 1'000'000};
constexpr std::string_view kImpersonated = "impersonatedRequest";

const std::shared_ptr<const cel::Environment>& environment() {
  static const std::shared_ptr<const cel::Environment> made = [] {
    cel::Environment env = cel::admission_environment(false);
    env.variable(kImpersonated, "dyn");
    return std::move(env).share();
  }();
  return made;
}

cel::Value json_or_null(const Value* document) {
  return document && !document->is_null() ? cel::Value::of_json(*document) : cel::Value::null();
}

Value user_json(const User* user) {
  return user ? user_info(*user, EmptyMembers::kShown) : Value::object();
}

}  // namespace

Value admission_request(const ConditionData& d) {
  Value kind = Value::object({{"group", d.group}, {"version", d.version}, {"kind", d.kind}});
  Value resource = Value::object(
      {{"group", d.group}, {"version", d.version}, {"resource", d.resource}});
  return Value::object({{"kind", kind},
                        {"resource", resource},
                        {"subResource", d.subresource},
                        {"requestKind", kind},
                        {"requestResource", resource},
                        {"requestSubResource", d.subresource},
                        {"name", d.name},
                        {"namespace", d.namespace_name},
                        {"operation", d.operation},
                        {"userInfo", user_json(d.user)},
                        {"dryRun", d.dry_run},
                        {"options", d.options ? *d.options : Value()}});
}

Value impersonated_request(const ConditionData& d) {
  const Attributes* a = d.impersonated;
  if (!a) return {};
  return Value::object({{"userInfo", user_json(&a->user)},
                        {"verb", a->verb},
                        {"apiGroup", a->api_group},
                        {"apiVersion", a->api_version},
                        {"resource", a->resource},
                        {"subresource", a->subresource},
                        {"namespace", a->namespace_name},
                        {"name", a->name},
                        {"path", a->path}});
}

CelConditions::CelConditions(const ConditionData& data, SecondaryChecks& checks)
    : data_(data), request_(admission_request(data)), impersonated_(impersonated_request(data)) {
  asks_ = {.asks = &checks};
  resource_.asks = &checks;
  resource_.query = {.group = data.group,
                     .resource = data.resource,
                     .subresource = data.subresource,
                     .space = data.namespace_name,
                     .name = data.name};
  const cel::Environment& env = *environment();
  variables_.resize(env.variables().size());
  auto set = [&](std::string_view name, const cel::Value& value) {
    variables_[env.find_variable(name)->slot] = value;
  };
  set("object", json_or_null(data.object));
  set("oldObject", json_or_null(data.old_object));
  set("request", cel::Value::of_json(request_));
  set(kImpersonated, json_or_null(&impersonated_));
  set("authorizer", cel::authorizer_value(asks_));
  set("authorizer.requestResource", cel::resource_check_value(resource_));
}

namespace {

// Null: only its author can evaluate it.
std::shared_ptr<const cel::Program> compiled(const Condition& c) {
  if (!is_cel_type(c.type) || c.text.empty()) return nullptr;
  // A webhook answers many requests with the same texts.
  thread_local cel::KnownTexts texts(environment());
  return texts.compiled(c.text);
}

const cel::Unknowns& all_but_impersonated() {
  static const cel::Unknowns made = [] {
    std::vector<std::string> names;
    for (const cel::Variable& v : environment()->variables())
      if (v.name != kImpersonated) names.push_back(v.name);
    return cel::Unknowns::variables(*environment(), names);
  }();
  return made;
}

}  // namespace

CelOnImpersonatedRequest::CelOnImpersonatedRequest(const Attributes& impersonated)
    : impersonated_(impersonated_request({.impersonated = &impersonated})) {
  variables_.resize(environment()->variables().size());
  variables_[environment()->find_variable(kImpersonated)->slot] = cel::Value::of_json(
      impersonated_);
}

Truth CelOnImpersonatedRequest::truth(const Condition& c, std::string&) {
  const std::shared_ptr<const cel::Program> program = compiled(c);
  if (!program) return Truth::kUnevaluatable;
  const cel::Residual left = cel::reduce(program, variables_, all_but_impersonated(), kLimits);
  if (!left.is_value()) return Truth::kUnevaluatable;
  if (left.value().is_true()) return Truth::kTrue;
  return left.value().is_false() ? Truth::kFalse : Truth::kUnevaluatable;
}

Truth CelConditions::truth(const Condition& c, std::string& error) {
  const std::shared_ptr<const cel::Program> program = compiled(c);
  if (!program) return Truth::kUnevaluatable;
  const std::uint32_t space = environment()->find_variable("namespaceObject")->slot;
  if (!has_space_ && (program->root().reads & cel::slot_bit(space)) != 0) {
    variables_[space] = json_or_null(data_.space());
    has_space_ = true;
  }
  cel::Evaluation evaluation(kLimits);
  cel::Value v = evaluation.run(*program, variables_);
  if (v.is_true()) return Truth::kTrue;
  if (v.is_false()) return Truth::kFalse;
  if (evaluation.limit_exceeded()) return Truth::kUnevaluatable;
  error = v.is_error() ? std::string(v.error->message) : "gives no bool";
  return Truth::kError;
}

}  // namespace cardea::authz

#include "authz/access/residuals.h"

#include "base/strings.h"
#include "cel/known_texts.h"
#include "json/print.h"

namespace cardea::authz::access {
namespace {

Truth verdict(const cel::Value& v, std::string& error) {
  if (v.is_true()) return Truth::kTrue;
  if (v.is_false()) return Truth::kFalse;
  error = error_text(v);
  return Truth::kError;
}

// The evaluation of this thread.
cel::Evaluation& evaluation(const cel::Limits& limits) {
  thread_local cel::Evaluation one;
  one.set_limits(limits);
  return one;
}

}  // namespace

cel::Value Budget::run(const cel::Program& program, std::span<const cel::Value> variables) {
  cel::Evaluation& one = evaluation(limits());
  cel::Value v = one.run(program, variables);
  pay(one.spent());
  return v;
}

cel::Value Budget::run(const cel::Residual& residual, std::span<const cel::Value> variables) {
  if (residual.is_value()) return residual.value();
  cel::Evaluation& one = evaluation(limits());
  cel::Value v = residual.run(one, variables);
  pay(one.spent());
  return v;
}

cel::Residual Budget::reduce(const std::shared_ptr<const cel::Program>& program,
                             std::span<const cel::Value> variables, const cel::Unknowns& unknowns) {
  cel::Residual rest = cel::reduce(program, variables, unknowns, limits());
  pay(rest.spent());
  return rest;
}

cel::Residual Budget::reduce(const cel::Residual& rest, std::span<const cel::Value> variables,
                             const cel::Unknowns& unknowns) {
  cel::Residual left = cel::reduce(rest, variables, unknowns, limits());
  pay(left.spent());
  return left;
}

std::string error_text(const cel::Value& v) {
  return v.is_error() ? std::string(v.error->message)
                      : cat("gives ", cel::type_name(v), ", not a bool");
}

std::string NamedResidue::text() const {
  json::Value list = json::Value::array();
  for (const std::string& n : names_) list.push_back(n);
  std::string names = cat("request.name in ", json::print(list));
  return rest_ ? cat(names, " && (", rest_->text(), ")") : names;
}

ResidualRuns::ResidualRuns(const ConditionData& data, SecondaryChecks& checks,
                           ConditionMeter* meter)
    : data_(data), meter_(meter) {
  bind(variables_, data);
  asks_ = {.asks = &checks};
  resource_.asks = &checks;
  resource_.query = {.group = data.group,
                     .resource = data.resource,
                     .subresource = data.subresource,
                     .space = data.namespace_name,
                     .name = data.name};
  variables_[Language::kAuthorizer] = cel::authorizer_value(asks_);
  variables_[Language::kRequestResource] = cel::resource_check_value(resource_);
  variables_[Language::kImpersonatedRequest] = data.impersonated
                                                   ? impersonated_.emplace(*data.impersonated).get()
                                                   : cel::Value::null();
}

Truth ResidualRuns::truth(const Condition& c, std::string& error) {
  Truth out = evaluate(c, error);
  if (out == Truth::kError && meter_) meter_->failed(c.effect);
  return out;
}

Truth ResidualRuns::evaluate(const Condition& c, std::string& error) {
  if (const Residue* rest = dynamic_cast<const Residue*>(c.compiled.get()))
    return run(*rest, error);
  if (const NamedResidue* named = dynamic_cast<const NamedResidue*>(c.compiled.get())) {
    if (!named->names(data_.object_name())) return Truth::kFalse;
    return named->rest() ? run(*named->rest(), error) : Truth::kTrue;
  }
  if (!is_cel_type(c.type)) {
    error = cat("conditions of type ", quoted(c.type), " are not known here");
    return Truth::kError;
  }
  std::string text = c.shown_text();
  if (text == "true") return Truth::kTrue;
  thread_local cel::KnownTexts texts(language().environment);
  const std::shared_ptr<const cel::Program> program = texts.compiled(text);
  if (!program) {
    error = "does not compile";
    return Truth::kError;
  }
  prepare(program->root().reads);
  return verdict(budget_.run(*program, variables_), error);
}

Truth ResidualRuns::run(const Residue& rest, std::string& error) {
  if (const cel::Node* node = rest.residual().node()) prepare(node->reads);
  return verdict(budget_.run(rest.residual(), variables_), error);
}

ImpersonatedRuns::ImpersonatedRuns(const Attributes& impersonated) : impersonated_(impersonated) {
  variables_[Language::kImpersonatedRequest] = impersonated_.get();
}

Truth ImpersonatedRuns::truth(const Condition& c, std::string& error) {
  const Residue* rest = dynamic_cast<const Residue*>(c.compiled.get());
  if (!rest || c.on_parent) return Truth::kUnevaluatable;
  // `request` is known already, where anything of it is left it is the name of the object.
  const cel::Residual left = budget_.reduce(rest->residual(), variables_,
                                            language().object_unknowns);
  if (left.is_value()) return verdict(left.value(), error);
  return matters(c.effect, left) ? Truth::kUnevaluatable : Truth::kFalse;
}

void ResidualRuns::prepare(std::uint64_t reads) {
  const std::uint64_t missing = reads & ~prepared_;
  prepared_ |= reads;
  if (missing & cel::slot_bit(Language::kRequest))
    variables_[Language::kRequest] = name_.emplace(data_.object_name()).get();
  if (missing & cel::slot_bit(Language::kNamespaceObject))
    variables_[Language::kNamespaceObject] = json_or_null(data_.space());
}

}  // namespace cardea::authz::access

#include "authz/condition_meter.h"

namespace cardea::authz {

ConditionMeter::ConditionMeter(MetricRegistry& registry, const std::string& name) {
  const char* const kEvaluators[] = {"in_process", "authorizer"};
  for (std::size_t i = 0; i < 2; ++i)
    seconds_[i] = &registry.histogram({"cardea_authorization_conditions_evaluation_seconds",
                                       "How long settling the conditions of a request took."},
                                      exponential_bounds(0.000001, 4, 12),
                                      {{"name", name}, {"evaluator", kEvaluators[i]}});
  for (Condition::Effect effect :
       {Condition::Effect::kDeny, Condition::Effect::kNoOpinion, Condition::Effect::kAllow})
    errors_[static_cast<std::size_t>(effect)] = &registry.counter(
        {"cardea_authorization_conditions_evaluation_errors_total",
         "Conditions that could not be evaluated."},
        {{"name", name}, {"effect", std::string(effect_name(effect))}});
}

}  // namespace cardea::authz

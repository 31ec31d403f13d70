#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "admission/objects.h"
#include "admission/plugin.h"
#include "admission/policy/policy_set.h"
#include "authz/secondary_checks.h"
#include "cel/eval/evaluate.h"

namespace cardea::admission {

// The variables that expressions of policies may read, in the version that a policy matched.
// Shared by all policies that matched in that version.
struct PolicyInput {
  json::Value object, old_object, request, namespace_object;

  // Without the objects while the review waits for their conversion.
  static PolicyInput of(const Review& review, const catalog::Resource& as, const Objects& objects);
};

// Evaluates expressions of one policy for one request and one parameter object. Variables are
// computed when first read, and once.
class PolicyRun {
 public:
  static constexpr std::int64_t kBudget = 10'000'000, kMatchBudget = 2'500'000;
  static constexpr std::uint64_t kCallLimit = 1'000'000;

  PolicyRun(const Policy& policy, const PolicyInput& input, const Review& review,
            const json::Value* params, authz::SecondaryChecks& authorizer);
  ~PolicyRun();
  PolicyRun(const PolicyRun&) = delete;

  struct Outcome {
    cel::Value value;   // until the next evaluation
    std::string error;  // as messages say it; empty when there is a value
    bool out_of_budget = false;
  };
  // `objects`: match conditions do not see the namespace.
  Outcome evaluate(const PolicyExpression& expression, std::int64_t& budget,
                   bool sees_namespace = true);

  // Whether the match conditions hold. An error: they could not be evaluated and none was false.
  Result<bool> matches();

 private:
  class Variable;
  std::vector<cel::Value> slots(const cel::Environment& environment, bool sees_namespace);

  const Policy& policy_;
  const PolicyInput& input_;
  const json::Value* params_;
  cel::AuthorizerHandle authorizer_, request_resource_;
  std::vector<std::unique_ptr<Variable>> variables_;
  json::Value variable_names_;
  cel::Evaluation evaluation_;
  std::int64_t composed_cost_ = 0;  // of variables, since last asked
};

}  // namespace cardea::admission

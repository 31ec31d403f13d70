#pragma once
#include <algorithm>
#include <optional>

#include "authz/access/environment.h"
#include "authz/condition_meter.h"
#include "authz/evaluation.h"
#include "authz/secondary_checks.h"
#include "cel/partial/partial.h"

namespace cardea::authz::access {

inline constexpr cel::Limits kLimits{.cost = 1'000'000};
// The number of policies must not slow down a request without a limit: all policies of the
// cluster share one cost limit per request, all policies of its namespace share another, and
// their conditions share both.
inline constexpr std::uint64_t kMostTogether = 1'000'000;
inline constexpr std::string_view
    kTooDear = "the access policies that match this request exceed their common cost limit";

// The shared cost limit of several expressions, each also within kLimits. An expression beyond
// the limit fails, and so do all later ones. Of one thread.
class Budget {
 public:
  explicit Budget(std::uint64_t units) : left_(units) {}
  cel::Value run(const cel::Program& program, std::span<const cel::Value> variables);
  cel::Value run(const cel::Residual& residual, std::span<const cel::Value> variables);
  cel::Residual reduce(const std::shared_ptr<const cel::Program>& program,
                       std::span<const cel::Value> variables, const cel::Unknowns& unknowns);
  // The result borrows `rest`.
  cel::Residual reduce(const cel::Residual& rest, std::span<const cel::Value> variables,
                       const cel::Unknowns& unknowns);
  bool is_used_up() const { return left_ == 0; }

 private:
  cel::Limits limits() const { return {.cost = std::min(left_, kLimits.cost)}; }
  void pay(std::uint64_t units) { left_ -= std::min(units, left_); }
  std::uint64_t left_;
};

// The result of an expression that is neither true nor false, for a message.
std::string error_text(const cel::Value& value);

// An expression reduced by the known request.
class Residue : public Condition::Compiled {
 public:
  explicit Residue(cel::Residual residual) : residual_(std::move(residual)) {}
  std::string text() const override { return residual_.print(); }
  const cel::Residual& residual() const { return residual_; }

 private:
  cel::Residual residual_;
};

// A denial of names reduced by the known request: one of the names, and perhaps an expression.
class NamedResidue : public Condition::Compiled {
 public:
  NamedResidue(std::vector<std::string> names, std::shared_ptr<const Residue> rest)
      : names_(std::move(names)), rest_(std::move(rest)) {}
  std::string text() const override;
  bool names(std::string_view name) const {
    return std::ranges::find(names_, name) != names_.end();
  }
  const std::shared_ptr<const Residue>& rest() const { return rest_; }  // null: the name is enough

 private:
  std::vector<std::string> names_;
  std::shared_ptr<const Residue> rest_;
};

// Whether a policy with this effect can still change the decision.
inline bool matters(Condition::Effect effect, const cel::Residual& rest) {
  return rest.can_be_true() || (effect != Condition::Effect::kAllow && rest.can_fail());
}

// Evaluates residuals, and conditions in CEL that have only a text. Belongs to one evaluation;
// borrows everything.
class ResidualRuns : public ConditionEvaluator {
 public:
  ResidualRuns(const ConditionData& data, SecondaryChecks& checks, ConditionMeter* meter = nullptr);
  Truth truth(const Condition& condition, std::string& error) override;

 private:
  Truth evaluate(const Condition& condition, std::string& error);
  Truth run(const Residue& rest, std::string& error);
  // Provides the values that an expression with these `reads` may read.
  void prepare(std::uint64_t reads);

  const ConditionData& data_;
  ConditionMeter* meter_;
  Budget budget_{2 * kMostTogether};
  Variables variables_;
  std::uint64_t prepared_ = 0;  // slots, as Node::reads counts them
  cel::AuthorizerHandle asks_, resource_;
  std::optional<RequestValue> impersonated_;
  std::optional<NameValue> name_;
};

// Evaluates the residuals of an impersonation check as far as the impersonated request decides
// them; what needs the object stays open. Belongs to one evaluation; borrows everything.
class ImpersonatedRuns : public ConditionEvaluator {
 public:
  explicit ImpersonatedRuns(const Attributes& impersonated);
  Truth truth(const Condition& condition, std::string& error) override;

 private:
  Budget budget_{2 * kMostTogether};
  RequestValue impersonated_;
  Variables variables_;
};

}  // namespace cardea::authz::access

#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "authz/conditions.h"

namespace cardea::authz {

enum class Truth : std::uint8_t {
  kFalse,
  kTrue,
  kError,
  kUnevaluatable,  // this evaluator cannot evaluate it; the author of the condition can
};

// Evaluates a condition. An evaluator that replaces the author of a condition reports its own
// failures (an unknown function, a cost limit) as unevaluatable, never as an error.
class ConditionEvaluator {
 public:
  virtual ~ConditionEvaluator() = default;
  // `error` is the cause when the answer is kError.
  virtual Truth truth(const Condition& condition, std::string& error) = 0;
};

// Evaluates conditions on the parent with the parent's data, and the others with the request's
// own. `Runs` is made from data and from `rest`; the one for the parent is made when it is
// first needed. Belongs to one evaluation; borrows the data.
template <typename Runs, typename... Rest>
class WithParent : public ConditionEvaluator {
 public:
  explicit WithParent(const ConditionData& data, Rest... rest)
      : data_(data), rest_(rest...), own_(data, rest...) {}

  Truth truth(const Condition& condition, std::string& error) override {
    if (!condition.on_parent) return own_.truth(condition, error);
    if (!data_.parent) {
      error = "what this request does to the object is not known";
      return Truth::kError;
    }
    if (!parent_) std::apply([&](Rest... rest) { parent_.emplace(*data_.parent, rest...); }, rest_);
    return parent_->truth(condition, error);
  }

 private:
  const ConditionData& data_;
  std::tuple<Rest...> rest_;
  Runs own_;
  std::optional<Runs> parent_;
};

// The decision of a set of conditions: Deny conditions first, then NoOpinion, then Allow. In each
// group the first true one decides, else an error; else a condition that cannot be evaluated stays
// open, and the rest of the set with it.
//
//   an error in a Deny condition       the failure mode of the set, with the error
//   an error in a NoOpinion condition  NoOpinion, with the error
//   an error in an Allow condition     counts as false; reported when nothing else allows
//
// `second` evaluates the conditions that `first` cannot.
Decision evaluated(const Conditions::Set& set, ConditionEvaluator& first,
                   ConditionEvaluator* second = nullptr);

// The same for any decision, as far as `evaluator` can decide: entries after the first answer
// that stays conditional are not evaluated.
Decision partially_evaluated(const Decision& decision, ConditionEvaluator& evaluator);

// The meaning of `said`, an author's answer about `open` that came with an error. The author does
// not say which condition failed, so the strongest one counts:
//
//   there is a Deny condition        the failure mode of its set: Deny if any set says so, else
//                                    NoOpinion
//   there is a NoOpinion condition   NoOpinion
//   there are Allow conditions only  the author's answer
//
// A Deny stays a Deny. The error stays with the answer.
Decision despite_error(const Decision& open, Decision said);

}  // namespace cardea::authz

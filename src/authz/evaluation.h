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
  kUnevaluatable,  // not by this evaluator; whoever wrote the condition can
};

// Says of a condition whether it holds. An evaluator that stands in for the author of a condition
// reports its own failures (a function it does not know, a limit of cost) as unevaluatable, never
// as an error.
class ConditionEvaluator {
 public:
  virtual ~ConditionEvaluator() = default;
  // `error` says what went wrong when the answer is kError.
  virtual Truth truth(const Condition& condition, std::string& error) = 0;
};

// Judges conditions that are about the parent by its data, and the others by the request's own.
// `Runs` is made of data and of `rest`; that of the parent when it is first needed. Belongs to one
// evaluation; borrows the data.
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

// What a set of conditions decides: Deny conditions first, then NoOpinion, then Allow; in each the
// first true one decides, else an error, else what cannot be evaluated stays open, and the rest of
// the set with it.
//
//   an error in a Deny condition       the failure mode of the set, with the error
//   an error in a NoOpinion condition  NoOpinion, with the error
//   an error in an Allow condition     as if false; told when nothing else allows
//
// `second` is asked about what `first` cannot evaluate.
Decision evaluated(const Conditions::Set& set, ConditionEvaluator& first,
                   ConditionEvaluator* second = nullptr);

// The same for any decision, as far as `evaluator` goes: what comes after the first answer that
// stays conditional is not evaluated.
Decision partially_evaluated(const Decision& decision, ConditionEvaluator& evaluator);

// What `said`, an author's answer about `open` that came with an error, amounts to. The author does
// not say which condition failed, so it is taken for the one that weighs most:
//
//   there is a Deny condition          the failure mode of its set: Deny if any set says so, else
//   NoOpinion there is a NoOpinion condition     NoOpinion there are Allow conditions only    what
//   the author said
//
// A Deny stays one. The error stays with the answer.
Decision despite_error(const Decision& open, Decision said);

}  // namespace cardea::authz

#pragma once
#include <memory>
#include <string_view>

#include "authz/authorizer.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/task.h"
#include "impersonation/attempt.h"

namespace cardea::impersonation {

// Acting as somebody else: between authentication, which says who sends the request, and
// authorization, which asks whether the one it is sent for may do it. `headers.h` reads what is
// asked for, `attempt.h` knows what has to be allowed for that; this puts the questions to the
// authorizers.

// What is told about it afterwards, in audit and log: who sent the request that is served for
// somebody else.
struct Deputy {
  authz::User sender;
  Mode mode = Mode::kLegacy;
  std::string_view constraint() const { return impersonation::constraint(mode); }
};

// Asks on behalf of all requests. Keeps nothing between two of them: a permission that is taken
// away is gone with the next request. Shared between threads.
class Impersonator {
 public:
  // With `metrics`, which outlive it, attempts and questions are counted. They are counted for
  // constrained modes only.
  explicit Impersonator(Attempt::Rules rules = Attempt::Rules::kConstrained,
                        MetricRegistry* metrics = nullptr);
  ~Impersonator();

  Attempt::Rules rules() const { return rules_; }

  // Takes the attempt as far as it goes without waiting. False: somebody has to be waited for, or
  // conditions settled; `finish` does both. Conditions are asked for only if `asking` says so, and
  // settled against the request to be.
  bool advance(const authz::Chain& chain, Attempt& attempt, authz::Asking asking) const;
  // Continues where `advance` stopped, perhaps on another thread. Gives true.
  Task<bool> finish(std::shared_ptr<const authz::Chain> chain, Attempt& attempt,
                    authz::Asking asking) const;

  // Of an attempt that is settled. Once.
  Result<authz::User> outcome(Attempt& attempt) const;

 private:
  class Meter;
  // False: the answer is conditional and remains to be settled.
  bool take(Attempt& attempt, authz::Decision& decision) const;

  Attempt::Rules rules_;
  std::unique_ptr<Meter> meter_;  // null: nothing is counted
};

}  // namespace cardea::impersonation

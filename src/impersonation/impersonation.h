#pragma once
#include <memory>
#include <string_view>

#include "authz/authorizer.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/task.h"
#include "impersonation/attempt.h"

namespace cardea::impersonation {

// Acting as another user. This comes between authentication, which finds the sender of the
// request, and authorization, which decides about the impersonated user. `headers.h` reads the
// requested user, `attempt.h` knows the permissions that are needed; this file asks the
// authorizers.

// Facts for audit and log: the sender of a request that impersonates another user.
struct Deputy {
  authz::User sender;
  Mode mode = Mode::kLegacy;
  authz::Explanation granted = {};  // why the sender may be that user
  std::string_view constraint() const { return impersonation::constraint(mode); }
};

// What must still hold for the object of a request, before its sender may have been another user:
// every question, asked of the authorizers that left it open.
struct OpenImpersonation {
  std::shared_ptr<const authz::Chain> chain;
  std::shared_ptr<const authz::OwnedAttributes> request;  // as the impersonated user
  Mode mode = Mode::kLegacy;
  std::vector<OpenQuestion> questions;
};
// Null: nothing is open. Of an attempt that is allowed, before its outcome.
std::shared_ptr<const OpenImpersonation> open_impersonation(
    const Attempt& attempt, std::shared_ptr<const authz::Chain> chain);

// Asks the questions of all requests. Keeps nothing between two requests: after a permission is
// removed, the next request is refused. Shared between threads.
class Impersonator {
 public:
  // With `metrics`, which outlive it, attempts and questions are counted. They are counted for
  // constrained modes only.
  explicit Impersonator(Attempt::Rules rules = Attempt::Rules::kConstrained,
                        MetricRegistry* metrics = nullptr);
  ~Impersonator();

  Attempt::Rules rules() const { return rules_; }

  // Runs the attempt as far as possible without waiting. False: an authorizer has to wait, or
  // conditions must be evaluated; `finish` does both. Conditions are requested only if `asking`
  // says so, and evaluated with the impersonated request. What also needs the object stays open in
  // the attempt, if it may.
  bool advance(const authz::Chain& chain, Attempt& attempt, authz::Asking asking) const;
  // Continues where `advance` stopped, perhaps on another thread. Gives true.
  Task<bool> finish(std::shared_ptr<const authz::Chain> chain, Attempt& attempt,
                    authz::Asking asking) const;

  // Of an attempt that is settled. Once.
  Result<authz::User> outcome(Attempt& attempt) const;

 private:
  class Meter;
  void take(Attempt& attempt, authz::Decision decision) const;

  Attempt::Rules rules_;
  std::unique_ptr<Meter> meter_;  // null: nothing is counted
};

}  // namespace cardea::impersonation

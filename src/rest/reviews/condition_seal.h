#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "authz/attributes.h"
#include "authz/authorizer.h"
#include "authz/conditions.h"
#include "base/result.h"

namespace cardea::rest {

// Conditions that leave the server and come back.
//
// Every server evaluates conditions in CEL. Other conditions belong to a webhook: only it knows
// what they mean. A server that asks this one by an access review gets them sealed, and sends them
// back in a review of conditions when the object is known. This server then has its webhook
// evaluate them, but only if it issued them itself: for the same asker, user and question, a short
// while ago, of the same authorizer. Otherwise any sender of reviews could put words into the mouth
// of a webhook. What does not fit fails closed.
//
// The keys follow from one secret and change every hour; servers with the same secret open each
// other's seals. Immutable; shared between threads.
class ConditionSeal {
 public:
  using Time = std::chrono::system_clock::time_point;
  // Longer than an asker keeps an answer; a sealed condition is no permission by itself.
  static constexpr std::chrono::minutes kLifetime{15};

  explicit ConditionSeal(std::string secret);  // not empty

  // The decision of a chain, for `asker`, who asked about `question`. Only the conditions of
  // webhooks are sealed. A condition that is too long with its seal keeps only its id, and will
  // fail closed.
  authz::Decision seal(const authz::Decision& decision, const authz::Chain& chain,
                       std::string_view asker, const authz::Attributes& question, Time now) const;

  // The condition inside, which came back from `asker` for this data. `author`: the name under
  // which it came back, as in authz::wire::inside.
  Result<authz::Condition> open(const authz::Condition& sealed, std::string_view author,
                                std::string_view asker, const authz::ConditionData& data,
                                Time now) const;

 private:
  struct Bond;  // all that a seal is bound to

  std::string code(const Bond& bond) const;
  authz::Condition sealed(const authz::Condition& condition, std::string_view author,
                          std::string_view asker, const authz::Attributes& question,
                          Time now) const;
  authz::Decision seal_inside(const authz::Decision& decision, std::string_view author,
                              std::string_view asker, const authz::Attributes& question,
                              Time now) const;

  const std::string secret_;
};

}  // namespace cardea::rest

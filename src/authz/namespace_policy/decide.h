#pragma once
#include <memory>
#include <string>

#include "authz/attributes.h"
#include "authz/decision.h"
#include "authz/namespace_policy/index.h"
#include "authz/namespace_policy/restricted.h"

namespace cardea::authz::namespace_policy {

// Decides a request in five steps: denials of the master namespace, then its allow rules;
// denials of the request's own namespace, then its allow rules; then no opinion. Requests
// outside of namespaces stop after two steps.
//
// Restrictions on the object come back as conditions, `master.policy` before
// `namespace.policy`. If a binding of the user refers to a role that cannot be used, the role
// might have denied: the answer is Deny, with an error, unless an earlier step decided.
// Allocates nothing unless there are conditions or errors.
Decision decide(const std::shared_ptr<const Index>& index, const Attributes& attributes,
                const Surroundings& surroundings);

// The same with both reasons: a request may have been allowed by one rule and denied by another.
struct Answer {
  Decision decision;
  std::string allowed_by;      // `allowed by rule in hammer: ...`; empty where nothing allows
  std::string denied_because;  // empty exactly when the decision allows; `denied by default` where
                               // no rule denies
};
Answer decide_with_reasons(const std::shared_ptr<const Index>& index, const Attributes& attributes,
                           const Surroundings& surroundings);

}  // namespace cardea::authz::namespace_policy

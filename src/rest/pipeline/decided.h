#pragma once
#include <chrono>
#include <memory>

#include "base/trace.h"
#include "rest/call.h"

namespace cardea::rest::pipeline {

// The decision of the current chain.
struct Decided {
  authz::Chain::Verdict verdict;
  std::shared_ptr<const authz::Chain> chain;  // the chain that decided, and evaluates open
                                              // conditions
  bool is_granular = false;  // the permit is for the verb `granular`: the changed fields decide
  std::chrono::nanoseconds took{};
  // Of a shared store: the last change of policy, and when nobody knew of a later one.
  store::Revision policy_revision = 0;
  std::chrono::steady_clock::time_point policy_as_of{};
};

Task<Decided> decide(const Services& services, http::Exchange& exchange,
                     const authz::RequestInfo& info, const authz::User& user,
                     Trace* trace = nullptr);

}  // namespace cardea::rest::pipeline

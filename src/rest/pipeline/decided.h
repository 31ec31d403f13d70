#pragma once
#include <chrono>
#include <memory>

#include "rest/call.h"

namespace cardea::rest::pipeline {

// The decision of the current chain.
struct Decided {
  authz::Chain::Verdict verdict;
  std::shared_ptr<const authz::Chain> chain;  // the chain that decided, and evaluates open
                                              // conditions
  bool is_granular = false;  // the permit is for the verb `granular`: the changed fields decide
  std::chrono::nanoseconds took{};
};

Task<Decided> decide(const Services& services, http::Exchange& exchange,
                     const authz::RequestInfo& info, const authz::User& user);

}  // namespace cardea::rest::pipeline

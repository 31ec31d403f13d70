#pragma once
#include <chrono>
#include <memory>

#include "rest/call.h"

namespace cardea::rest::pipeline {

// Whether they may: what the chain of this moment says.
struct Decided {
  authz::Chain::Verdict verdict;
  std::shared_ptr<const authz::Chain> chain;  // that decided, and settles what is still open
  bool is_granular = false;  // what is permitted is the verb `granular`: the fields decide
  std::chrono::nanoseconds took{};
};

Task<Decided> decide(const Services& services, http::Exchange& exchange,
                     const authz::RequestInfo& info, const authz::User& user);

}  // namespace cardea::rest::pipeline

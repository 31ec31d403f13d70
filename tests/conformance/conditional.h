#pragma once
#include <string>
#include <string_view>

#include "authz/conditions.h"
#include "conformance/conformance.h"

// Shared parts of the tests that read conditional-authz.json.
namespace cardea::conformance {

struct Check {
  std::string problems;

  void that(std::string_view what, bool holds) {
    if (!holds)
      problems += std::string(problems.empty() ? "" : "; ") + "wrong " + std::string(what);
  }
  void same(std::string_view what, std::string_view got, std::string_view want) {
    if (got == want) return;
    problems += std::string(problems.empty() ? "" : "; ") + std::string(what) + " is " +
                std::string(got) + ", want " + std::string(want);
  }
};

authz::Conditions::Set set_of(const json::Value& conditions);
authz::Conditions::Chain chain_of(const json::Value& entries);
authz::Decision decision_of(const json::Value& input);
authz::Decision::Kind kind_named(std::string_view name);
std::string name_of(const authz::Decision& decision);  // "ConditionsMap"

// conditional_webhooks.cc
Check webhook_status(const json::Value& c);
Check webhook_unasked(const json::Value& c);
Check webhook_settles(const json::Value& c);

// conditional_reviews.cc
Check sar_endpoint(const json::Value& c);
Check sar_wire_shape(const json::Value& c);
Check decision_validation(const json::Value& c);
Check webhook_config(const json::Value& c);

// conditional_requests.cc
Check api_request(const json::Value& c);
Check eligibility(const json::Value& c);
Check handled_types(const json::Value& c);
Check cel_sample(const json::Value& c);
Check policy_folding(const json::Value& c);
Check authorization_phase(const json::Value& c);
Check admission_phase(const json::Value& c);

}  // namespace cardea::conformance

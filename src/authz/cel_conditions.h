#pragma once
#include <array>
#include <memory>

#include "authz/evaluation.h"
#include "authz/secondary_checks.h"
#include "cel/environment.h"
#include "json/value.h"

namespace cardea::authz {

// Evaluates conditions in CEL that somebody else wrote, in the environment of a
// ValidatingAdmissionPolicy: object, oldObject, request (an AdmissionRequest), namespaceObject,
// authorizer; and impersonatedRequest. Other types, texts that do not compile here and those that
// cost too much are for their author to evaluate. Belongs to one evaluation; borrows the data and
// the checks.
class CelConditions : public ConditionEvaluator {
 public:
  CelConditions(const ConditionData& data, SecondaryChecks& checks);
  Truth truth(const Condition& condition, std::string& error) override;

 private:
  const ConditionData& data_;
  json::Value request_, impersonated_;
  bool has_space_ = false;
  cel::AuthorizerHandle asks_, resource_;
  std::vector<cel::Value> variables_;
};

// The data as an AdmissionRequest, without `uid`.
json::Value admission_request(const ConditionData& data);
// The request to be, as access policies read it; null where nobody is to be impersonated.
json::Value impersonated_request(const ConditionData& data);

}  // namespace cardea::authz

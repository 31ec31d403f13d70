#pragma once
#include <array>
#include <memory>

#include "authz/evaluation.h"
#include "authz/secondary_checks.h"
#include "cel/environment.h"
#include "json/value.h"

namespace cardea::authz {

// Evaluates conditions in CEL that another server wrote, in the environment of a
// ValidatingAdmissionPolicy: object, oldObject, request (an AdmissionRequest), namespaceObject,
// authorizer; and impersonatedRequest. Their author must evaluate other types, texts that do
// not compile here, and expressions that cost too much. Belongs to one evaluation; borrows the
// data and the checks.
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

// Evaluates those that the impersonated request decides alone, before the object is known; all
// others stay open. Belongs to one evaluation; borrows the request.
class CelOnImpersonatedRequest : public ConditionEvaluator {
 public:
  explicit CelOnImpersonatedRequest(const Attributes& impersonated);
  Truth truth(const Condition& condition, std::string& error) override;

 private:
  json::Value impersonated_;
  std::vector<cel::Value> variables_;
};

// The data as an AdmissionRequest, without `uid`.
json::Value admission_request(const ConditionData& data);
// The impersonated request in the form of access policies; null when there is no impersonation.
json::Value impersonated_request(const ConditionData& data);

}  // namespace cardea::authz

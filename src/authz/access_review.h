#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "authz/attributes.h"
#include "authz/decision.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::authz {

// What the kinds of the SubjectAccessReview family have in common: the checks on an object, the
// question its spec asks, and the words of its status. Pure functions; nothing here decides.

enum class ReviewKind { kSubject, kLocalSubject, kSelfSubject };

// The errors of a review, in Kubernetes' words and order. `metadata` may have managedFields,
// and in a local review the namespace; anything else is refused.
json::FieldErrors validate_review(ReviewKind kind, const json::Value& review);
// The same for a part: that exactly one of the two blocks is there; and their selectors. `at` is
// the path of what holds them.
json::FieldErrors validate_question(const json::Value& spec, const std::string& at);
json::FieldErrors validate_selectors(const json::Value& spec, const std::string& at);

// The question of a spec: resourceAttributes or nonResourceAttributes. Keeps the spec alive.
// Its Attributes borrow from it: they must not outlive it and become invalid when it is moved.
class Question {
 public:
  explicit Question(json::Value spec);

  Attributes attributes(const User& user) const;
  // A remark for an authorizer's error: which selectors could not be read, or not completely.
  // `spec.resourceAttributes.fieldSelector ignored due to parse error`; empty when all could be
  // read.
  const std::string& remarks() const { return remarks_; }

 private:
  json::Value spec_;
  std::optional<Selectors> selectors_;
  std::string remarks_;
};

// The error of a decision and the remarks of its question, as one evaluationError.
std::string evaluation_error(std::string_view error, std::string_view remarks);

// {allowed, denied?, reason?, evaluationError?}
json::Value review_status(const Decision& decision, std::string_view remarks);

}  // namespace cardea::authz

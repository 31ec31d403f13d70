#pragma once
#include "base/task.h"
#include "json/field_error.h"
#include "rest/call.h"
#include "rest/verbs/options.h"

namespace cardea::rest {

// What differs between the kinds of reviews. Both may be empty.
struct ReviewRules {
  // Before admission: takes fields away, or records the owner of the others.
  json::Value (*prepare)(Call& call, json::Value object, const WriteOptions& options) = nullptr;
  // After mutation: whether the review can be answered.
  Result<void> (*check)(const Call& call, const json::Value& review) = nullptr;
};

// Takes the review in the body of a request to where it may be answered: decoded, in the namespace
// of the request, admitted, valid. It is not stored.
Task<Result<json::Value>> admit_review(Call& call, ReviewRules rules = {});

// What is wrong with the spec of a review that asks about a request of a user.
json::FieldErrors errors_about_user(const json::Value& spec);

}  // namespace cardea::rest

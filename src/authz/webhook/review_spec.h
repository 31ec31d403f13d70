#pragma once
#include <string_view>

#include "authz/attributes.h"
#include "authz/decision.h"
#include "authz/wire/decision_json.h"
#include "base/result.h"
#include "json/value.h"

// SubjectAccessReviews as a webhook authorizer writes and reads them.
namespace cardea::authz {

// The spec that asks `attributes`, in version v1, as clients send it: what is empty is left out.
// Selectors go as requirements, those without an equivalent are left out, which only widens the
// question.
json::Value review_spec(const Attributes& attributes);
// The same with user, uid, groups and extra always there, and all texts of resourceAttributes: what
// match conditions see.
json::Value matched_spec(const json::Value& spec);
// The whole review; v1beta1 calls the groups `group`.
json::Value review_asking(const json::Value& spec, std::string_view version);

// What an answer decides. An answer that is no review of the version that was asked, or whose
// status is not of the right types, is an error; one that both allows and denies denies, and says
// so. `asked` is how the review asked for conditions.
Result<Decision> decision_in(const json::Value& review, std::string_view asked_version,
                             wire::Dialect asked = wire::Dialect::kNone);

}  // namespace cardea::authz

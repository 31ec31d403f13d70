#pragma once
#include <string_view>

#include "authz/attributes.h"
#include "authz/decision.h"
#include "authz/wire/decision_json.h"
#include "base/result.h"
#include "json/value.h"

// SubjectAccessReviews of a webhook authorizer: writing and reading.
namespace cardea::authz {

// The spec with the question `attributes`, in version v1, as clients send it: empty fields are
// left out. Selectors are sent as requirements; those without an equivalent are left out, which
// only widens the question.
json::Value review_spec(const Attributes& attributes);
// Selectors as requirements, in the form of that spec.
json::Value field_requirements(const Selectors& selectors);
json::Value label_requirements(const Selectors& selectors);
// The same with user, uid, groups and extra always there, and all texts of resourceAttributes: what
// match conditions see.
json::Value matched_spec(const json::Value& spec);
// The whole review; v1beta1 calls the groups `group`.
json::Value review_asking(const json::Value& spec, std::string_view version);

// The decision in an answer. An answer that is not a review of the requested version, or whose
// status has wrong types, is an error; an answer that both allows and denies denies, with an
// error text. `asked` is the form in which conditions were requested.
Result<Decision> decision_in(const json::Value& review, std::string_view asked_version,
                             wire::Dialect asked = wire::Dialect::kNone);

}  // namespace cardea::authz

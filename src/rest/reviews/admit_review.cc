#include "rest/reviews/admit_review.h"

#include "authz/access_review.h"
#include "rest/verbs/body.h"
#include "rest/verbs/request_match.h"
#include "rest/write/write.h"

namespace cardea::rest {

Task<Result<json::Value>> admit_review(Call& call, ReviewRules rules) {
  auto options = write_options(call.info.query, "CreateOptions");
  if (!options) co_return fail(options.error());
  auto object = read_object(call, Expected::object_of(call), options->field_validation);
  if (!object) co_return fail(object.error());
  if (auto ok = check_namespace(call, *object); !ok) co_return fail(ok.error());
  admission::Review review = review_of(call, admission::Operation::kCreate, options->dry_run,
                                       options->document);
  review.object = rules.prepare ? rules.prepare(call, std::move(*object), *options)
                                : std::move(*object);
  Result<void> admitted = co_await call.services.admission.mutate(review);
  if (admitted && rules.check) admitted = rules.check(call, review.object);
  if (admitted) {
    Result<void> valid = co_await call.services.admission.validate(review);
    admitted = std::move(valid);
  }
  take_warnings(call, review);
  if (!admitted) co_return fail(admitted.error());
  co_return std::move(review.object);
}

json::FieldErrors errors_about_user(const json::Value& spec) {
  json::FieldErrors errors = authz::validate_question(spec, "spec");
  for (json::FieldError& e : authz::validate_selectors(spec, "spec"))
    errors.push_back(std::move(e));
  if (spec["user"].as_string().empty() && spec["groups"].empty())
    errors.push_back(
        json::invalid("spec.user", "", "at least one of user or group must be specified"));
  return errors;
}

}  // namespace cardea::rest

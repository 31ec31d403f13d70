// Reviews: questions about identities, answered and not kept.
#include "rest/body.h"
#include "rest/subresources.h"
#include "rest/verbs.h"
#include "rest/write.h"

namespace cardea::rest {

Task<Result<Answer>> review_self(Call& call) {
  auto options = write_options(call.info.query, "CreateOptions");
  if (!options) co_return fail(options.error());
  auto review = read_object(call, Expected::object_of(call), options->field_validation);
  if (!review) co_return fail(review.error());
  review->member("metadata").set("creationTimestamp", call.started);
  review->set("status", json::Value::object({{"userInfo", call.user_info()}}));
  co_return Answer::of(std::move(*review), 201);
}

}  // namespace cardea::rest

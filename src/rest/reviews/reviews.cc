// Reviews of identities: questions that are answered and not kept.
#include "authn/service_account/tokens.h"
#include "authz/user_info.h"
#include "rest/reviews/admit_review.h"
#include "rest/verbs/body.h"
#include "rest/verbs/subresources.h"
#include "rest/verbs/verbs.h"
#include "rest/write/ownership.h"
#include "rest/write/write.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::rest {

using json::Value;

namespace {

Value status_of(const Result<authn::Identity>& found, const std::string& why) {
  // An anonymous user is not authenticated.
  if (!found || found->user.name == authz::kAnonymousUser)
    return Value::object(
        {{"user", Value::object()}, {"error", why.empty() ? "invalid bearer token" : why}});
  Value status = Value::object({{"authenticated", true}, {"user", authz::user_info(found->user)}});
  for (const std::string& a : found->audiences) status.member("audiences").push_back(a);
  return status;
}

Value owned_token_review(Call& call, Value object, const WriteOptions& options) {
  for (auto key : {"namespace", "uid", "creationTimestamp"}) object.member("metadata").erase(key);
  const std::string manager = field_manager(call, options), version = call.resource->api_version();
  return schema::track_update(
      nullptr, std::move(object), *call.resource->schema,
      {.manager = manager, .api_version = version, .now = call.started.text()});
}

Result<void> check_token_review(const Call&, const Value& review) {
  if (review["spec"]["token"].as_string().empty())
    return fail(bad_request("token is required for TokenReview in authentication"));
  return {};
}

}  // namespace

Task<Result<Answer>> review_self(Call& call) {
  Result<Value> review = co_await admit_review(call);
  if (!review) co_return fail(review.error());
  review->set("metadata", Value::object({{"creationTimestamp", call.started.text()}}));
  review->set("status", Value::object({{"userInfo", call.user_info()}}));
  co_return Answer::of(std::move(*review), 201);
}

Task<Result<Answer>> review_token(Call& call) {
  Result<Value> review = co_await admit_review(call, {owned_token_review, check_token_review});
  if (!review) co_return fail(review.error());
  const Value& spec = (*review)["spec"];
  const std::string token(spec["token"].as_string());
  std::vector<std::string> audiences;
  for (const Value& a : spec["audiences"].items()) audiences.emplace_back(a.as_string());
  if (audiences.empty() && call.services.service_account_tokens)
    audiences = call.services.service_account_tokens->options().audiences;
  std::string why;
  authn::Credentials credentials{.token = token,
                                 .audiences = audiences.empty() ? nullptr : &audiences};
  Result<authn::Identity> found = co_await call.services.authenticators->authenticate(credentials,
                                                                                      &why);
  bool back = co_await continue_on(call.exchange->loop());
  (void)back;
  review->set("status", status_of(found, why));
  co_return Answer::of(std::move(*review), 201);
}

}  // namespace cardea::rest

// exec, attach, portforward, log and proxy: connections to a running part of an object.
#include "authz/eligibility.h"
#include "rest/streams/connect_options.h"
#include "rest/streams/location.h"
#include "rest/streams/outgoing.h"
#include "rest/verbs/subresources.h"
#include "rest/write/write.h"

namespace cardea::rest {

// Reading what a container wrote is a read, not a connection.
Task<Result<Answer>> read_log(Call& call) {
  auto options = log_options(call);
  if (!options) co_return fail(options.error());
  Result<Answer> answer = co_await log_of_pod(call, std::move(*options));
  co_return answer;
}

namespace {

// What authorization asks about a connection before its options are looked at.
Task<Result<void>> may_try(Call& call) {
  // A WebSocket begins with a GET, and what a proxied request does is not known: whoever connects
  // may change something, whatever the method is.
  Result<void> may = co_await call.open.ask_to_connect(call);
  if (!may) co_return may;
  if (auto name = proxy_name(call.info.name, ""); name && name->name != call.info.name)
    may = co_await call.open.ask_about_plain_name(call, name->name);
  co_return may;
}

admission::Review review_of_connection(Call& call, json::Value options) {
  admission::Review review = review_of(call, admission::Operation::kConnect, false, json::Value());
  review.object = std::move(options);
  return review;
}

}  // namespace

Task<Result<void>> may_still_connect(Call& call, json::Value options) {
  Result<void> may = co_await may_try(call);
  if (!may) co_return may;
  admission::Review review = review_of_connection(call, std::move(options));
  if (review.authorization) may = co_await review.authorization->settle(review);
  if (!may) co_return may;
  if (auto proof = call.open.proof(); !proof) co_return fail(proof.error());
  co_return may;
}

// INVARIANT: permission to create, admission and conditions come before anything is looked up for
// the connection or sent.
Task<Result<Answer>> connect(Call& call) {
  Result<void> may = co_await may_try(call);
  if (!may) co_return fail(may.error());
  auto options = connect_options(call);
  if (!options) co_return fail(options.error());
  admission::Review review = review_of_connection(call, std::move(*options));
  Result<void> admitted = co_await admit(call, review);
  if (!admitted) co_return fail(admitted.error());
  if (auto proof = call.open.proof(); !proof) co_return fail(proof.error());
  if (call.info.subresource == "proxy") {
    Result<Answer> proxied = co_await proxy(call, review.object);
    co_return proxied;
  }
  Result<Answer> streamed = co_await stream_of_pod(call, review.object);
  co_return streamed;
}

}  // namespace cardea::rest

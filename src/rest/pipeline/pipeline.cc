#include "rest/pipeline/pipeline.h"

#include "authz/refusal.h"
#include "base/strings.h"
#include "rest/present/self_description.h"

namespace cardea::rest::pipeline {
namespace {

End broken(const http::Request& request, std::string_view why) {
  return {internal_error_text(request, why)};
}

// Errors are reported before a refusal: without them the answer might have been different.
End refused(const Stations& stations, const http::Request& request, const Journey& j) {
  const authz::Decision& decision = j.decided->verdict.decision;
  if (!decision.error.empty()) return broken(request, decision.error);
  authz::Attributes attributes{j.acting->user, j.asked->info};
  return {fail(authz::refusal(*stations.services.authorizer.get(), attributes, decision)), true};
}

}  // namespace

Answer internal_error_text(const http::Request& request, std::string_view why) {
  return text_answer(
      500, authz::html_escaped(cat("Internal Server Error: ", quoted(request.target), ": ", why)) +
               "\n");
}

const authz::User& Journey::sender() const {
  if (!acting) return recognised->identity.user;
  return acting->deputy ? acting->deputy->sender : acting->user;
}

Task<bool> travel(Stations stations, http::Exchange& exchange, Journey& j) {
  const http::Request& request = exchange.request();
  exchange.request().from_stranger = !j.acting;  // until a user is recognised
  Result<Asked> asked = ask(request);
  if (!asked) {
    j.end = broken(request, cat("failed to create RequestInfo: ", asked.error().message));
    co_return true;
  }
  j.asked = std::move(*asked);

  if (!j.acting) {
    Result<Recognised> recognised = co_await recognise(
        stations.authenticators, exchange, stations.keeps_reasons ? &j.why_unrecognised : nullptr);
    if (!recognised) {
      j.end = End{fail(recognised.error())};
      co_return true;
    }
    j.recognised = std::move(*recognised);

    Result<Acting> acting = co_await act(stations.services, stations.impersonator, exchange,
                                         j.asked->info, j.recognised->identity.user);
    if (!acting) {
      j.end = End{fail(acting.error()), true};
      co_return true;
    }
    j.acting = std::move(*acting);
  }

  Decided decided = co_await decide(stations.services, exchange, j.asked->info, j.acting->user);
  j.decided = std::move(decided);
  if (!j.decided->verdict.permit) j.end = refused(stations, request, j);
  co_return true;
}

std::shared_ptr<EarlyJourney> EarlyJourney::begin(Stations stations,
                                                  std::shared_ptr<http::Exchange> exchange) {
  auto self = std::make_shared<EarlyJourney>();
  // The exchange and the journey live until this is done, also if the connection is closed.
  spawn(travel(stations, *exchange, self->journey), [self, exchange](bool) {
    self->is_done_ = true;
    if (self->waiter_) return std::exchange(self->waiter_, nullptr)();
    if (self->has_waited_ && self->journey.end) exchange->withhold_body();
  });
  self->has_waited_ = !self->is_done_;
  return self;
}

Task<bool> EarlyJourney::finish() {
  if (is_done_) co_return true;
  bool done = co_await await_callback<bool>(
      [this](auto resume) { waiter_ = [resume]() mutable { resume(true); }; });
  co_return done;
}

}  // namespace cardea::rest::pipeline

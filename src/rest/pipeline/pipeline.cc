#include "rest/pipeline/pipeline.h"

#include "authz/refusal.h"
#include "base/strings.h"
#include "rest/fairness/gate.h"
#include "rest/memory_budget.h"
#include "rest/pipeline/hops.h"
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

// As kube-apiserver says it: text, not a Status.
End too_many(fairness::Gate::Refusal refusal) {
  Answer answer = text_answer(429, "Too many requests, please try again later.\n");
  answer.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after));
  if (!refusal.schema_uid.empty()) {
    answer.headers.emplace_back(fairness::kSchemaHeader, std::move(refusal.schema_uid));
    answer.headers.emplace_back(fairness::kLevelHeader, std::move(refusal.level_uid));
  }
  return {std::move(answer)};
}

// Its decision is made again when the policy changes before something is stored.
bool changes_something(const authz::RequestInfo& info) {
  return info.is_resource_request && info.verb != "get" && info.verb != "list" &&
         info.verb != "watch";
}

// Whoever may ask for a trace of single requests costs the server work that others pay for.
bool may_be_traced(const authz::User& sender) {
  return sender.in_group(authz::kMastersGroup) || sender.in_group("system:monitoring");
}

// Whether the request needs a seat. Connections last as long as their clients want.
bool needs_seat(const Stations& stations, const authz::RequestInfo& info) {
  return stations.gate && (info.verb == "watch" || !is_long_running(info));
}

// True: the request has its seats, and had not to wait. False: await sit_down().
bool sits_at_once(const Stations& stations, http::Exchange& exchange, Journey& j) {
  return exchange.loop().in_loop() &&
         stations.gate->enter({exchange, j.asked->info, j.acting->user}, j.seat);
}

// False: the request is at its end.
Task<bool> sit_down(Stations stations, http::Exchange& exchange, Journey& j) {
  if (!exchange.loop().in_loop()) {
    bool back = co_await continue_on(exchange.loop());
    (void)back;
    if (sits_at_once(stations, exchange, j)) co_return true;
  }
  fairness::Gate::Refusal refusal;
  bool may = co_await stations.gate->wait({exchange, j.asked->info, j.acting->user}, j.seat,
                                          refusal);
  if (!may) j.end = too_many(std::move(refusal));
  co_return may;
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
  if (stations.traces && !j.acting && !j.trace)
    j.trace = stations.traces->begin(request.headers.get(kTraceparentHeader), request.method);
  Trace* const trace = j.trace.get();

  if (!j.acting) {
    const bool goes_on = is_long_running(j.asked->info) || request.has_upgrade;
    if (stations.keeps_questions && goes_on) j.sent = Sent::of(request);
    if (stations.services.shared && changes_something(j.asked->info)) j.sent = Sent::of(request);
    const Stopwatch watch;
    std::optional<TraceSpan> span(std::in_place, trace, "authentication");
    Result<Recognised> recognised = co_await recognise(
        stations.authenticators, exchange, stations.keeps_reasons ? &j.why_unrecognised : nullptr);
    span.reset();
    j.recognised_in = watch.elapsed();
    if (!recognised) {
      j.end = End{fail(recognised.error())};
      co_return true;
    }
    j.recognised = std::move(*recognised);
    if (trace) trace->accept(may_be_traced(j.recognised->identity.user));
    if (auto ok = check_hops(j.asked->info.via, stations.services.server_id); !ok) {
      j.end = End{fail(ok.error())};
      co_return true;
    }

    Result<Acting> acting = co_await act(stations.services, stations.impersonator, exchange,
                                         j.asked->info, j.recognised->identity.user,
                                         j.refused_impersonation);
    if (!acting) {
      j.end = End{fail(acting.error()), true};
      co_return true;
    }
    j.acting = std::move(*acting);
    if (j.sent) j.sent->drop(request.headers);

    if (needs_seat(stations, j.asked->info)) {
      TraceSpan waits(trace, "seat");
      bool may = sits_at_once(stations, exchange, j);
      if (!may) may = co_await sit_down(stations, exchange, j);
      if (!may) co_return true;
    }
  }

  Decided decided = co_await decide(stations.services, exchange, j.asked->info, j.acting->user,
                                    trace);
  j.decided = std::move(decided);
  if (!j.decided->verdict.permit) j.end = refused(stations, request, j);
  co_return true;
}

std::shared_ptr<EarlyJourney> EarlyJourney::begin(Stations stations,
                                                  std::shared_ptr<http::Exchange> exchange) {
  auto self = std::make_shared<EarlyJourney>();
  self->bodies_ = stations.services.bodies;
  // The exchange and the journey live until this is done, also if the connection is closed.
  spawn(travel(stations, *exchange, self->journey), [self, exchange](bool) {
    self->is_done_ = true;
    self->journey.seat.give_back();
    if (!self->journey.end) self->take_room(*exchange);
    if (self->waiter_) return std::exchange(self->waiter_, nullptr)();
    if (self->has_waited_ && self->journey.end) return exchange->withhold_body();
    exchange->read_body();
  });
  self->has_waited_ = !self->is_done_;
  if (self->has_waited_) exchange->let_body_wait();
  return self;
}

// Now it is known whose body it is.
void EarlyJourney::take_room(http::Exchange& exchange) {
  if (!bodies_ || !journey.acting) return;
  constexpr std::size_t kUnknown = 256 * 1024;  // of a body that comes in chunks
  const auto length = parse_int(exchange.request().headers.get("content-length"));
  const std::size_t bytes = length && *length > 0 ? static_cast<std::size_t>(*length) : kUnknown;
  if (bytes < MemoryBudget::kCounted) return;
  room_ = bodies_->take(journey.acting->user, bytes);
  if (!room_)
    journey.end = End{fail(Error::of(Reason::kTooManyRequests,
                                     "too much is being sent already, please try again later")
                               .with({.retry_after_seconds = 1}))};
}

Task<bool> EarlyJourney::finish(Stations stations, http::Exchange& exchange) {
  if (!is_done_) {
    bool done = co_await await_callback<bool>(
        [this](auto resume) { waiter_ = [resume]() mutable { resume(true); }; });
    (void)done;
  }
  if (journey.end || !needs_seat(stations, journey.asked->info)) co_return true;
  bool may = sits_at_once(stations, exchange, journey);
  if (!may) may = co_await sit_down(stations, exchange, journey);
  co_return may;
}

}  // namespace cardea::rest::pipeline

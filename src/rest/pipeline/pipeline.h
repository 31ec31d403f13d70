#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/task.h"
#include "rest/pipeline/acting.h"
#include "rest/pipeline/asked.h"
#include "rest/pipeline/decided.h"
#include "rest/pipeline/recognised.h"
#include "rest/pipeline/sent.h"

namespace cardea::rest::pipeline {

// The path of a request, station by station:
//
//   Asked       what is asked               method and URL           asked.h
//   Recognised  which user sends it         credentials              recognised.h
//   Acting      for which user              Impersonate-* headers    acting.h
//   Seat        when it runs                FlowSchemas              rest/fairness/gate.h
//   Decided     whether the user may        the authorizer chain     decided.h
//   Call        what to do, with the proof  made at the exit         rest/call.h
//
// Each station is a type that a function makes from the types before. No station depends on a later
// one, needs the body of the request, or writes anything. So the stations up to Decided may run as
// soon as the head of a request has arrived, and their result is kept until the body has arrived.
// Metrics, audit and log read the stations afterwards; stations do not know them.

// A 500 of a station: text, not a Status.
Answer internal_error_text(const http::Request& request, std::string_view why);

// What the client of a request that takes too long is told, with the status 504.
inline constexpr std::string_view kTooLate =
    R"({"metadata":{},"status":"Failure","message":"Timeout: request did not complete within )"
    R"(the allotted timeout","reason":"Timeout","details":{},"code":504})"
    "\n";

// The end of a request that does not continue: its answer.
struct End {
  Result<Answer> answer;
  bool is_refusal = false;  // by the chain, or of an impersonation
};

// The progress of one request. On its loop's thread.
struct Journey {
  std::optional<Asked> asked;
  std::optional<Recognised> recognised;  // its user goes on to `acting`
  std::chrono::nanoseconds recognised_in{0};
  std::optional<Acting> acting;
  fairness::Seat seat;  // empty for the server's own requests, and for connections
  std::optional<Decided> decided;
  std::optional<End> end;
  std::string why_unrecognised;                               // for logs, never for the client
  std::optional<RefusedImpersonation> refused_impersonation;  // for audit
  std::shared_ptr<Sent> sent;                                 // where it may be asked again
  std::shared_ptr<Trace> trace;                               // null: it is not traced

  // The user of the credentials, also when the request impersonates another user.
  const authz::User& sender() const;
};

// The parts that the stations use.
struct Stations {
  const Services& services;
  const authn::AuthenticatorChain& authenticators;
  const impersonation::Impersonator& impersonator;
  bool keeps_reasons = false;      // whether the reason for refused credentials is needed
  bool keeps_questions = false;    // whether requests that go on for long will be asked about again
  fairness::Gate* gate = nullptr;  // where requests of clients wait; null: they do not
  TraceSink* traces = nullptr;     // null: no request is traced
};

// Continues from the current station to Decided, or to the end. A journey that begins with a
// known user (`acting` is set) asks for no credentials. Exchange and journey must live until it
// is done.
Task<bool> travel(Stations stations, http::Exchange& exchange, Journey& journey);

// A journey that began before the body of its request had arrived.
class EarlyJourney : public http::Kept {
 public:
  // Runs as far as possible at once; a part that has to wait continues by itself. A refusal that
  // comes later does not wait for the body.
  static std::shared_ptr<EarlyJourney> begin(Stations stations,
                                             std::shared_ptr<http::Exchange> exchange);
  // The whole of it. Seats are not held while the body arrives: it asks for them again.
  Task<bool> finish(Stations stations, http::Exchange& exchange);

  Journey journey;

 private:
  void take_room(http::Exchange& exchange);

  std::shared_ptr<MemoryBudget> bodies_;
  std::shared_ptr<void> room_;  // what the body takes of it
  bool is_done_ = false;
  bool has_waited_ = false;
  std::function<void()> waiter_;
};

}  // namespace cardea::rest::pipeline

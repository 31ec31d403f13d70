#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/task.h"
#include "rest/pipeline/acting.h"
#include "rest/pipeline/asked.h"
#include "rest/pipeline/decided.h"
#include "rest/pipeline/recognised.h"

namespace cardea::rest::pipeline {

// The way of a request, station by station:
//
//   Asked       what is asked                    method and URL                       asked.h
//   Recognised  who asks                         credentials                          recognised.h
//   Acting      in whose name                    Impersonate-* headers                acting.h
//   Decided     whether they may                 the authorizer chain                 decided.h
//   Call        what to do, with the proof       made by whoever stands at the exit   rest/call.h
//
// Each station is a type that a function makes from the ones before. No station looks back, none
// needs the body of the request, none writes anything. So the way up to Decided may run as soon as
// the head of a request is there, and what it found is kept until the body has come. Metrics, audit
// and log look at the stations afterwards; stations do not know them.

// A 500 of a station: text, not a Status.
Answer internal_error_text(const http::Request& request, std::string_view why);

// Where a request that goes no further ends: what it is answered.
struct End {
  Result<Answer> answer;
  bool is_refusal = false;  // by the chain, or of an impersonation
};

// How far one request has come. On its loop's thread.
struct Journey {
  std::optional<Asked> asked;
  std::optional<Recognised> recognised;  // its user goes on to `acting`
  std::optional<Acting> acting;
  std::optional<Decided> decided;
  std::optional<End> end;
  std::string why_unrecognised;  // for logs, never for the client

  // The user of the credentials, whoever the request is served for by now.
  const authz::User& sender() const;
};

// What the stations ask.
struct Stations {
  const Services& services;
  const authn::AuthenticatorChain& authenticators;
  const impersonation::Impersonator& impersonator;
  bool keeps_reasons = false;  // whether somebody wants to know why credentials were refused
};

// Goes on from where the journey is to Decided, or to its end. A journey that begins with a user
// whom the server knows already (`acting` is there) asks for no credentials. Exchange and journey
// live until it is done.
Task<bool> travel(Stations stations, http::Exchange& exchange, Journey& journey);

// A journey that began before the body of its request was there.
class EarlyJourney : public http::Kept {
 public:
  // Goes as far as it can at once; what has to wait goes on by itself.
  static std::shared_ptr<EarlyJourney> begin(Stations stations,
                                             std::shared_ptr<http::Exchange> exchange);
  // The whole of it.
  Task<bool> finish();

  Journey journey;

 private:
  bool is_done_ = false;
  std::function<void()> waiter_;
};

}  // namespace cardea::rest::pipeline

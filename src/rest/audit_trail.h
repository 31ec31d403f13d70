#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "audit/auditor.h"
#include "authn/authenticator.h"
#include "authz/authorizer.h"
#include "base/clock.h"
#include "base/random.h"
#include "http/exchange.h"

namespace cardea::rest {

// The id of a request in its answer, and in the audit log where there is one: the client's own in
// the header Audit-ID, else a new one.
std::string audit_id_of(const http::Request& request, Random& random);

// The audit record of one request: collects the facts from each station, and makes the events.
//
// It exists only where requests are audited: one for each request, called by each station in
// order, on the request's loop. A watch keeps it until its end, which is then recorded; answers
// in one piece use `respond`.
class AuditTrail {
 public:
  // `auditor` and `clock` outlive it. Takes the Audit-Id that the client chose if it is short and
  // plain, else a new one.
  AuditTrail(const audit::Auditor& auditor, const Clock& clock, Random& random,
             const http::Request& request, const authz::RequestInfo& info);
  ~AuditTrail();
  AuditTrail(const AuditTrail&) = delete;
  AuditTrail& operator=(const AuditTrail&) = delete;

  const std::string& audit_id() const { return arrival_->audit_id; }

  // The user of the request. The policy now decides how much is recorded.
  void authenticated(const authn::Identity& identity, const authz::RequestInfo& info);
  // The credentials were refused; `why` is for the audit event alone.
  void unauthenticated(std::string_view why, const authz::RequestInfo& info);
  // Records that the request has arrived. False: the request must not continue, because it could
  // not be recorded.
  Task<bool> received(net::Loop& loop);

  void refused_to_impersonate(std::string_view user, std::string_view mode, std::string_view why);
  void impersonated(const authz::User& user, std::string_view constraint,
                    const authz::Explanation& granted);
  void authorized(const authz::Chain::Verdict& verdict);
  // The same for a decision that replaces an earlier one.
  void authorized_again(const authz::Chain::Verdict& verdict);
  // The content of the request, when it has been read. Patches are recorded as they were sent.
  void sent_object(const json::Value& object, std::size_t bytes);
  void sent_patch(const json::Value& patch, std::size_t bytes);
  // The first value of a key is kept. Some keys are only for events that show the request's
  // object.
  void annotate(std::string_view key, std::string_view value, bool needs_request_level = false);
  // The last value counts: the final decision may differ from the first one.
  void replace(std::string_view key, std::string_view value);

  // The head of an answer that continues: it has begun.
  void begin_stream(http::Response& head);
  // The whole answer. Sent at once, or, where requests wait for their events, when the event is
  // written. `shown` is its body as text.
  void respond(std::shared_ptr<http::Exchange> exchange, http::Response response,
               audit::AnswerBody::Kind kind, http::Body shown);
  // Whether the event has the content of the request in it, so that it must be read as an object.
  bool shows_requests() const { return treatment_.level >= audit::Level::kRequest; }
  // Whether the event has the whole answer in it, so that it must be had as text.
  bool shows_answers() const { return treatment_.level >= audit::Level::kRequestResponse; }

 private:
  void decide(const authz::User* user, const authz::RequestInfo& info);
  bool records(audit::Stage stage) const {
    return treatment_.level != audit::Level::kNone && !treatment_.omitted.has(stage);
  }
  audit::EventPtr event(audit::Stage stage, bool is_last = false);  // nothing is told after the
                                                                    // last one
  void record(audit::Stage stage);

  const audit::Auditor& auditor_;
  const Clock& clock_;
  std::shared_ptr<audit::Arrival> arrival_;  // not changed any more once it is in an event
  audit::Treatment treatment_;
  bool is_long_ = false;     // a request whose answer has no time limit
  bool is_refused_ = false;  // its credentials were
  bool is_streaming_ = false;
  audit::Event draft_;  // everything but stage and time
};

// The authentication of a client as annotations; the token is never among them.
std::vector<std::pair<std::string, std::string>> annotations_of(const authn::Identity& identity);

// The source addresses of a request: those that proxies name, and the address of the
// connection, which a client cannot forge.
std::vector<std::string> source_addresses(const http::Request& request);

}  // namespace cardea::rest

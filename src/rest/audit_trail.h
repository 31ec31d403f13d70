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

// What one request leaves in the audit log: collects what is learned of it on its way, and makes
// its events.
//
// There is none where nothing is audited. Otherwise one for each request, told of each station in
// order, on the request's loop. A watch keeps it until its end, which is then recorded; whoever
// answers in one piece calls `respond`.
class AuditTrail {
 public:
  // `auditor` and `clock` outlive it. Takes the Audit-Id that the client chose if it is short and
  // plain, else a new one.
  AuditTrail(const audit::Auditor& auditor, const Clock& clock, Random& random,
             const http::Request& request, const authz::RequestInfo& info);
  ~AuditTrail();
  AuditTrail(const AuditTrail&) = delete;
  AuditTrail& operator=(const AuditTrail&) = delete;

  // Who asks. The policy decides now how much is recorded.
  void authenticated(const authn::Identity& identity, const authz::RequestInfo& info);
  // The credentials were refused; `why` is for the audit event alone.
  void unauthenticated(std::string_view why, const authz::RequestInfo& info);
  // Records that the request is there. False: it must not go on, since it could not be recorded.
  Task<bool> received(net::Loop& loop);

  void impersonated(const authz::User& user, std::string_view constraint);
  void authorized(const authz::Chain::Verdict& verdict);
  // What was sent, once it is read. Patches are as they were sent.
  void sent_object(const json::Value& object, std::size_t bytes);
  void sent_patch(const json::Value& patch, std::size_t bytes);
  // The first to use a key keeps it. Some are for events that show the request's object.
  void annotate(std::string_view key, std::string_view value, bool needs_request_level = false);
  // The last to replace counts: what was decided at first may have come out otherwise.
  void replace(std::string_view key, std::string_view value);

  // The head of an answer that goes on: it has begun.
  void begin_stream(http::Response& head);
  // The whole answer. Sent at once, or when its event is written where requests wait for that.
  void respond(std::shared_ptr<http::Exchange> exchange, http::Response response,
               audit::AnswerBody::Kind kind);

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
  bool is_long_ = false;     // a request whose answer may take as long as it likes
  bool is_refused_ = false;  // its credentials were
  bool is_streaming_ = false;
  audit::Event draft_;  // everything but stage and time
};

// Who vouched for a client and how, as annotations; the token is never among them.
std::vector<std::pair<std::string, std::string>> annotations_of(const authn::Identity& identity);

// The addresses a request came from: those that proxies name, and the one of the connection, which
// nobody can make up.
std::vector<std::string> source_addresses(const http::Request& request);

}  // namespace cardea::rest

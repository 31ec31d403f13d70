#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admission/plugin.h"
#include "authn/authenticator.h"
#include "authz/current_chain.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/trace.h"
#include "catalog/catalog.h"
#include "http/exchange.h"
#include "rest/fairness/seat.h"
#include "rest/metrics.h"
#include "rest/present/negotiation.h"
#include "rest/write/allocator.h"
#include "rest/write/commit.h"
#include "rest/write/settlement.h"
#include "store/store.h"

namespace cardea::authn {
class ServiceAccountTokens;
}
namespace cardea::catalog {
class Conversions;        // catalog/conversion.h
class WebhookConversion;  // the same
}  // namespace cardea::catalog

namespace cardea::rest::fairness {
class Gate;  // rest/fairness/gate.h
}
namespace cardea::rest::pipeline {
struct Sent;  // rest/pipeline/sent.h
}

namespace cardea::rest {

class AuditTrail;
class CatalogHolder;
class Canonicalizer;
class Aggregator;     // rest/aggregation/aggregator.h
class ConditionSeal;  // rest/reviews/condition_seal.h
struct Backends;      // rest/streams/backends.h
namespace bridge {
class Bridge;  // rest/bridge/bridge.h
}
class Backups;            // rest/backups.h
class HeavyLanes;         // rest/heavy_lanes.h
class DecisionHistory;    // rest/decision_history.h
class MemoryBudget;       // rest/memory_budget.h
class UnreadableRecords;  // rest/unreadable_records.h
class OpenStreams;        // rest/streams/open_streams.h
class Reconsiders;        // the same
class FieldPermissions;   // rest/write/field_permissions.h
class WriteGuard;

// The shared parts of all verbs, built once by the program.
struct Services {
  const store::Store& store;
  store::Store* shared = nullptr;  // the same, where other servers use it too; else null
  Commits commits;                 // the only way to write, and it takes a proof
  CatalogHolder& catalog;
  const admission::Chain& admission;
  const authz::CurrentChain& authorizer;
  const Clock& clock;
  Random& random;
  Metrics& metrics;
  std::vector<Allocator*> allocators;
  std::vector<const WriteGuard*> guards;
  const catalog::WebhookConversion* conversion = nullptr;  // between versions of custom resources
  const Canonicalizer* canonicalizer = nullptr;  // null: every kind is written as its schema says
  bool allow_privileged = false;
  std::chrono::milliseconds staleness{1'000};  // of a shared store, at which nothing is allowed
  std::uint32_t min_request_timeout = 1800;    // seconds: a watch without a timeout ends after this
                                               // to twice this; 0: it does not end
  bool conditional_authorization = false;      // whether requests may be allowed under conditions
  bool constrained_impersonation = true;       // whether impersonation has modes
  const FieldPermissions* field_permissions = nullptr;  // null: the verb of a request decides about
                                                        // all fields
  const ConditionSeal& condition_seal;                  // of conditions that leave the server
  const std::string& server_id;                         // names this server to those that it asks
  const Backends* backends = nullptr;                   // null: the server connects to no kubelets
  const bridge::Bridge* bridge = nullptr;               // null: no cluster gets bridged answers
  OpenStreams* open_streams = nullptr;                  // null: streams are not asked about again
  const Aggregator* aggregator = nullptr;               // null: no request is handed on
  std::shared_ptr<MemoryBudget> bodies = {};   // of requests that are being read; null: no bounds
  std::shared_ptr<MemoryBudget> answers = {};  // that clients have not taken yet; the same
  const UnreadableRecords* unreadable = nullptr;  // null: all can be read
  Backups* backups = nullptr;            // null: the store cannot be backed up through this server
  DecisionHistory* decisions = nullptr;  // null: none are kept
  HeavyLanes* heavy_lanes = nullptr;  // null: all requests are served on the loops of connections
  fairness::Gate* gate = nullptr;     // null: no request has to wait
  const authn::AuthenticatorChain* authenticators = nullptr;            // asked by token reviews
  const authn::ServiceAccountTokens* service_account_tokens = nullptr;  // null: none are issued
};

// The time a request counts as. Most requests never need it as text.
class StartTime {
 public:
  explicit StartTime(std::chrono::system_clock::time_point at) : at_(at) {}
  const std::string& text() const {  // RFC 3339
    if (text_.empty()) text_ = rfc3339(at_);
    return text_;
  }

 private:
  std::chrono::system_clock::time_point at_;
  mutable std::string text_;
};

// One request after authentication and authorization: the request, the user, and the proof of
// permission. Lives until the answer is given.
struct Call {
  std::shared_ptr<http::Exchange> exchange;
  Services& services;
  authz::RequestInfo info;
  authz::User user;
  std::shared_ptr<const authz::Chain> chain;        // that permitted it, and settles its conditions
  std::shared_ptr<const catalog::Catalog> catalog;  // keeps `resource` alive
  const catalog::Resource* resource;
  const catalog::Subresource* subresource = nullptr;
  View view;
  StartTime started;
  std::vector<std::string> warnings;
  mutable json::Value shown_user = {};
  admission::AuditAnnotations audit_annotations = {};  // what admission adds to the audit event
  std::shared_ptr<AuditTrail> trail = {};              // null: the request is not audited
  std::shared_ptr<Trace> trace = {};                   // null: the request is not traced
  // What a webhook has made of the objects of this request, for functions that do not wait; null
  // until one asks.
  mutable std::shared_ptr<catalog::Conversions> conversions = {};
  bool is_own = false;  // the server itself asks
  // Of a shared store: the policy that the decision was made from, and when that was all there is.
  store::Revision policy_revision = 0;
  std::chrono::steady_clock::time_point policy_as_of = {};
  bool has_policy_moved = false;  // it has changed meanwhile: the decision is not good any more
  bool has_stored = false;        // something of this request is stored already
  // Where the answer may go on for long, or the policy may change before what is written is stored:
  // the question, and the part that can ask it again.
  std::shared_ptr<const pipeline::Sent> sent = {};
  const Reconsiders* reconsiders = nullptr;
  fairness::Seat seat = {};  // held until the answer is given, or a watch has begun
  Settlement open;           // what authorization left to be decided by what the request writes

  // The user as objects and reviews show one; made when first asked for.
  const json::Value& user_info() const;

  http::Request& request() { return exchange->request(); }
};

// The result of a verb. The gateway turns it into bytes in the form the client wants.
struct Answer {
  int status = 200;
  json::Value document;      // an object, a list or a Status
  http::Body body;           // or bytes that are ready to send
  bool is_raw = false;       // whether `body` counts
  std::string content_type;  // of a raw body; JSON when empty
  bool transforms = true;    // whether tables and partial metadata apply to `document`
  bool is_list = false;
  std::vector<std::pair<std::string, std::string>> headers;
  bool is_streaming = false;  // the verb answers through the exchange itself

  static Answer of(json::Value document, int status = 200) {
    Answer a;
    a.status = status;
    a.document = std::move(document);
    return a;
  }
};

// Continues the coroutine on that loop, because the awaited part may have answered on another
// thread.
inline auto continue_on(net::Loop& loop) {
  return await_callback<bool>([&loop](auto done) { loop.post([done]() mutable { done(true); }); });
}

// Tells the audit log that an answer without a known end begins, and gives it the id of its event.
void begin_stream(Call& call, http::Response& head);

// The same for the loop of the request's connection, where it is not there already.
Task<bool> back_on_loop(Call& call);

}  // namespace cardea::rest

#pragma once
#include <chrono>
#include <memory>

#include "authn/authenticator.h"
#include "http/exchange.h"
#include "impersonation/impersonation.h"
#include "rest/call.h"
#include "rest/heavy_lanes.h"
#include "rest/pipeline/pipeline.h"
#include "rest/pipeline/witness.h"
#include "rest/present/self_description.h"
#include "rest/streams/open_streams.h"
#include "rest/watch/watch_hub.h"

namespace cardea::rest {

struct Remote;  // rest/aggregation/aggregator.h

// The entry of all requests: runs the stations of rest/pipeline, then calls a verb or the
// server's self-description. Sends the answer in the form the client wants.
class Gateway : public http::Handler, public Reconsiders {
 public:
  Gateway(Services& services, const authn::AuthenticatorChain& authenticators,
          SelfDescription& description, WatchHubs& watches)
      : services_(services),
        authenticators_(authenticators),
        description_(description),
        watches_(watches) {}

  void handle(std::shared_ptr<http::Exchange> exchange) override;
  // False: the request will be refused whatever its body is. The result of the stations is kept,
  // and they do not run twice.
  bool wants_body(const std::shared_ptr<http::Exchange>& exchange) const override;
  // The stations once more, for a stream that they let pass before.
  Task<Standing> reconsider(net::Loop& loop, const StreamQuestion& question) const override;
  // For the server's own parts: the user is already known.
  void handle_as(std::shared_ptr<http::Exchange> exchange, authz::User user);
  // The receivers of reports about requests: see pipeline::Watchers. They must outlive the gateway.
  // Call it before the first request.
  void set_log(const Log* log) { watchers_.log = log; }
  // Decides about impersonation, by constrained modes unless set otherwise. Before the first
  // request.
  void set_impersonator(std::unique_ptr<const impersonation::Impersonator> impersonator) {
    impersonator_ = std::move(impersonator);
  }
  // How long a request of a client may take, unless it is a watch or another one without an end;
  // 0: for ever. Before the first request.
  void set_request_timeout(std::chrono::milliseconds timeout) { request_timeout_ = timeout; }
  // The audit log. It must outlive this object; set it before the first request.
  void set_audit(const audit::Auditor* auditor) { watchers_.auditor = auditor; }
  // The same for traces.
  void set_traces(TraceSink* traces) { watchers_.traces = traces; }

 private:
  Task<bool> serve(std::shared_ptr<http::Exchange> exchange, std::optional<authz::User> known);
  pipeline::Stations stations() const;
  // The exits: a path that describes the server, a call of a verb, or another server.
  std::shared_ptr<const Remote> remote_of(const authz::RequestInfo& info, bool is_own) const;
  Result<Answer> describe(http::Request& request, const authz::RequestInfo& info);
  Call make_call(std::shared_ptr<http::Exchange> exchange, pipeline::Journey& journey,
                 const Frame& frame, std::shared_ptr<AuditTrail> trail) const;
  Task<Result<Answer>> serve_call(Call& call);
  Task<Result<Answer>> serve_resource(Call& call);

  struct Redecision;
  Task<bool> travel_again(Call& before, Redecision& again, pipeline::Witness& witness);

  struct Deadline;
  net::Loop* lane_for(const Call& call) const;
  net::Loop* lane_for(const authz::RequestInfo& info) const;
  Task<bool> move_to(net::Loop* lane, http::Exchange& exchange,
                     std::optional<HeavyLanes::Stay>& stay, std::optional<Deadline>& deadline,
                     pipeline::Witness& witness, const pipeline::Journey& journey);

  Services& services_;
  const authn::AuthenticatorChain& authenticators_;
  SelfDescription& description_;
  WatchHubs& watches_;
  std::unique_ptr<const impersonation::Impersonator>
      impersonator_ = std::make_unique<impersonation::Impersonator>();
  pipeline::Watchers watchers_;
  std::chrono::milliseconds request_timeout_{0};
};

}  // namespace cardea::rest

#pragma once
#include <chrono>
#include <memory>

#include "authn/authenticator.h"
#include "http/exchange.h"
#include "impersonation/impersonation.h"
#include "rest/call.h"
#include "rest/pipeline/pipeline.h"
#include "rest/pipeline/witness.h"
#include "rest/present/self_description.h"
#include "rest/watch/watch_hub.h"

namespace cardea::rest {

// The entry of all requests: runs the stations of rest/pipeline, then calls a verb or the
// server's self-description. Sends the answer in the form the client wants.
class Gateway : public http::Handler {
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

 private:
  Task<bool> serve(std::shared_ptr<http::Exchange> exchange, std::optional<authz::User> known);
  pipeline::Stations stations() const;
  // The exits: a path that describes the server, or a call of a verb.
  Result<Answer> describe(http::Request& request, const authz::RequestInfo& info);
  Call make_call(std::shared_ptr<http::Exchange> exchange, pipeline::Journey& journey,
                 const pipeline::Witness& witness);
  Task<Result<Answer>> serve_call(Call& call);
  Task<Result<Answer>> serve_resource(Call& call);

  struct Deadline;

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

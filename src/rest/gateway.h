#pragma once
#include <functional>
#include <memory>

#include "authn/authenticator.h"
#include "http/exchange.h"
#include "impersonation/impersonation.h"
#include "rest/call.h"
#include "rest/self_description.h"
#include "rest/watch_hub.h"

namespace cardea::audit {
class Auditor;
}

namespace cardea::rest {

// The door: takes each request through what Kubernetes calls the handler chain. What is asked, who asks,
// whether they may, which resource and verb, and the answer in the form the client wants.
class Gateway : public http::Handler {
 public:
  Gateway(Services& services, const authn::AuthenticatorChain& authenticators, SelfDescription& description,
          WatchHubs& watches)
      : services_(services), authenticators_(authenticators), description_(description), watches_(watches) {}

  void handle(std::shared_ptr<http::Exchange> exchange) override;
  // False: the request will be refused whatever it says.
  bool wants_body(http::Request& request) const override;
  // For the server's own parts: who asks is known already.
  void handle_as(std::shared_ptr<http::Exchange> exchange, authz::User user);
  // One line per request: what was asked, the answer's status, who asked and how they were recognised. Before the first
  // request; called on loop threads.
  void set_log(std::function<void(const std::string&)> log) { log_ = std::move(log); }
  // Decides who may be served as somebody else; by constrained modes unless told otherwise. Before the first request.
  void set_impersonator(std::unique_ptr<const impersonation::Impersonator> impersonator) { impersonator_ = std::move(impersonator); }
  // What is recorded of requests, and where. It outlives this; before the first request.
  void set_audit(const audit::Auditor* auditor) { auditor_ = auditor; }
  // One line per request whose credentials were refused: why. The client is never told.
  void set_refusal_log(std::function<void(const std::string&)> log) { refusal_log_ = std::move(log); }

 private:
  Task<bool> serve(std::shared_ptr<http::Exchange> exchange, std::optional<authz::User> known);
  // Puts the user that the headers ask for, if they do, into the place of the one who sends the request, and tells about
  // the latter in `deputy`.
  Task<Result<void>> impersonate(http::Exchange& exchange, const authz::RequestInfo& info, authz::User& user, std::optional<impersonation::Deputy>& deputy) const;
  // `why` gets what the client is not told, when somebody wants to know.
  Task<Result<authn::Identity>> authenticate(http::Exchange& exchange, std::string* why) const;
  Task<Result<Answer>> serve_resource(Call& call);

  Services& services_;
  const authn::AuthenticatorChain& authenticators_;
  SelfDescription& description_;
  WatchHubs& watches_;
  std::unique_ptr<const impersonation::Impersonator> impersonator_ = std::make_unique<impersonation::Impersonator>();
  std::function<void(const std::string&)> log_, refusal_log_;
  const audit::Auditor* auditor_ = nullptr;  // null: nothing is
};

}  // namespace cardea::rest

#include "rest/pipeline/acting.h"

#include "impersonation/headers.h"

namespace cardea::rest::pipeline {

Task<Result<Acting>> act(const Services& services, const impersonation::Impersonator& impersonator,
                         http::Exchange& exchange, const authz::RequestInfo& info,
                         authz::User& sender, std::optional<RefusedImpersonation>& refused) {
  http::Headers& headers = exchange.request().headers;
  const bool is_constrained = impersonator.rules() == impersonation::Attempt::Rules::kConstrained;
  Result<std::optional<authz::User>> wanted = impersonation::requested_user(headers,
                                                                            is_constrained);
  if (!wanted) co_return fail(wanted.error());
  if (!*wanted) co_return Acting{std::move(sender)};
  impersonation::remove_headers(headers);
  impersonation::Attempt attempt(sender, std::move(**wanted), info, impersonator.rules());
  std::shared_ptr<const authz::Chain> chain = services.authorizer.get();
  authz::Asking how = services.conditional_authorization ? authz::Asking::kConditionsAware
                                                         : authz::Asking::kFolded;
  if (!impersonator.advance(*chain, attempt, how)) {
    bool finished = co_await impersonator.finish(chain, attempt, how);
    (void)finished;
    bool back = co_await continue_on(exchange.loop());
    (void)back;
  }
  if (!attempt.is_allowed()) refused = {attempt.asked().name, attempt.refused_mode()};
  Result<authz::User> other = impersonator.outcome(attempt);
  if (!other) co_return fail(other.error());
  co_return Acting{std::move(*other), impersonation::Deputy{.sender = std::move(sender),
                                                            .mode = attempt.mode(),
                                                            .granted = attempt.granted()}};
}

}  // namespace cardea::rest::pipeline

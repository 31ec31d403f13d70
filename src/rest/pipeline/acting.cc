#include "rest/pipeline/acting.h"

#include "authz/eligibility.h"
#include "impersonation/headers.h"
#include "rest/aggregation/aggregator.h"
#include "rest/catalog_holder.h"

namespace cardea::rest::pipeline {
namespace {

// Whether this server will see the one object that the request writes, or the options of a
// connection. It does not for reads, for collections, for questions that are answered and not
// stored, and for requests that it hands on: the other server would not know the sender.
bool sees_object(const Services& services, const authz::RequestInfo& info,
                 const authz::User& sender) {
  if (!services.conditional_authorization || info.verb == "deletecollection" ||
      !authz::may_be_conditional(authz::Attributes{sender, info}))
    return false;
  if (services.aggregator && services.aggregator->find(info)) return false;
  const std::shared_ptr<const catalog::Catalog> catalog = services.catalog.get();
  const catalog::Resource* resource = catalog->find(info.api_group, info.api_version,
                                                    info.resource);
  return resource && !resource->storage_prefix.empty();
}

}  // namespace

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
  attempt.may_stay_open(sees_object(services, info, sender));
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
  auto open = impersonation::open_impersonation(attempt, std::move(chain));
  Result<authz::User> other = impersonator.outcome(attempt);
  if (!other) co_return fail(other.error());
  impersonation::Deputy deputy{.mode = attempt.mode(), .granted = attempt.granted()};
  deputy.sender = std::move(sender);
  co_return Acting{std::move(*other), std::move(deputy), std::move(open)};
}

}  // namespace cardea::rest::pipeline

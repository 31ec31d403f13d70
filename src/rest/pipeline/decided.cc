#include "rest/pipeline/decided.h"

#include "authz/traced_question.h"
#include "rest/aggregation/aggregator.h"
#include "rest/catalog_holder.h"
#include "rest/write/field_permissions.h"
#include "rest/write/write.h"

namespace cardea::rest::pipeline {
namespace {

Task<authz::Chain::Verdict> ask_chain(const authz::Chain& chain, http::Exchange& exchange,
                                      authz::Attributes attributes, authz::Asking how,
                                      Trace* trace) {
  authz::TracedQuestion::give(trace);
  authz::Chain::Verdict waited = co_await chain.authorize(attributes, how);
  bool back = co_await continue_on(exchange.loop());
  (void)back;
  co_return waited;
}

// Whether a caller without the verb of the request may still try to change single fields.
bool leaves_fields(const Services& services, const authz::RequestInfo& info,
                   const authz::Decision& refusal) {
  if (!services.field_permissions || refusal.kind != authz::Decision::Kind::kNoOpinion ||
      !refusal.error.empty())
    return false;
  return may_be_granular(*services.catalog.get(), info);
}

// The other server that will serve it, if there is one. It settles no fields, and conditions only
// if it says that it asks back.
std::shared_ptr<const Remote> remote_of(const Services& services, const authz::RequestInfo& info) {
  return services.aggregator ? services.aggregator->find(info) : nullptr;
}

}  // namespace

Task<Decided> decide(const Services& services, http::Exchange& exchange,
                     const authz::RequestInfo& info, const authz::User& user, Trace* trace) {
  Stopwatch watch;
  TraceSpan span(trace, "authorization");
  Decided out;
  if (services.shared) {
    // Before the policy itself is looked at, which may be newer than this says, and not older.
    out.policy_as_of = services.shared->fresh_as_of();
    out.policy_revision = services.shared->marked_revision();
  }
  out.chain = services.authorizer.get();
  authz::Attributes attributes{user, info};
  const std::shared_ptr<const Remote> remote = remote_of(services, info);
  const bool is_handed_on = remote != nullptr;
  authz::Asking how = is_handed_on && !remote->service.asks_back ? authz::Asking::kFolded
                                                                 : asking(services, attributes);
  authz::TracedQuestion::give(trace);
  std::optional<authz::Chain::Verdict> verdict = out.chain->decide(attributes, how);
  if (!verdict) {
    authz::Chain::Verdict waited = co_await ask_chain(*out.chain, exchange, attributes, how, trace);
    verdict = std::move(waited);
  }
  if (!verdict->permit && !is_handed_on && leaves_fields(services, info, verdict->decision)) {
    authz::Attributes fields = attributes;
    fields.verb = schema::kGranularVerb;
    authz::TracedQuestion::give(trace);
    std::optional<authz::Chain::Verdict> granular = out.chain->decide(fields);
    if (!granular) {
      authz::Chain::Verdict waited = co_await ask_chain(*out.chain, exchange, fields,
                                                        authz::Asking::kFolded, trace);
      granular = std::move(waited);
    }
    out.is_granular = granular->decision.allowed();
    if (out.is_granular) verdict = std::move(*granular);
  }
  out.verdict = std::move(*verdict);
  out.took = watch.elapsed();
  co_return out;
}

}  // namespace cardea::rest::pipeline

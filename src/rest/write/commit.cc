#include "rest/write/commit.h"

#include "rest/call.h"
#include "rest/freshness.h"
#include "rest/metrics.h"

namespace cardea::rest {

Task<Result<store::Commit>> commit(Call& call, Settled proof, store::Txn txn) {
  net::Loop& loop = call.exchange->loop();
  // What was decided from an older policy is not stored.
  const bool is_shared = call.services.shared && !call.is_own;
  if (is_shared) txn.compares.push_back({std::string(store::kMarkKey), call.policy_revision});
  Result<store::Commit> written = co_await await_callback<Result<store::Commit>>(
      [&](auto done) mutable {
        call.services.commits.commit(
            proof, std::move(txn), [&loop, done](Result<store::Commit> result) mutable {
              loop.post([done, result = std::move(result)]() mutable { done(std::move(result)); });
            });
      });
  if (is_shared && written && !written->succeeded && !written->records.empty()) {
    const store::RecordPtr& mark = written->records.back();
    call.has_policy_moved = (mark ? mark->mod_revision : 0) != call.policy_revision;
    if (call.has_policy_moved) co_return fail(policy_moved());
    written->records.pop_back();
  }
  if (written && written->succeeded) call.has_stored = true;
  if (!written && written.error().reason == Reason::kServiceUnavailable)
    call.services.metrics.registry()
        .counter({"cardea_store_refused_writes_total",
                  "Writes that the store did not take, for example because the disk is full."})
        .add();
  co_return written;
}

}  // namespace cardea::rest

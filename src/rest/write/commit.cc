#include "rest/write/commit.h"

#include "rest/call.h"

namespace cardea::rest {

Task<Result<store::Commit>> commit(Call& call, Settled proof, store::Txn txn) {
  net::Loop& loop = call.exchange->loop();
  Result<store::Commit> written = co_await await_callback<Result<store::Commit>>(
      [&](auto done) mutable {
        call.services.commits.commit(
            proof, std::move(txn), [&loop, done](Result<store::Commit> result) mutable {
              loop.post([done, result = std::move(result)]() mutable { done(std::move(result)); });
            });
      });
  co_return written;
}

}  // namespace cardea::rest

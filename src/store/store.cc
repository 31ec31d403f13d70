#include "store/store.h"

#include <future>

#include "base/strings.h"

namespace cardea::store {

KeyRange keys_with_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {std::string(prefix), std::move(end)};
}

Error revision_too_large(Revision asked, Revision now) {
  ErrorDetails details;
  details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  details.retry_after_seconds = 1;
  return Error::of(Reason::kTimeout, cat("Too large resource version: ", asked, ", current: ", now))
      .with(std::move(details));
}

void Store::reach(Revision revision, Refreshed done) {
  const Revision now = current_revision();
  if (revision > now) return done(fail(revision_too_large(revision, now)));
  done({});
}

Result<Commit> commit_sync(Store& store, Txn txn) {
  std::promise<Result<Commit>> promise;
  auto future = promise.get_future();
  store.commit(std::move(txn),
               [&promise](Result<Commit> answer) { promise.set_value(std::move(answer)); });
  return future.get();
}

Result<void> compact_sync(Store& store, Revision revision) {
  std::promise<Result<void>> promise;
  auto future = promise.get_future();
  store.compact(revision,
                [&promise](Result<void> answer) { promise.set_value(std::move(answer)); });
  return future.get();
}

Result<void> refresh_sync(Store& store) {
  std::promise<Result<void>> promise;
  auto future = promise.get_future();
  store.refresh([&promise](Result<void> answer) { promise.set_value(std::move(answer)); });
  return future.get();
}

}  // namespace cardea::store

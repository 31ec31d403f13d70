#include "store/store.h"

#include <future>

namespace cardea::store {

KeyRange keys_with_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {std::string(prefix), std::move(end)};
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

}  // namespace cardea::store

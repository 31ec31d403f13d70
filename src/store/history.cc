#include "store/history.h"

#include <unordered_set>

#include "base/strings.h"

namespace cardea::store {

std::int64_t unix_seconds(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::seconds>(clock.now().time_since_epoch()).count();
}

Result<void> check(const Txn& txn) {
  std::unordered_set<std::string_view> keys;
  for (const Op& op : txn.ops) {
    std::string_view key = std::visit([](const auto& o) -> std::string_view { return o.key; }, op);
    if (key.empty())
      return fail(bad_request("a transaction needs a key for each of its operations"));
    if (txn.ops.size() > 1 && !keys.insert(key).second)
      return fail(bad_request(cat("a transaction may change `", key, "` only once")));
    if (const Put* put = std::get_if<Put>(&op); put && put->value.size() >= (1u << 30))
      return fail(
          Error::of(Reason::kRequestEntityTooLarge, cat("the value of `", key, "` is too large")));
  }
  return {};
}

}  // namespace cardea::store

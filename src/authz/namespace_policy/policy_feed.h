#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "authz/namespace_policy/index.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "store/store.h"

namespace cardea::authz::namespace_policy {

// Keeps the index in step with the store: every write of a container makes the next Index before
// the write is acknowledged, so that whoever wrote sees the effect with the next request.
//
// `index()` may be asked from any thread and takes no lock. The store outlives it.
class PolicyFeed {
 public:
  // Reads everything that is stored: there is no index that knows less.
  static Result<std::unique_ptr<PolicyFeed>> load(
      store::Store& store, std::string master = std::string(kDefaultMaster),
      std::shared_ptr<const ResourceGroups> groups = nullptr);
  ~PolicyFeed();
  PolicyFeed(const PolicyFeed&) = delete;
  PolicyFeed& operator=(const PolicyFeed&) = delete;

  // Good until this thread asks again; copy it to keep it.
  const std::shared_ptr<const Index>& index() const { return index_.get(); }
  const Snapshot<Index>& snapshot() const { return index_; }

 private:
  explicit PolicyFeed(Index first) : next_(std::move(first)) {}
  void take(std::span<const store::EventPtr> events);

  std::mutex mutex_;  // among the sinks; `next_` belongs to whoever holds it
  Index next_;
  Snapshot<Index> index_{std::make_shared<const Index>()};
  std::vector<std::unique_ptr<store::Watch>> watches_;
};

}  // namespace cardea::authz::namespace_policy

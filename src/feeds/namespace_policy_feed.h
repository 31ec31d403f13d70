#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "authz/namespace_policy/index.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "store/store.h"

namespace cardea::feeds {

namespace documents = authz::namespace_policy;

// Keeps the index in step with the store: every write of a container makes the next
// documents::Index before the write is acknowledged, so that whoever wrote sees the effect with the
// next request.
//
// `index()` may be asked from any thread and takes no lock. The store outlives it.
class NamespacePolicyFeed {
 public:
  // Reads everything that is stored: there is no index that knows less.
  static Result<std::unique_ptr<NamespacePolicyFeed>> load(
      store::Store& store, std::string master = std::string(documents::kDefaultMaster),
      std::shared_ptr<const documents::ResourceGroups> groups = nullptr);
  ~NamespacePolicyFeed();
  NamespacePolicyFeed(const NamespacePolicyFeed&) = delete;
  NamespacePolicyFeed& operator=(const NamespacePolicyFeed&) = delete;

  // Good until this thread asks again; copy it to keep it.
  const std::shared_ptr<const documents::Index>& index() const { return index_.get(); }
  const Snapshot<documents::Index>& snapshot() const { return index_; }

 private:
  explicit NamespacePolicyFeed(documents::Index first) : next_(std::move(first)) {}
  void take(std::span<const store::EventPtr> events);

  std::mutex mutex_;  // among the sinks; `next_` belongs to whoever holds it
  documents::Index next_;
  Snapshot<documents::Index> index_{std::make_shared<const documents::Index>()};
  std::vector<std::unique_ptr<store::Watch>> watches_;
};

}  // namespace cardea::feeds

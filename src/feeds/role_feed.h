#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "authz/rbac/role_table.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "store/store.h"

namespace cardea::feeds {

using authz::rbac::RoleTable;

// Keeps the policy in step with the store: every write of a role or binding makes the next
// RoleTable before the write is acknowledged, so that whoever wrote sees the effect with the next
// request.
//
// `policy()` may be asked from any thread and takes no lock. The store outlives the index.
class RoleFeed {
 public:
  // Reads everything that is stored: there is no index that knows less.
  static Result<std::unique_ptr<RoleFeed>> load(store::Store& store);
  ~RoleFeed();
  RoleFeed(const RoleFeed&) = delete;
  RoleFeed& operator=(const RoleFeed&) = delete;

  // Good until this thread asks again; copy it to keep it.
  const std::shared_ptr<const RoleTable>& policy() const { return policy_.get(); }
  const Snapshot<RoleTable>& snapshot() const { return policy_; }

 private:
  RoleFeed() = default;
  void take(std::span<const store::EventPtr> events);

  std::mutex mutex_;  // among the sinks; `next_` belongs to whoever holds it
  RoleTable next_;
  Snapshot<RoleTable> policy_{std::make_shared<const RoleTable>()};
  std::vector<std::unique_ptr<store::Watch>> watches_;
};

}  // namespace cardea::feeds

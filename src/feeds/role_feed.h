#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authz/rbac/role_table.h"
#include "base/snapshot.h"
#include "store/follow.h"

namespace cardea::feeds {

// Roles and bindings, as a RoleTable. What cannot be read grants nothing.
class RoleFold {
 public:
  std::vector<std::string> prefixes() const;
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish() { roles_.set(std::make_shared<const authz::rbac::RoleTable>(next_)); }
  const Snapshot<authz::rbac::RoleTable>& snapshot() const { return roles_; }

 private:
  authz::rbac::RoleTable next_;
  Snapshot<authz::rbac::RoleTable> roles_{std::make_shared<const authz::rbac::RoleTable>()};
};

using RoleFeed = store::Follower<RoleFold>;

}  // namespace cardea::feeds

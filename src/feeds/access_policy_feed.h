#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authz/access/index.h"
#include "base/snapshot.h"
#include "store/follow.h"

namespace cardea::feeds {

// Access policies, as an index. A policy that cannot be read denies everybody where it was in
// force: it may have been a denial, and nobody knows of whom. Members of system:masters, whom no
// policy stops, can mend it.
class AccessPolicyFold {
 public:
  std::vector<std::string> prefixes() const;
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish() { policies_.set(std::make_shared<const authz::access::Index>(next_)); }
  const Snapshot<authz::access::Index>& snapshot() const { return policies_; }

 private:
  authz::access::Index next_;
  std::map<std::string, authz::access::PolicyPtr, std::less<>> by_key_;
  Snapshot<authz::access::Index> policies_{std::make_shared<const authz::access::Index>()};
};

using AccessPolicyFeed = store::Follower<AccessPolicyFold>;

}  // namespace cardea::feeds

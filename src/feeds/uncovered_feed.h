#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authz/fields/uncovered.h"
#include "base/snapshot.h"
#include "json/value.h"
#include "store/follow.h"

namespace cardea::feeds {

// UncoveredPermissionSets, as what they exclude together. One that cannot be read stays as it was
// last understood: a damaged record must not open what was shut. If it never was understood,
// because the server has started since, the snapshot names it: it may exclude anything.
class UncoveredFold {
 public:
  std::vector<std::string> prefixes() const;
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish();
  const Snapshot<authz::fields::Uncovered>& snapshot() const { return uncovered_; }

 private:
  std::map<std::string, json::Value, std::less<>> sets_;  // their specs, by key; null: never read
  Snapshot<authz::fields::Uncovered> uncovered_{std::make_shared<const authz::fields::Uncovered>()};
};

using UncoveredFeed = store::Follower<UncoveredFold>;

}  // namespace cardea::feeds

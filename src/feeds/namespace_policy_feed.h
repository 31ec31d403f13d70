#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authz/namespace_policy/index.h"
#include "base/snapshot.h"
#include "store/follow.h"

namespace cardea::feeds {

// The policy documents of namespaces, as an index. A document that cannot be read does not count as
// absent: it is recorded as a problem, and denies.
class NamespacePolicyFold {
 public:
  using Index = authz::namespace_policy::Index;

  explicit NamespacePolicyFold(
      std::string master = std::string(authz::namespace_policy::kDefaultMaster),
      std::shared_ptr<const authz::namespace_policy::ResourceGroups> groups = nullptr)
      : next_(std::move(master), std::move(groups)) {}

  std::vector<std::string> prefixes() const;
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish() { documents_.set(std::make_shared<const Index>(next_)); }
  const Snapshot<Index>& snapshot() const { return documents_; }

 private:
  Index next_;
  Snapshot<Index> documents_{std::make_shared<const Index>()};
};

using NamespacePolicyFeed = store::Follower<NamespacePolicyFold>;

}  // namespace cardea::feeds

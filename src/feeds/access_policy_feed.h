#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "authz/access/index.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "store/store.h"

namespace cardea::feeds {

// Keeps the index in step with the store: every write of an access policy makes the next Index
// before the write is acknowledged, so that whoever wrote sees the effect with the next request.
//
// `index()` may be asked from any thread and takes no lock. The store outlives it.
class AccessPolicyFeed {
 public:
  // Reads everything that is stored: there is no index that knows less.
  static Result<std::unique_ptr<AccessPolicyFeed>> load(store::Store& store);
  ~AccessPolicyFeed();
  AccessPolicyFeed(const AccessPolicyFeed&) = delete;
  AccessPolicyFeed& operator=(const AccessPolicyFeed&) = delete;

  // Good until this thread asks again; copy it to keep it.
  const std::shared_ptr<const authz::access::Index>& index() const { return index_.get(); }
  const Snapshot<authz::access::Index>& snapshot() const { return index_; }

 private:
  AccessPolicyFeed() = default;
  void put(const store::Record& record);
  void erase(std::string_view key);
  void take(std::span<const store::EventPtr> events);

  std::mutex mutex_;  // among the sinks; what follows belongs to whoever holds it
  authz::access::Index next_;
  std::map<std::string, authz::access::PolicyPtr, std::less<>> by_key_;
  Snapshot<authz::access::Index> index_{std::make_shared<const authz::access::Index>()};
  std::vector<std::unique_ptr<store::Watch>> watches_;
};

inline constexpr std::string_view
    kClusterPrefix = "/registry/access.cardea.dev/clusteraccesspolicies/";
inline constexpr std::string_view kNamespacedPrefix = "/registry/access.cardea.dev/accesspolicies/";

}  // namespace cardea::feeds

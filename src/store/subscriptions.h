#pragma once
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/strings.h"
#include "store/timeline.h"

namespace cardea::store {

// The watches and their prefixes. Subscriptions are found by the prefixes of a changed key, so
// that publishing costs only the matching watches, however many others there are.
//
// `publish` belongs to one thread; everything else may be called from any.
class Subscriptions {
 public:
  explicit Subscriptions(const Timeline& timeline)
      : audience_(std::make_shared<Audience>()), timeline_(timeline) {}

  Result<std::unique_ptr<Watch>> add(std::string prefix, Revision from, Store::Sink sink);

  // Call after the timeline has applied the same events.
  void publish(std::span<const EventPtr> events);

 private:
  class Subscription;
  using Members = std::vector<std::shared_ptr<Subscription>>;

  // Shared with the watches, which may outlive the store.
  struct Audience {
    std::mutex lock;
    std::unordered_map<std::string, Members, StringHash, std::equal_to<>> by_prefix;
    std::map<std::size_t, std::size_t> lengths;  // of the prefixes: how many distinct ones of each

    void add(const std::shared_ptr<Subscription>& subscription);
    void remove(const std::shared_ptr<Subscription>& subscription);
  };
  class Handle;

  std::shared_ptr<Audience> audience_;
  const Timeline& timeline_;
};

}  // namespace cardea::store

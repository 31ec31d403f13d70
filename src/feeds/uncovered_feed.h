#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "authz/fields/uncovered.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "json/value.h"
#include "store/store.h"

namespace cardea::feeds {

using authz::fields::Uncovered;

// Keeps it in step with the store: every write of a set counts before it is acknowledged. `current`
// may be asked from any thread and takes no lock. The store outlives it.
class UncoveredFeed {
 public:
  // Reads everything that is stored.
  static Result<std::unique_ptr<UncoveredFeed>> load(store::Store& store);
  ~UncoveredFeed();
  UncoveredFeed(const UncoveredFeed&) = delete;
  UncoveredFeed& operator=(const UncoveredFeed&) = delete;

  // Good until this thread asks again; copy it to keep it. Never null.
  const std::shared_ptr<const Uncovered>& current() const { return current_.get(); }
  const Snapshot<Uncovered>& snapshot() const { return current_; }

 private:
  UncoveredFeed() = default;
  void take(std::span<const store::EventPtr> events);
  void put(const store::Record& record);
  void publish();

  std::mutex mutex_;  // among the sinks; the sets belong to whoever holds it
  std::map<std::string, json::Value, std::less<>> sets_;  // their specs, by key
  Snapshot<Uncovered> current_{std::make_shared<const Uncovered>()};
  std::unique_ptr<store::Watch> watch_;
};

}  // namespace cardea::feeds

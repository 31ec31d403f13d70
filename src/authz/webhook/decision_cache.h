#pragma once
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "authz/decision.h"
#include "base/clock.h"
#include "base/strings.h"

namespace cardea::authz {

// Recent answers of a webhook, for repeated questions. The least recently used entry is
// replaced. Shared between threads: a lookup also reorders, so there is a lock, held for a few
// pointer changes.
class DecisionCache {
 public:
  explicit DecisionCache(const Clock& clock, std::size_t capacity = 8192)
      : clock_(clock), capacity_(capacity) {}

  // An entry is good until its time has passed.
  std::optional<Decision> find(std::string_view key);
  void add(std::string key, Decision decision, std::chrono::nanoseconds ttl);
  std::size_t size() const;

 private:
  struct Entry {
    std::string key;
    Decision decision;
    std::chrono::system_clock::time_point until;
  };
  using Entries = std::list<Entry>;

  const Clock& clock_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  Entries entries_;  // most recently used first
  std::unordered_map<std::string_view, Entries::iterator> by_key_;
};

}  // namespace cardea::authz

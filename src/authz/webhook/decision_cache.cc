#include "authz/webhook/decision_cache.h"

namespace cardea::authz {

std::optional<Decision> DecisionCache::find(std::string_view key) {
  auto now = clock_.now();
  std::lock_guard lock(mutex_);
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  auto entry = found->second;
  if (now > entry->until) {
    by_key_.erase(found);
    entries_.erase(entry);
    return std::nullopt;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->decision;
}

void DecisionCache::add(std::string key, Decision decision, std::chrono::nanoseconds ttl) {
  auto until = clock_.now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(ttl);
  std::lock_guard lock(mutex_);
  if (auto found = by_key_.find(key); found != by_key_.end()) {
    entries_.erase(found->second);
    by_key_.erase(found);
  }
  entries_.push_front({std::move(key), std::move(decision), until});
  by_key_.emplace(entries_.front().key, entries_.begin());
  if (entries_.size() <= capacity_) return;
  by_key_.erase(entries_.back().key);
  entries_.pop_back();
}

std::size_t DecisionCache::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace cardea::authz

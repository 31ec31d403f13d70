#pragma once
#include <algorithm>
#include <atomic>
#include <concepts>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace cardea::store {

// What a change of one key did to what is folded.
enum class Folded : std::uint8_t {
  kSame,  // nothing: there is nothing new to publish
  kChanged,
  kUnreadable,  // the value means nothing; the fold has done what is safe, and goes on
};

// How a state is made of records, one change after the other. Only its follower calls it, one
// thread at a time. All threads may read what it publishes.
template <typename F>
concept Fold = requires(F fold, std::string_view key, const Record* record) {
  // Which keys it is made of: prefixes, none the beginning of another.
  { std::as_const(fold).prefixes() } -> std::same_as<std::vector<std::string>>;
  // The record of a key before and after; null: there was none, there is none.
  { fold.change(key, record, record) } -> std::same_as<Folded>;
  // Makes the state as it is now the one that is read.
  fold.publish();
};

// Folds ranges of keys into a state and keeps it in step with the store: a write is in the
// published state before it is acknowledged, so that the writer's next request sees the effect.
//
// Any thread may read the published state, and takes no lock of the follower's. The store outlives
// the follower.
template <Fold F>
class Follower {
 public:
  // Reads and folds everything that is stored, publishes it once, and follows from there. A
  // follower always has the whole state. The fold is made with `args`.
  template <typename... Args>
  static Result<std::unique_ptr<Follower>> start(Store& store, Args&&... args) {
    std::unique_ptr<Follower> self(new Follower(std::forward<Args>(args)...));
    for (std::string& prefix : self->fold_.prefixes())
      if (auto ok = self->follow(store, std::move(prefix)); !ok) return fail(ok.error());
    std::lock_guard lock(self->mutex_);
    self->fold_.publish();
    return self;
  }
  ~Follower() { watches_.clear(); }  // before what their sinks use
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // What the fold publishes.
  const auto& snapshot() const { return fold_.snapshot(); }
  // What it shows now. Good until this thread asks again; copy it to keep it.
  const auto& current() const { return fold_.snapshot().get(); }

  // How fresh it is: the newest revision that was folded in. A change of its keys that it does not
  // show yet is not acknowledged yet.
  Revision revision() const { return revision_.load(std::memory_order_acquire); }
  // How many changes could not be read.
  std::uint64_t unreadable() const { return unreadable_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kMostReads = 8;

  template <typename... Args>
  explicit Follower(Args&&... args) : fold_(std::forward<Args>(args)...) {}

  Result<void> follow(Store& store, std::string prefix) {
    std::vector<RecordPtr> known;  // what was read and folded before
    for (int reads = 1;; ++reads) {
      auto range = store.range({.keys = keys_with_prefix(prefix)});
      if (!range) return fail(range.error());
      fold_difference(known, range->records, range->revision);
      auto watch = store.watch(prefix, range->revision,
                               [this](std::span<const EventPtr> events) { take(events); });
      if (watch) {
        watches_.push_back(std::move(*watch));
        return {};
      }
      // A compaction may pass between the read and the watch. What changed meanwhile is the
      // difference to another read.
      if (watch.error().reason != Reason::kExpired || reads == kMostReads)
        return fail(watch.error());
      known = std::move(range->records);
    }
  }

  // Both in the order of keys.
  void fold_difference(std::span<const RecordPtr> before, std::span<const RecordPtr> after,
                       Revision revision) {
    std::lock_guard lock(mutex_);
    auto was = before.begin();
    auto is = after.begin();
    while (was != before.end() || is != after.end()) {
      const bool gone = is == after.end() || (was != before.end() && (*was)->key() < (*is)->key());
      const bool stayed = !gone && was != before.end() && (*was)->key() == (*is)->key();
      const Record* old = gone || stayed ? was->get() : nullptr;
      const Record* now = gone ? nullptr : is->get();
      if (!stayed || old->mod_revision != now->mod_revision) fold(old, now);
      if (old) ++was;
      if (now) ++is;
    }
    advance(revision);
  }

  void take(std::span<const EventPtr> events) {
    std::lock_guard lock(mutex_);
    bool is_changed = false;
    for (const EventPtr& e : events) {
      const bool was_there = e->previous && !e->previous->deleted();
      is_changed |= fold(was_there ? e->previous.get() : nullptr,
                         e->type == EventType::kPut ? e->record.get() : nullptr);
    }
    if (is_changed) fold_.publish();
    advance(events.back()->revision);
  }

  // Whether there is something to publish. One of the two is not null, or the key was made and
  // deleted within one revision.
  bool fold(const Record* before, const Record* after) {
    if (!before && !after) return false;
    Folded outcome = fold_.change((after ? after : before)->key(), before, after);
    if (outcome == Folded::kUnreadable) unreadable_.fetch_add(1, std::memory_order_relaxed);
    return outcome != Folded::kSame;
  }

  void advance(Revision to) {
    revision_.store(std::max(revision_.load(std::memory_order_relaxed), to),
                    std::memory_order_release);
  }

  std::mutex mutex_;  // among the sinks; guards the fold
  F fold_;
  std::atomic<Revision> revision_ = 0;
  std::atomic<std::uint64_t> unreadable_ = 0;
  std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace cardea::store

#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "rest/watch/watch_event.h"
#include "store/store.h"

namespace cardea::rest {

// What a new watcher is told first: objects or changes, then perhaps a bookmark. It is encoded in
// parts, so that neither the loop nor the memory has to carry a large collection at once. Changes
// that happen meanwhile wait here.
class InitialEvents {
 public:
  InitialEvents() = default;
  InitialEvents(std::vector<store::RecordPtr> objects, std::vector<store::EventPtr> changes,
                std::optional<store::Revision> bookmark)
      : objects_(std::move(objects)), changes_(std::move(changes)), bookmark_(bookmark) {}

  // Encodes the next events and hands each to `add`. False: there are none left.
  template <typename Add>
  bool encode_some(WatchView& view, Add add) {
    std::size_t bytes = 0;
    for (std::size_t seen = 0; seen < kMostAtOnce && bytes < kPart; ++seen) {
      if (next_ == objects_.size() + changes_.size()) {
        if (bookmark_) add(bookmark_event(*bookmark_, true, view));
        return false;
      }
      std::string event = next_event(view);
      if (event.empty()) continue;
      bytes += event.size();
      add(std::move(event));
      view.table_headers = false;
    }
    return true;
  }

  // False: too many wait.
  bool wait_for_turn(store::EventPtr change) {
    late_.push_back(std::move(change));
    return late_.size() <= kMostLate;
  }
  // After encode_some has returned false: goes on with the changes that have waited. False: none.
  bool go_on_with_late() {
    *this = InitialEvents({}, std::move(late_), std::nullopt);
    return !changes_.empty();
  }

 private:
  static constexpr std::size_t kPart = 256 * 1024;
  static constexpr std::size_t kMostAtOnce = 500;
  static constexpr std::size_t kMostLate = 10'000;

  std::string next_event(const WatchView& view);  // empty: the view does not show it

  std::vector<store::RecordPtr> objects_;
  std::vector<store::EventPtr> changes_;
  std::optional<store::Revision> bookmark_;
  std::size_t next_ = 0;
  std::vector<store::EventPtr> late_;
};

// The event that tells of an object which was there before.
store::EventPtr first_event(store::RecordPtr record);

}  // namespace cardea::rest

#include "store/event_log.h"

#include <algorithm>

namespace cardea::store {

void EventLog::append(EventPtr event) {
  if (chunks_.empty() || chunks_.back()->events.size() == kChunk) {
    chunks_.push_back(std::make_shared<Chunk>());
    chunks_.back()->events.reserve(kChunk);
  }
  chunks_.back()->events.push_back(std::move(event));
  ++size_;
}

void EventLog::pop_front() {
  --size_;
  if (++first_ < chunks_.front()->events.size()) return;
  chunks_.pop_front();
  first_ = 0;
}

Revision EventLog::revision_of(std::size_t n) const {
  if (size_ == 0) return 0;
  std::size_t at = first_ + std::min(n, size_ - 1);
  return chunks_[at / kChunk]->events[at % kChunk]->revision;
}

EventLog::Slice EventLog::after(Revision revision) const {
  Slice slice;
  auto chunk = std::partition_point(chunks_.begin(), chunks_.end(), [&](const auto& candidate) {
    return candidate->events.back()->revision <= revision;
  });
  for (; chunk != chunks_.end(); ++chunk) {
    const auto& events = (*chunk)->events;
    auto from = events.begin() + static_cast<std::ptrdiff_t>(chunk == chunks_.begin() ? first_ : 0);
    if (slice.parts_.empty()) {
      from = std::partition_point(
          from, events.end(), [&](const EventPtr& event) { return event->revision <= revision; });
    }
    slice.parts_.push_back(
        {*chunk, events.data(), static_cast<std::size_t>(from - events.begin()), events.size()});
  }
  return slice;
}

}  // namespace cardea::store

#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "store/store.h"

namespace cardea::store {

// Changes in the order of their revisions, in chunks that readers may keep: a reader copies a few
// pointers under its owner's lock and walks the events without it. The owner guards everything
// else.
class EventLog {
  struct Chunk {
    std::vector<EventPtr> events;  // never reallocates: readers look at the first `n` while it
                                   // grows
  };

 public:
  // Events of the log as they were when the slice was taken.
  class Slice {
   public:
    template <typename Function>
    void each(Function&& function) const {
      for (const Part& part : parts_) {
        for (std::size_t i = part.begin; i < part.end; ++i) function(part.data[i]);
      }
    }

   private:
    friend class EventLog;
    struct Part {
      std::shared_ptr<const Chunk> chunk;
      const EventPtr* data;
      std::size_t begin;
      std::size_t end;
    };
    std::vector<Part> parts_;
  };

  std::size_t size() const { return size_; }
  void append(EventPtr event);
  const EventPtr& front() const { return chunks_.front()->events[first_]; }
  void pop_front();
  Revision revision_of(std::size_t n) const;  // of the n-th event, or of the last; 0 without events
  Slice after(Revision revision) const;

 private:
  static constexpr std::size_t kChunk = 512;

  std::deque<std::shared_ptr<Chunk>> chunks_;  // INVARIANT: none is empty
  std::size_t first_ = 0;                      // where the log begins in the first chunk
  std::size_t size_ = 0;
};

}  // namespace cardea::store

#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>

#include "store/record.h"

namespace cardea::store {

// When which revision was current, so that history can be kept for a time rather than for a number
// of changes. One thread uses it. Times are Unix seconds.
class RevisionTimes {
 public:
  struct Mark {
    Revision revision = 0;
    std::int64_t seconds = 0;
  };

  explicit RevisionTimes(std::chrono::seconds keep) : keep_(keep.count()) {}

  void remember(Mark mark) { marks_.push_back(mark); }  // from before; oldest first

  // Notes that `revision` is current. True: there is a new mark, and it is last().
  bool note(Revision revision, std::int64_t now) {
    const std::int64_t grain = std::max<std::int64_t>(keep_ / 60, keep_ > 0 ? 1 : 0);
    if (!marks_.empty() && now < marks_.back().seconds + grain) return false;
    if (!marks_.empty() && revision == marks_.back().revision) return false;
    marks_.push_back({revision, now});
    return true;
  }
  const Mark& last() const { return marks_.back(); }

  // Nothing has happened for a while after the change that made `revision`.
  bool is_quiet(Revision revision, std::int64_t now) const {
    if (marks_.empty() || marks_.back().revision != revision) return false;
    return now >= marks_.back().seconds + std::max<std::int64_t>(keep_ / 5, 1);
  }

  // The newest revision that need not be kept; 0 when all must be.
  Revision expired(std::int64_t now) {
    Revision oldest = 0;
    while (!marks_.empty() && marks_.front().seconds + keep_ <= now) {
      oldest = marks_.front().revision;
      // The newest mark stays: it says that nothing has happened since.
      if (marks_.size() == 1) break;
      marks_.pop_front();
    }
    return oldest;
  }

 private:
  const std::int64_t keep_;
  std::deque<Mark> marks_;  // oldest first
};

}  // namespace cardea::store

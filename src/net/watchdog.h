#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "net/loop.h"

namespace cardea::net {

// What this thread works on, in a few words, for the watchdog of its loop. Noting it copies up to
// a line of text and never allocates: a request may do it whenever it continues.
class WorkNote {
 public:
  static WorkNote& of_this_thread() {
    thread_local WorkNote note;
    return note;
  }

  void clear() { size_ = 0; }
  // The parts, with a space between them.
  void set(std::initializer_list<std::string_view> parts) {
    size_ = 0;
    for (std::string_view part : parts) {
      if (size_ > 0 && size_ < sizeof text_) text_[size_++] = ' ';
      const std::size_t fits = std::min(part.size(), sizeof text_ - size_);
      std::memcpy(text_ + size_, part.data(), fits);
      size_ += fits;
    }
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  std::size_t size_ = 0;
  char text_[240];
};

// Told, on the thread of a loop, that one callback took long, and what it worked on: the note, or
// nothing.
using Held = std::function<void(std::chrono::nanoseconds took, std::string_view what)>;

// Calls `held` whenever a callback of the loop takes longer than `longest`. Any thread.
void watch_over(Loop& loop, std::chrono::nanoseconds longest, Held held);

}  // namespace cardea::net

#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cardea::app {

// Tells people how far long work is. On a terminal it is one line that is written over and is gone
// at the end; elsewhere it is a line now and then. Work that is done in a moment says nothing.
class Progress {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Unit : std::uint8_t { kRecords, kBytes };

  // `what` is done: "loading the store". Where standard error is no terminal, `line` writes a whole
  // line; the default writes to standard error as well.
  Progress(std::string what, Unit unit, std::function<void(const std::string&)> line = to_error);
  // The same for a known place; `write` gets bytes as they are. For tests.
  Progress(std::string what, Unit unit, bool is_terminal, Time now,
           std::function<void(const std::string&)> write);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `all` is 0 where nobody knows it. It may be called often.
  void show(std::uint64_t done, std::uint64_t all) {
    show(done, all, std::chrono::steady_clock::now());
  }
  void show(std::uint64_t done, std::uint64_t all, Time now);

 private:
  static void to_error(const std::string& line);
  std::string shown(std::uint64_t number) const;

  const std::string what_;
  const Unit unit_;
  const bool is_terminal_;
  const std::function<void(const std::string&)> write_;
  Time next_;
  bool is_shown_ = false;
};

}  // namespace cardea::app

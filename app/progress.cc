#include "app/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/strings.h"

namespace cardea::app {
namespace {

using std::chrono::milliseconds;

// Until the first word, and between two.
constexpr milliseconds kPatience{1'000}, kOnTerminal{200}, kInLog{10'000};
constexpr char kStartOfLine[] = "\r\x1b[K";  // and nothing behind it

bool is_terminal() {
  return ::isatty(STDERR_FILENO) != 0;
}

void to_terminal(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string what, Unit unit, std::function<void(const std::string&)> line)
    : Progress(std::move(what), unit, is_terminal(), std::chrono::steady_clock::now(),
               is_terminal() ? to_terminal : std::move(line)) {}

Progress::Progress(std::string what, Unit unit, bool is_terminal, Time now,
                   std::function<void(const std::string&)> write)
    : what_(std::move(what)),
      unit_(unit),
      is_terminal_(is_terminal),
      write_(std::move(write)),
      next_(now + (is_terminal ? kPatience : kInLog)) {}

Progress::~Progress() {
  if (is_terminal_ && is_shown_) write_(kStartOfLine);
}

void Progress::to_error(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

std::string Progress::shown(std::uint64_t number) const {
  if (unit_ == Unit::kRecords) return std::to_string(number);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(number) / 1e6);
  return text;
}

void Progress::show(std::uint64_t done, std::uint64_t all, Time now) {
  if (now < next_ || !write_) return;
  next_ = now + (is_terminal_ ? kOnTerminal : kInLog);
  is_shown_ = true;
  std::string text = cat(what_, ": ", shown(done));
  if (all > 0) text += cat(" of ", shown(std::max(done, all)));
  if (unit_ == Unit::kRecords) text += " records";
  if (all > 0) text += cat(", ", std::min<std::uint64_t>(100, done * 100 / all), " %");
  write_(is_terminal_ ? cat(kStartOfLine, text) : text);
}

}  // namespace cardea::app

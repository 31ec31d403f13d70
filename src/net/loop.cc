#include "net/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "base/strings.h"
#include "net/short_turns.h"
#include "net/watchdog.h"

namespace cardea::net {
namespace {

thread_local Loop* current_loop = nullptr;

// Times the callbacks of this thread's loop, one after the other.
struct Watchdog {
  SteadyTime began;
  std::chrono::nanoseconds longest = std::chrono::nanoseconds::max();
  Held held;
};
thread_local Watchdog watchdog;

// One callback. Reading the clock after it costs 20 ns.
void begin_piece() {
  WorkNote::of_this_thread().clear();
}
void end_piece() {
  const SteadyTime end = std::chrono::steady_clock::now();
  const auto took = end - watchdog.began;
  watchdog.began = end;
  if (took > watchdog.longest && watchdog.held) [[unlikely]]
    watchdog.held(took, WorkNote::of_this_thread().text());
}
constexpr std::size_t kTasksPerTurn = 512;

Watcher::Events events_of(std::uint32_t bits) {
  return {.readable = (bits & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0,
          .writable = (bits & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0,
          .peer_closed = (bits & (EPOLLRDHUP | EPOLLHUP)) != 0,
          .broken = (bits & (EPOLLERR | EPOLLHUP)) != 0};
}

}  // namespace

Loop::Loop() : now_(std::chrono::steady_clock::now()) {
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CARDEA_CHECK(epoll_fd_ >= 0 && wake_fd_ >= 0);
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.ptr = nullptr}};
  CARDEA_CHECK(::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) == 0);
}

Loop::~Loop() {
  // What is dropped here may own timers or post once more; let it go while the loop still stands.
  while (!running_.empty() || !own_tasks_.empty() || !posted_.empty() || !buried_.empty()) {
    auto running = std::exchange(running_, {});
    auto tasks = std::exchange(own_tasks_, {});
    auto buried = std::exchange(buried_, {});
    std::vector<Callback> posted;
    std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  ::close(wake_fd_);
  ::close(epoll_fd_);
}

bool Loop::in_loop() const {
  return current_loop == this;
}

Loop* Loop::current() {
  return current_loop;
}

void Loop::post(Callback task) {
  if (in_loop()) {
    own_tasks_.push_back(std::move(task));
    return;
  }
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  if (first) {
    const std::uint64_t one = 1;
    [[maybe_unused]] auto written = ::write(wake_fd_, &one, sizeof one);
  }
}

void Loop::stop() {
  post([this] { stopping_ = true; });
}

void Loop::bury(std::shared_ptr<void> thing) {
  buried_.push_back(std::move(thing));
}

Result<void> Loop::watch(int fd, Watcher& watcher) {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.ptr = &watcher}};
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0)
    return fail(internal_error(cat("cannot watch a socket: ", std::strerror(errno))));
  return {};
}

void Loop::forget(int fd) {
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void Loop::run() {
  CARDEA_CHECK(current_loop == nullptr);
  current_loop = this;
  epoll_event events[256];
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_fd_, events, 256, wait_milliseconds());
    now_ = watchdog.began = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      if (auto* watcher = static_cast<Watcher*>(events[i].data.ptr)) {
        begin_piece();
        watcher->on_events(events_of(events[i].events));
        end_piece();
      } else {
        std::uint64_t ignored;
        [[maybe_unused]] auto got = ::read(wake_fd_, &ignored, sizeof ignored);
        woken_ = true;
      }
    }
    run_timers();
    run_tasks();
    begin_piece();
    buried_.clear();
    end_piece();
  }
  stopping_ = false;
  current_loop = nullptr;
}

void watch_over(Loop& loop, std::chrono::nanoseconds longest, Held held) {
  loop.post([longest, held = std::move(held)]() mutable {
    watchdog.longest = longest;
    watchdog.held = std::move(held);
  });
}

void Loop::run_tasks() {
  if (next_ == running_.size()) {
    running_.clear();
    next_ = 0;
    woken_ = false;
    {
      std::lock_guard lock(mutex_);
      running_.swap(posted_);
    }
    // Tasks that tasks post wait for the next turn, so that a busy poster cannot starve the
    // sockets.
    std::move(own_tasks_.begin(), own_tasks_.end(), std::back_inserter(running_));
    own_tasks_.clear();
  }
  const std::size_t end = std::min(running_.size(), next_ + kTasksPerTurn);
  while (next_ < end) {
    begin_piece();
    Callback task = std::move(running_[next_++]);
    task();
    task = nullptr;
    end_piece();
  }
}

int Loop::wait_milliseconds() const {
  // INVARIANT: a post to an empty queue wakes the loop once, so the loop must not sleep after an
  // answered wake-up.
  if (woken_ || !own_tasks_.empty() || next_ < running_.size()) return 0;
  if (timers_.empty()) return -1;
  const auto left = timers_.front().at - std::chrono::steady_clock::now();
  if (left <= left.zero()) return 0;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(milliseconds, 3'600'000));
}

void Loop::run_timers() {
  while (!timers_.empty() && timers_.front().at <= now_) {
    Timer& timer = *timers_.front().timer;
    if (timer.pending_ && timer.due_ > now_) {
      timers_.front().at = timer.due_;
      sift_down(0);
      continue;
    }
    remove_timer(0);
    if (!std::exchange(timer.pending_, false)) continue;
    begin_piece();
    timer.callback_();
    end_piece();
  }
}

void Loop::place(std::size_t index, Due due) {
  timers_[index] = due;
  due.timer->place_ = index;
}

void Loop::sift_up(std::size_t index) {
  const Due due = timers_[index];
  while (index > 0 && due.at < timers_[(index - 1) / 2].at) {
    place(index, timers_[(index - 1) / 2]);
    index = (index - 1) / 2;
  }
  place(index, due);
}

void Loop::sift_down(std::size_t index) {
  const Due due = timers_[index];
  for (std::size_t child; (child = 2 * index + 1) < timers_.size(); index = child) {
    if (child + 1 < timers_.size() && timers_[child + 1].at < timers_[child].at) ++child;
    if (due.at <= timers_[child].at) break;
    place(index, timers_[child]);
  }
  place(index, due);
}

void Loop::remove_timer(std::size_t index) {
  timers_[index].timer->place_ = Timer::kNowhere;
  const Due last = timers_.back();
  timers_.pop_back();
  if (index == timers_.size()) return;
  place(index, last);
  sift_up(index);
  sift_down(last.timer->place_);
}

void Timer::start(std::chrono::milliseconds delay) {
  // Not now(), which callbacks before this one in the same turn have made old.
  due_ = std::chrono::steady_clock::now() + delay;
  pending_ = true;
  if (place_ == kNowhere) {
    loop_.timers_.push_back({due_, this});
    loop_.sift_up(loop_.timers_.size() - 1);
  } else if (due_ < loop_.timers_[place_].at) {
    loop_.timers_[place_].at = due_;
    loop_.sift_up(place_);
  }
}

void Timer::cancel() {
  pending_ = false;
  if (place_ != kNowhere) loop_.remove_timer(place_);
}

struct Loops::Threads {
  std::vector<std::thread> threads;
};

Loops::Loops(std::size_t count) : threads_(std::make_unique<Threads>()) {
  for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i)
    loops_.push_back(std::make_unique<Loop>());
  for (auto& loop : loops_)
    threads_->threads.emplace_back([&loop = *loop] {
      ask_for_short_turns();
      loop.run();
    });
}

Loops::~Loops() {
  stop();
}

void Loops::stop() {
  if (threads_->threads.empty()) return;
  for (auto& loop : loops_) loop->stop();
  for (auto& thread : threads_->threads) thread.join();
  threads_->threads.clear();
}

}  // namespace cardea::net

#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"

namespace cardea::net {

using Callback = std::move_only_function<void()>;
using SteadyTime = std::chrono::steady_clock::time_point;
class Timer;

// Told when something happened to a file descriptor. Called on the loop's thread.
class Watcher {
 public:
  struct Events {
    bool readable = false;
    bool writable = false;
    bool peer_closed = false;  // the other side will send no more
    bool broken = false;       // reset, or an error is pending on the socket
  };
  virtual void on_events(Events events) = 0;

 protected:
  ~Watcher() = default;
};

// One thread's event loop: readiness of file descriptors, timers, and work handed over by others.
//
// It stands directly on epoll, edge triggered: a connection is registered once and a request then
// costs one wait, one read and one write. (Asio's async_wait pays an epoll_ctl each time, and its
// async_read pins a buffer to every idle connection.)
//
// A task must not throw. Everything except post, stop, in_loop and wake-ups belongs to the loop's
// thread.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs on the calling thread until stop(). Tasks posted before stop() still run.
  void run();
  void stop();  // any thread

  // Runs `task` on the loop's thread, never inside this call. Any thread. Tasks posted by one
  // thread run in that order. Posted from the loop itself it costs neither a lock nor a system
  // call. A task that captures one shared_ptr does not allocate. A long queue is worked off in
  // parts, sockets in between.
  void post(Callback task);

  bool in_loop() const;    // any thread: is this the thread inside run()?
  static Loop* current();  // the loop of this thread; null if it is not the thread of a loop
  SteadyTime now() const { return now_; }  // as of this turn of the loop

  // Watches `fd` for every kind of event, edge triggered, until forget() or the fd is closed.
  Result<void> watch(int fd, Watcher& watcher);
  void forget(int fd);

  // Keeps `thing` until the current turn is over. Fetched events may still refer to its watcher,
  // so the owner of a Watcher or a Timer passes it here instead of deleting it in a callback.
  void bury(std::shared_ptr<void> thing);

 private:
  friend class Timer;
  struct Due {
    SteadyTime at;
    Timer* timer;
  };

  int wait_milliseconds() const;
  void run_timers();
  void run_tasks();
  void place(std::size_t index, Due due);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);
  void remove_timer(std::size_t index);

  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  bool stopping_ = false;
  bool woken_ = false;  // posted_ may hold tasks that no thread has taken
  SteadyTime now_;
  std::vector<Due> timers_;  // a binary heap; each timer knows its place
  std::vector<Callback> own_tasks_;
  std::vector<Callback> running_;  // taken from the two others
  std::size_t next_ = 0;           // of running_
  std::vector<std::shared_ptr<void>> buried_;

  std::mutex mutex_;
  std::vector<Callback> posted_;  // guarded by mutex_
};

// Calls back once, some time later. Loop thread only. Moving a pending timer further away costs
// nothing, so a timeout may be renewed on every byte.
class Timer {
 public:
  Timer(Loop& loop, Callback callback) : loop_(loop), callback_(std::move(callback)) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start(std::chrono::milliseconds delay);  // replaces what was pending
  void cancel();
  bool pending() const { return pending_; }

 private:
  friend class Loop;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  Loop& loop_;
  Callback callback_;
  SteadyTime due_;
  std::size_t place_ = kNowhere;  // in the loop's heap; the heap's time may be earlier than due_
  bool pending_ = false;
};

// A fixed number of loops, each on its own thread. Owners of objects that live on a loop
// (connections, exchanges) must release them before the Loops are destroyed.
class Loops {
 public:
  explicit Loops(std::size_t count);
  ~Loops();  // stops and joins

  std::size_t size() const { return loops_.size(); }
  Loop& at(std::size_t index) { return *loops_[index]; }
  void stop();  // from outside the loops; waits for the threads

 private:
  struct Threads;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace cardea::net

#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "audit/event.h"
#include "base/metrics.h"
#include "base/result.h"

namespace cardea::audit {

// The destination of events: a file or a webhook. Called on the threads of one Outlet; may
// block.
class Sink {
 public:
  virtual ~Sink() = default;
  // Each text is one whole event. After an error none of them may be assumed to be written.
  virtual Result<void> write(std::span<const std::string> events) = 0;
  // Ends a waiting write, and all later ones: the server stops. Any thread.
  virtual void cancel() {}
};

// Whether a request waits for its events. Strict: it is refused when its first event cannot be
// written.
enum class Mode : std::uint8_t { kBatch, kBlocking, kBlockingStrict };

struct OutletOptions {
  std::string name;  // "log", "webhook": what metrics and log lines call it
  Mode mode = Mode::kBatch;
  bool is_legacy = false;                 // one line of text instead of JSON
  std::size_t buffer_size = 10'000;       // events that may wait in the queue
  std::size_t buffer_bytes = 256u << 20;  // and their approximate memory
  std::size_t max_batch = 400;            // events written at once
  std::chrono::nanoseconds max_wait{0};   // how long a batch that is not full waits for more
  bool throttles = false;
  double throttle_qps = 10;  // batches each second, on average
  int throttle_burst = 15;
  bool truncates = false;
  std::size_t max_event_bytes = 102'400, max_batch_bytes = 10u << 20;
  int threads = 1;  // with more than one the order is not kept
};

// The bounded queue before a sink, and the threads that empty it.
//
// Events become text here, not on the loop of their request. Events that do not fit, and events
// that the sink refuses, are counted in apiserver_audit_error_total and reported in the log. In
// batch mode no request waits for them. A failing sink does not stop the queue. put is for any
// thread.
class Outlet {
 public:
  using Done = std::move_only_function<void(bool written)>;
  using Log = std::function<void(const std::string&)>;

  // `metrics` outlive it.
  Outlet(OutletOptions options, std::unique_ptr<Sink> sink, MetricRegistry& metrics, Log log);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  Mode mode() const { return options_.mode; }
  // `done`, which may be empty, is called once: on a thread of this, or inside this call when there
  // is no room.
  void put(EventPtr event, Done done);
  // Writes the waiting events; after `patience` the remaining ones are counted as lost. No event
  // is accepted afterwards.
  void stop(std::chrono::milliseconds patience);

 private:
  struct Item {
    EventPtr event;
    Done done;
  };
  void work();
  std::vector<Item> next_batch();
  bool wait_for_turn();
  void write(std::vector<Item> batch);
  // The texts of the events; handles events that are too long.
  std::string text_of(const Event& event) const;
  void lost(std::string_view plugin, Counter& counter, std::size_t events, std::string_view why);

  const OutletOptions options_;
  std::unique_ptr<Sink> sink_;
  const Log log_;
  Counter &overflow_, &failed_, &too_large_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;                        // guarded by mutex_
  std::size_t bytes_ = 0;                         // guarded by mutex_
  std::size_t writing_ = 0;                       // threads inside the sink; guarded by mutex_
  bool stopping_ = false;                         // guarded by mutex_
  bool abandoned_ = false;                        // guarded by mutex_
  double tokens_;                                 // guarded by mutex_
  std::chrono::steady_clock::time_point filled_;  // when tokens_ were counted; guarded by mutex_

  std::mutex log_mutex_;
  std::chrono::steady_clock::time_point last_line_;  // guarded by log_mutex_
  std::size_t untold_ = 0;  // events lost since then; guarded by log_mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace cardea::audit

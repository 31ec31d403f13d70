#include "audit/outlet.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::audit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBetweenLines{1};

Counter& errors_of(MetricRegistry& metrics, std::string plugin) {
  return metrics.counter({"apiserver_audit_error_total",
                          "Audit events that were not written, by the part that gave them up."},
                         {{"plugin", std::move(plugin)}});
}

}  // namespace

Outlet::Outlet(OutletOptions options, std::unique_ptr<Sink> sink, MetricRegistry& metrics, Log log)
    : options_(std::move(options)),
      sink_(std::move(sink)),
      log_(std::move(log)),
      overflow_(errors_of(metrics, "buffered")),
      failed_(errors_of(metrics, options_.name)),
      too_large_(errors_of(metrics, "truncate")),
      tokens_(options_.throttle_burst),
      filled_(Clock::now()) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
}

Outlet::~Outlet() {
  stop(std::chrono::milliseconds(0));
}

void Outlet::put(EventPtr event, Done done) {
  std::size_t weight = event->weight();
  {
    std::lock_guard lock(mutex_);
    bool has_room = queue_.size() < options_.buffer_size &&
                    (queue_.empty() || bytes_ + weight <= options_.buffer_bytes);
    if (has_room && !stopping_) {
      bytes_ += weight;
      queue_.push_back({std::move(event), std::move(done)});
      // A thread that waits for a batch to fill is notified when it is full.
      if (queue_.size() == 1 || queue_.size() >= options_.max_batch) changed_.notify_all();
      return;
    }
  }
  lost("buffered", overflow_, 1, "the queue is full");
  if (done) done(false);
}

void Outlet::work() {
  for (;;) {
    std::vector<Item> batch = next_batch();
    if (batch.empty()) return;
    write(std::move(batch));
    std::lock_guard lock(mutex_);
    --writing_;
    changed_.notify_all();
  }
}

std::vector<Outlet::Item> Outlet::next_batch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !queue_.empty() || stopping_; });
  bool is_batch = options_.mode == Mode::kBatch;
  if (is_batch && options_.max_wait.count() > 0)
    changed_.wait_for(lock, options_.max_wait,
                      [this] { return queue_.size() >= options_.max_batch || stopping_; });
  if (is_batch && options_.throttles) {
    for (;;) {
      Clock::time_point now = Clock::now();
      double earned = std::chrono::duration<double>(now - filled_).count() * options_.throttle_qps;
      tokens_ = std::min<double>(options_.throttle_burst, tokens_ + earned);
      filled_ = now;
      if (tokens_ >= 1 || stopping_) break;
      changed_.wait_for(lock, std::chrono::duration<double>((1 - tokens_) / options_.throttle_qps),
                        [this] { return stopping_; });
    }
    if (!queue_.empty()) tokens_ -= 1;
  }
  std::vector<Item> batch;
  if (abandoned_) return batch;
  while (!queue_.empty() && batch.size() < options_.max_batch) {
    bytes_ -= queue_.front().event->weight();
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  if (batch.empty() && !stopping_) {
    // Another thread was faster.
    lock.unlock();
    return next_batch();
  }
  if (!batch.empty()) ++writing_;
  return batch;
}

std::string Outlet::text_of(const Event& event) const {
  if (options_.is_legacy) return print_legacy(event);
  std::string text = print_json(event);
  if (!options_.truncates || text.size() <= options_.max_event_bytes) return text;
  if (event.arrival->level >= Level::kRequest) text = print_json(event, true);
  return text.size() <= options_.max_event_bytes ? text : std::string();
}

void Outlet::write(std::vector<Item> batch) {
  std::vector<std::string> texts;
  std::vector<Item*> items;  // those the texts are of
  std::size_t bytes = 0;
  auto flush = [&] {
    if (texts.empty()) return;
    Result<void> written = sink_->write(texts);
    if (!written) lost(options_.name, failed_, texts.size(), written.error().message);
    for (Item* item : items)
      if (item->done) item->done(written.has_value());
    texts.clear();
    items.clear();
    bytes = 0;
  };
  for (Item& item : batch) {
    std::string text = text_of(*item.event);
    if (text.empty()) {
      lost("truncate", too_large_, 1,
           cat("an event is longer than ", options_.max_event_bytes, " bytes without its objects"));
      if (item.done) item.done(false);
      continue;
    }
    if (options_.truncates && bytes + text.size() > options_.max_batch_bytes) flush();
    bytes += text.size();
    texts.push_back(std::move(text));
    items.push_back(&item);
  }
  flush();
}

void Outlet::lost(std::string_view plugin, Counter& counter, std::size_t events,
                  std::string_view why) {
  counter.add(events);
  std::size_t told;
  {
    std::lock_guard lock(log_mutex_);
    untold_ += events;
    Clock::time_point now = Clock::now();
    if (last_line_ != Clock::time_point() && now - last_line_ < kBetweenLines) return;
    last_line_ = now;
    told = std::exchange(untold_, 0);
  }
  if (log_)
    log_(cat("audit: ", told, told == 1 ? " event" : " events", " lost by the ", options_.name,
             " backend (", plugin, "): ", why));
}

void Outlet::stop(std::chrono::milliseconds patience) {
  std::deque<Item> left;
  {
    std::unique_lock lock(mutex_);
    if (std::exchange(stopping_, true) && threads_.empty()) return;
    changed_.notify_all();
    changed_.wait_for(lock, patience, [this] { return queue_.empty() && writing_ == 0; });
    left.swap(queue_);
    bytes_ = 0;
    abandoned_ = true;
    changed_.notify_all();
  }
  sink_->cancel();
  threads_.clear();
  if (!left.empty()) lost("buffered", overflow_, left.size(), "the server stops");
  for (Item& item : left)
    if (item.done) item.done(false);
  std::lock_guard lock(log_mutex_);
  if (untold_ && log_)
    log_(cat("audit: ", untold_, " more events lost by the ", options_.name, " backend"));
  untold_ = 0;
}

}  // namespace cardea::audit

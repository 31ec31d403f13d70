#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metric_printer.h"

namespace cardea {

// Numbers that /metrics shows. Counting is one or two atomic additions, from any thread.
class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) {
    value_.store(value, std::memory_order_relaxed);
    is_shown_.store(true, std::memory_order_release);
  }
  void hide() { is_shown_.store(false, std::memory_order_release); }  // until it is set again
  bool is_shown() const { return is_shown_.load(std::memory_order_acquire); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
  std::atomic<bool> is_shown_{false};
};

// Observations, counted by upper bounds. A reader may see an observation in the count before the
// sum.
class Buckets {
 public:
  const std::vector<double>& bounds() const { return bounds_; }
  std::uint64_t in_bucket(std::size_t index) const {
    return counts_[index].load(std::memory_order_relaxed);
  }  // its own, not those below
  bool is_empty() const;  // nothing was observed yet
  double sum() const { return static_cast<double>(sum_.load(std::memory_order_relaxed)) / scale_; }

 protected:
  // Added values are integers: `scale` stands for one unit of the bounds and the sum.
  Buckets(std::vector<double> bounds, double scale);
  ~Buckets() = default;
  void add(std::uint64_t value);

 private:
  std::vector<double> bounds_;
  double scale_;
  std::vector<std::uint64_t> limits_;                     // the bounds, times the scale
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;  // one more than bounds: beyond the last
  std::atomic<std::uint64_t> sum_{0};
};

// Durations; the bounds are seconds.
class Histogram : public Buckets {
 public:
  explicit Histogram(std::vector<double> bounds) : Buckets(std::move(bounds), 1e9) {}
  void observe(std::chrono::nanoseconds duration) {
    add(duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0);
  }
};

// Plain numbers, such as how many of something one request took.
class CountHistogram : public Buckets {
 public:
  explicit CountHistogram(std::vector<double> bounds) : Buckets(std::move(bounds), 1) {}
  void observe(std::uint64_t count) { add(count); }
};

// Measures from its making on.
class Stopwatch {
 public:
  std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - began_; }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// All of them, by family and labels. Asking for one takes a lock and finds or makes it; keep the
// reference, which lives as long as the registry. Any thread.
class MetricRegistry {
 public:
  using Labels = MetricLabels;
  using Family = MetricFamily;

  Counter& counter(const Family& family, const Labels& labels = {});
  Gauge& gauge(const Family& family, const Labels& labels = {});
  // `bounds` count for the first of a family.
  Histogram& histogram(const Family& family, const std::vector<double>& bounds,
                       const Labels& labels = {});
  CountHistogram& count_histogram(const Family& family, const std::vector<double>& bounds,
                                  const Labels& labels = {});

  // Everything in Prometheus' text format: families in the order of their names, series in the
  // order of their labels.
  void print(MetricPrinter& out) const;
  std::string print() const;

 private:
  struct Series {
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
    std::unique_ptr<CountHistogram> count_histogram;
  };
  struct Content {
    std::string help;
    MetricType type;
    std::map<std::string, Series> series;  // by their labels as printed
  };
  Series& find(const Family& family, MetricType type, const Labels& labels);

  mutable std::mutex mutex_;
  std::map<std::string, Content, std::less<>> families_;
};

// `count` bounds, each `factor` times the one before.
std::vector<double> exponential_bounds(double first, double factor, int count);

}  // namespace cardea

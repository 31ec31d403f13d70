#include "base/metrics.h"

#include <algorithm>

namespace cardea {

Buckets::Buckets(std::vector<double> bounds, double scale)
    : bounds_(std::move(bounds)),
      scale_(scale),
      counts_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds_.size() + 1)) {
  for (double b : bounds_) limits_.push_back(static_cast<std::uint64_t>(b * scale));
}

void Buckets::add(std::uint64_t value) {
  auto bucket = static_cast<std::size_t>(std::ranges::lower_bound(limits_, value) -
                                         limits_.begin());
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

bool Buckets::is_empty() const {
  for (std::size_t i = 0; i <= bounds_.size(); ++i)
    if (in_bucket(i) != 0) return false;
  return true;
}

MetricRegistry::Series& MetricRegistry::find(const Family& family, MetricType type,
                                             const Labels& labels) {
  auto at = families_.find(family.name);
  if (at == families_.end())
    at = families_.emplace(std::string(family.name), Content{std::string(family.help), type, {}})
             .first;
  return at->second.series[print_labels(labels)];
}

Counter& MetricRegistry::counter(const Family& family, const Labels& labels) {
  std::lock_guard lock(mutex_);
  Series& s = find(family, MetricType::kCounter, labels);
  if (!s.counter) s.counter = std::make_unique<Counter>();
  return *s.counter;
}

Gauge& MetricRegistry::gauge(const Family& family, const Labels& labels) {
  std::lock_guard lock(mutex_);
  Series& s = find(family, MetricType::kGauge, labels);
  if (!s.gauge) s.gauge = std::make_unique<Gauge>();
  return *s.gauge;
}

Histogram& MetricRegistry::histogram(const Family& family, const std::vector<double>& bounds,
                                     const Labels& labels) {
  std::lock_guard lock(mutex_);
  Series& s = find(family, MetricType::kHistogram, labels);
  if (!s.histogram) s.histogram = std::make_unique<Histogram>(bounds);
  return *s.histogram;
}

CountHistogram& MetricRegistry::count_histogram(const Family& family,
                                                const std::vector<double>& bounds,
                                                const Labels& labels) {
  std::lock_guard lock(mutex_);
  Series& s = find(family, MetricType::kHistogram, labels);
  if (!s.count_histogram) s.count_histogram = std::make_unique<CountHistogram>(bounds);
  return *s.count_histogram;
}

void MetricRegistry::print(MetricPrinter& out) const {
  std::lock_guard lock(mutex_);
  for (const auto& [name, content] : families_) {
    out.begin({name, content.help}, content.type);
    for (const auto& [labels, s] : content.series) {
      if (s.counter) out.add_integer(labels, s.counter->value());
      if (s.gauge && s.gauge->is_shown()) out.add_number(labels, s.gauge->value());
      if (s.histogram) out.add_histogram(labels, *s.histogram);
      if (s.count_histogram) out.add_histogram(labels, *s.count_histogram);
    }
  }
}

std::string MetricRegistry::print() const {
  MetricPrinter out;
  print(out);
  return out.text();
}

std::vector<double> exponential_bounds(double first, double factor, int count) {
  std::vector<double> out;
  for (double b = first; count > 0; --count, b *= factor) out.push_back(b);
  return out;
}

}  // namespace cardea

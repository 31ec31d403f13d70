#include "base/metrics.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea {
namespace {

std::string printed(const MetricRegistry::Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    if (!out.empty()) out += ',';
    out += cat(name, "=\"");
    for (char c : value) {
      if (c == '\\' || c == '"') out += '\\';
      if (c == '\n')
        out += "\\n";
      else
        out += c;
    }
    out += '"';
  }
  return out;
}

std::string braced(std::string_view labels, std::string_view more = "") {
  if (labels.empty() && more.empty()) return "";
  return cat("{", labels, labels.empty() || more.empty() ? "" : ",", more, "}");
}

void print_histogram(std::string& out, std::string_view name, std::string_view labels,
                     const Buckets& h) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i <= h.bounds().size(); ++i) {
    below += h.in_bucket(i);
    std::string bound = i < h.bounds().size() ? go_float(h.bounds()[i]) : "+Inf";
    out += cat(name, "_bucket", braced(labels, cat("le=\"", bound, "\"")), " ", below, "\n");
  }
  out += cat(name, "_sum", braced(labels), " ", go_float(h.sum()), "\n");
  out += cat(name, "_count", braced(labels), " ", below, "\n");
}

}  // namespace

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

MetricRegistry::Series& MetricRegistry::find(const Family& family, std::string_view type,
                                             const Labels& labels) {
  auto at = families_.find(family.name);
  if (at == families_.end())
    at = families_.emplace(std::string(family.name), Content{std::string(family.help), type, {}})
             .first;
  return at->second.series[printed(labels)];
}

Counter& MetricRegistry::counter(const Family& family, const Labels& labels) {
  std::lock_guard lock(mutex_);
  Series& s = find(family, "counter", labels);
  if (!s.counter) s.counter = std::make_unique<Counter>();
  return *s.counter;
}

Gauge& MetricRegistry::gauge(const Family& family, const Labels& labels) {
  std::lock_guard lock(mutex_);
  Series& s = find(family, "gauge", labels);
  if (!s.gauge) s.gauge = std::make_unique<Gauge>();
  return *s.gauge;
}

Histogram& MetricRegistry::histogram(const Family& family, const std::vector<double>& bounds,
                                     const Labels& labels) {
  std::lock_guard lock(mutex_);
  Series& s = find(family, "histogram", labels);
  if (!s.histogram) s.histogram = std::make_unique<Histogram>(bounds);
  return *s.histogram;
}

CountHistogram& MetricRegistry::count_histogram(const Family& family,
                                                const std::vector<double>& bounds,
                                                const Labels& labels) {
  std::lock_guard lock(mutex_);
  Series& s = find(family, "histogram", labels);
  if (!s.count_histogram) s.count_histogram = std::make_unique<CountHistogram>(bounds);
  return *s.count_histogram;
}

std::string MetricRegistry::print() const {
  std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [name, content] : families_) {
    out += cat("# HELP ", name, " ", content.help, "\n# TYPE ", name, " ", content.type, "\n");
    for (const auto& [labels, s] : content.series) {
      if (s.counter) out += cat(name, braced(labels), " ", s.counter->value(), "\n");
      if (s.gauge && s.gauge->is_shown())
        out += cat(name, braced(labels), " ", go_float(s.gauge->value()), "\n");
      if (s.histogram) print_histogram(out, name, labels, *s.histogram);
      if (s.count_histogram) print_histogram(out, name, labels, *s.count_histogram);
    }
  }
  return out;
}

std::vector<double> exponential_bounds(double first, double factor, int count) {
  std::vector<double> out;
  for (double b = first; count > 0; --count, b *= factor) out.push_back(b);
  return out;
}

}  // namespace cardea

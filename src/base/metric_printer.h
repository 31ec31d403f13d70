#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cardea {

class Buckets;

struct MetricFamily {
  std::string_view name;  // "authorization_attempts_total"
  std::string_view help;  // may be empty
};
using MetricLabels = std::vector<std::pair<std::string, std::string>>;
enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

// `verb="get",code="200"`: the labels of one series, escaped, in the order given.
std::string print_labels(const MetricLabels& labels);

// Writes metrics in Prometheus' text format. The lines have the order of the calls. A
// MetricRegistry prints itself by it. A part whose series come and go (issuers that a new
// configuration removes) or are read elsewhere (the store) writes the series of the moment.
class MetricPrinter {
 public:
  // The series that are added next belong to this family.
  void begin(const MetricFamily& family, MetricType type);
  // One series each. `labels` are those of print_labels().
  void add_integer(std::string_view labels, std::uint64_t value);
  void add_number(std::string_view labels, double value);
  void add_histogram(std::string_view labels, const Buckets& observed);

  const std::string& text() const { return text_; }

 private:
  std::string name_;  // of the family
  std::string text_;
};

}  // namespace cardea

#include "base/metric_printer.h"

#include "base/metrics.h"
#include "base/strings.h"

namespace cardea {
namespace {

constexpr std::string_view kTypes[] = {"counter", "gauge", "histogram"};  // by MetricType

std::string braced(std::string_view labels, std::string_view more = "") {
  if (labels.empty() && more.empty()) return "";
  return cat("{", labels, labels.empty() || more.empty() ? "" : ",", more, "}");
}

}  // namespace

std::string print_labels(const MetricLabels& labels) {
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

void MetricPrinter::begin(const MetricFamily& family, MetricType type) {
  name_ = family.name;
  if (!family.help.empty()) text_ += cat("# HELP ", name_, " ", family.help, "\n");
  text_ += cat("# TYPE ", name_, " ", kTypes[static_cast<std::size_t>(type)], "\n");
}

void MetricPrinter::add_integer(std::string_view labels, std::uint64_t value) {
  text_ += cat(name_, braced(labels), " ", value, "\n");
}

void MetricPrinter::add_number(std::string_view labels, double value) {
  text_ += cat(name_, braced(labels), " ", go_float(value), "\n");
}

void MetricPrinter::add_histogram(std::string_view labels, const Buckets& observed) {
  const std::vector<double>& bounds = observed.bounds();
  std::uint64_t below = 0;
  for (std::size_t i = 0; i <= bounds.size(); ++i) {
    below += observed.in_bucket(i);
    std::string bound = i < bounds.size() ? go_float(bounds[i]) : "+Inf";
    text_ += cat(name_, "_bucket", braced(labels, cat("le=\"", bound, "\"")), " ", below, "\n");
  }
  text_ += cat(name_, "_sum", braced(labels), " ", go_float(observed.sum()), "\n");
  text_ += cat(name_, "_count", braced(labels), " ", below, "\n");
}

}  // namespace cardea

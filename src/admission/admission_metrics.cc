#include "admission/admission_metrics.h"

namespace cardea::admission {
namespace {

const std::vector<double> kPluginBounds = {0.005, 0.025, 0.1, 0.5, 1, 2.5};

}  // namespace

Durations::Durations(MetricRegistry& registry, const std::vector<std::unique_ptr<Plugin>>& plugins)
    : registry_(registry), of_plugins_(std::make_unique<Series[]>(plugins.size())) {
  for (const auto& plugin : plugins) names_.emplace_back(plugin->name());
}

void Durations::observe(std::size_t plugin, Step step, Operation operation, bool is_rejected,
                        std::chrono::nanoseconds took) const {
  observe(of_plugins_[plugin], &names_[plugin], step, operation, is_rejected, took);
}

void Durations::observe_all(Step step, Operation operation, bool is_rejected,
                            std::chrono::nanoseconds took) const {
  observe(of_all_, nullptr, step, operation, is_rejected, took);
}

void Durations::observe(Series& series, const std::string* plugin, Step step, Operation operation,
                        bool is_rejected, std::chrono::nanoseconds took) const {
  const auto place = static_cast<std::size_t>(operation) * 4 + static_cast<std::size_t>(step) * 2 +
                     (is_rejected ? 1 : 0);
  Histogram* histogram = series[place].load(std::memory_order_acquire);
  if (!histogram) {
    MetricLabels labels = {{"operation", std::string(operation_name(operation))},
                           {"rejected", is_rejected ? "true" : "false"},
                           {"type", step == Step::kAdmit ? "admit" : "validate"}};
    if (plugin) labels.insert(labels.begin(), {"name", *plugin});
    histogram = &registry_.histogram(
        plugin ? MetricFamily{"apiserver_admission_controller_admission_duration_seconds",
                              "How long admission plugins took."}
               : MetricFamily{"apiserver_admission_step_admission_duration_seconds",
                              "How long all admission plugins took together."},
        kPluginBounds, labels);
    series[place].store(histogram, std::memory_order_release);
  }
  histogram->observe(took);
}

}  // namespace cardea::admission

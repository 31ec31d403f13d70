#pragma once
#include <chrono>
#include <string>

#include "base/metrics.h"

namespace cardea::rest {

// What /metrics tells of the queue of one controller, in the families of kube-controller-manager.
class WorkqueueMetrics {
 public:
  WorkqueueMetrics(MetricRegistry& registry, const std::string& name)
      : adds_(registry.counter({"workqueue_adds_total", "Keys added to the queue."},
                               {{"name", name}})),
        retries_(registry.counter({"workqueue_retries_total", "Keys that are tried again."},
                                  {{"name", name}})),
        depth_(
            registry.gauge({"workqueue_depth", "Keys that wait in the queue."}, {{"name", name}})),
        waited_(registry.histogram(
            {"workqueue_queue_duration_seconds", "How long keys waited in the queue."},
            exponential_bounds(1e-8, 10, 10), {{"name", name}})),
        worked_(registry.histogram(
            {"workqueue_work_duration_seconds", "How long the work on a key took."},
            exponential_bounds(1e-8, 10, 10), {{"name", name}})) {
    depth_.set(0);
  }

  void added(std::size_t depth) {
    adds_.add();
    depth_.set(static_cast<double>(depth));
  }
  void began(std::chrono::nanoseconds waited, std::size_t depth) {
    waited_.observe(waited);
    depth_.set(static_cast<double>(depth));
  }
  void ended(std::chrono::nanoseconds worked) { worked_.observe(worked); }
  void retried() { retries_.add(); }

 private:
  Counter &adds_, &retries_;
  Gauge& depth_;
  Histogram &waited_, &worked_;
};

}  // namespace cardea::rest

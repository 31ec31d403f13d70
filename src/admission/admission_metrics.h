#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "admission/plugin.h"
#include "base/metrics.h"

namespace cardea::admission {

// How long plugins, and all of them together, take. Counting costs a few atomic additions, after
// the first time. Any thread.
class Durations {
 public:
  enum class Step : std::uint8_t { kAdmit, kValidate };

  Durations(MetricRegistry& registry, const std::vector<std::unique_ptr<Plugin>>& plugins);

  // `plugin` is its place in the chain.
  void observe(std::size_t plugin, Step step, Operation operation, bool is_rejected,
               std::chrono::nanoseconds took) const;
  void observe_all(Step step, Operation operation, bool is_rejected,
                   std::chrono::nanoseconds took) const;

 private:
  // One for each operation, step and outcome. Made when first needed: most never are.
  using Series = std::array<std::atomic<Histogram*>, 4 * 2 * 2>;
  void observe(Series& series, const std::string* plugin, Step step, Operation operation,
               bool is_rejected, std::chrono::nanoseconds took) const;

  MetricRegistry& registry_;
  std::vector<std::string> names_;
  std::unique_ptr<Series[]> of_plugins_;
  mutable Series of_all_{};
};

}  // namespace cardea::admission

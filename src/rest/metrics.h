#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace cardea::rest {

// What the server has answered so far, for /metrics. Counting costs one atomic addition.
class Metrics {
 public:
  void count(std::string_view verb, int code);
  // One line per verb and code that occurred, in Prometheus' text format.
  std::string print() const;

 private:
  static constexpr std::array<std::string_view, 11> kVerbs = {
      "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "connect", "path", "other"};
  static constexpr std::size_t kCodes = 600;
  std::array<std::array<std::atomic<std::uint64_t>, kCodes>, kVerbs.size()> counts_{};
};

}  // namespace cardea::rest

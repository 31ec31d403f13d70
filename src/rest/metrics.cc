#include "rest/metrics.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::rest {

void Metrics::count(std::string_view verb, int code) {
  auto row = static_cast<std::size_t>(std::ranges::find(kVerbs, verb) - kVerbs.begin());
  auto column = static_cast<std::size_t>(code);
  counts_[std::min(row, kVerbs.size() - 1)][std::min(column, kCodes - 1)].fetch_add(1, std::memory_order_relaxed);
}

std::string Metrics::print() const {
  std::string out =
      "# HELP apiserver_request_total Requests answered, by verb and status code.\n"
      "# TYPE apiserver_request_total counter\n";
  for (std::size_t row = 0; row < kVerbs.size(); ++row)
    for (std::size_t code = 0; code < kCodes; ++code)
      if (std::uint64_t n = counts_[row][code].load(std::memory_order_relaxed))
        out += cat("apiserver_request_total{verb=\"", kVerbs[row], "\",code=\"", code, "\"} ", n, "\n");
  return out;
}

}  // namespace cardea::rest

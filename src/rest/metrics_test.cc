#include "rest/metrics.h"

#include <gtest/gtest.h>

namespace cardea::rest {
namespace {

std::string printed(const Metrics& metrics) {
  MetricPrinter out;
  metrics.print(out);
  return out.text();
}

TEST(RequestMetrics, RequestsComeFirstByVerbAndCode) {
  Metrics metrics;
  metrics.count_stream("watch", 200);
  metrics.count("list", 403, {});
  metrics.count("list", 200, {});
  metrics.count("list", 200, {});
  metrics.count("brew", 418, {});
  EXPECT_TRUE(printed(metrics).starts_with(
      R"(# HELP apiserver_request_total Requests answered, by verb and status code.
# TYPE apiserver_request_total counter
apiserver_request_total{verb="list",code="200"} 2
apiserver_request_total{verb="list",code="403"} 1
apiserver_request_total{verb="watch",code="200"} 1
apiserver_request_total{verb="other",code="418"} 1
# HELP apiserver_request_duration_seconds How long answers took, watches left out, by verb.
# TYPE apiserver_request_duration_seconds histogram
)")) << printed(metrics);
}

TEST(RequestMetrics, TheRegistryFollows) {
  Metrics metrics;
  metrics.registry().counter({"zz_total", "Zs."}).add(7);
  EXPECT_TRUE(
      printed(metrics).ends_with("# HELP zz_total Zs.\n# TYPE zz_total counter\nzz_total 7\n"))
      << printed(metrics);
}

}  // namespace
}  // namespace cardea::rest

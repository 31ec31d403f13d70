#include "base/metrics.h"

#include <gtest/gtest.h>

namespace cardea {

using namespace std::chrono_literals;

TEST(Metrics, ACounterIsFoundAgainByItsLabels) {
  MetricRegistry r;
  r.counter({"a_total", "As."}, {{"x", "1"}}).add();
  r.counter({"a_total", "As."}, {{"x", "1"}}).add(2);
  r.counter({"a_total", "As."}, {{"x", "say \"2\"\n"}}).add();
  EXPECT_EQ(r.print(),
            "# HELP a_total As.\n# TYPE a_total counter\na_total{x=\"1\"} 3\na_total{x=\"say "
            "\\\"2\\\"\\n\"} 1\n");
}

TEST(Metrics, AHistogramCountsWhatLiesAtOrBelowEachBound) {
  MetricRegistry r;
  Histogram& h = r.histogram({"d_seconds", "Ds."}, {0.5, 1}, {{"x", "y"}});
  h.observe(500ms);
  h.observe(750ms);
  h.observe(2s);
  EXPECT_EQ(r.print(),
            "# HELP d_seconds Ds.\n# TYPE d_seconds histogram\n"
            "d_seconds_bucket{x=\"y\",le=\"0.5\"} 1\nd_seconds_bucket{x=\"y\",le=\"1\"} 2\n"
            "d_seconds_bucket{x=\"y\",le=\"+Inf\"} 3\nd_seconds_sum{x=\"y\"} "
            "3.25\nd_seconds_count{x=\"y\"} 3\n");
}

TEST(Metrics, AHistogramOfCountsTakesPlainNumbers) {
  MetricRegistry r;
  CountHistogram& h = r.count_histogram({"checks", "Cs."}, {0, 1, 5});
  for (std::uint64_t count : {0u, 1u, 2u, 5u, 6u}) h.observe(count);
  h.observe(100'000'000'000);  // as nanoseconds the sum would not hold it
  EXPECT_EQ(r.print(),
            "# HELP checks Cs.\n# TYPE checks histogram\n"
            "checks_bucket{le=\"0\"} 1\nchecks_bucket{le=\"1\"} 2\nchecks_bucket{le=\"5\"} 4\n"
            "checks_bucket{le=\"+Inf\"} 6\nchecks_sum 1.00000000014e+11\nchecks_count 6\n");
}

TEST(Metrics, AGaugeThatIsHiddenIsNotPrinted) {
  MetricRegistry r;
  Gauge& g = r.gauge({"g", "G."});
  EXPECT_EQ(r.print(), "# HELP g G.\n# TYPE g gauge\n");
  g.set(1);
  EXPECT_EQ(r.print(), "# HELP g G.\n# TYPE g gauge\ng 1\n");
  g.hide();
  EXPECT_EQ(r.print(), "# HELP g G.\n# TYPE g gauge\n");
}

TEST(Metrics, PartsPrintTheirOwnSeriesInTheOrderOfTheirCalls) {
  MetricPrinter out;
  out.begin({"z_total", "Zs."}, MetricType::kCounter);
  out.add_integer(print_labels({{"x", "2"}}), 20'000'000'000);
  out.add_integer(print_labels({{"x", "1"}}), 1);
  MetricRegistry r;
  r.counter({"b_total", "Bs."}).add();
  r.print(out);
  out.begin({"a", ""}, MetricType::kGauge);
  out.add_number("", 0.5);
  EXPECT_EQ(out.text(),
            "# HELP z_total Zs.\n# TYPE z_total counter\n"
            "z_total{x=\"2\"} 20000000000\nz_total{x=\"1\"} 1\n"
            "# HELP b_total Bs.\n# TYPE b_total counter\nb_total 1\n"
            "# TYPE a gauge\na 0.5\n");
}

TEST(Metrics, BoundsGrowByTheirFactor) {
  EXPECT_EQ(exponential_bounds(0.001, 2, 3), (std::vector<double>{0.001, 0.002, 0.004}));
}

}  // namespace cardea

#include "upstream/trace_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"

namespace cardea::upstream {
namespace {

using ::testing::HasSubstr;

constexpr char kHead[] = "apiVersion: apiserver.k8s.io/v1beta1\nkind: TracingConfiguration\n";

TEST(TracingConfig, IsReadAsKubernetesWritesIt) {
  const auto config = parse_tracing_config(
      std::string(kHead) + "endpoint: collector:4318\nsamplingRatePerMillion: 100\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->url, "http://collector:4318/v1/traces");
  EXPECT_EQ(config->sampling_rate_per_million, 100u);
  EXPECT_EQ(parse_tracing_config(kHead)->url, "http://localhost:4318/v1/traces");
  EXPECT_EQ(parse_tracing_config(std::string(kHead) + "endpoint: https://c/x")->url, "https://c/x");
}

TEST(TracingConfig, MistakesAreTold) {
  for (const char* rest :
       {"samplingRatePerMillion: 1000001", "samplingRatePerMillion: -1",
        "samplingRatePerMillion: x", "endpoint: [a]", "endpoint: 'ftp://a'", "endpont: a"})
    EXPECT_FALSE(parse_tracing_config(std::string(kHead) + rest)) << rest;
  EXPECT_FALSE(parse_tracing_config("kind: TracingConfiguration"));
  EXPECT_FALSE(parse_tracing_config("[]"));
}

TEST(TraceExporter, SpansNameTheirTraceAndTheirParents) {
  const auto context = parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  auto trace = std::make_shared<Trace>(*context, false, "GET");
  {
    TraceSpan span(trace.get(), "authentication");
  }
  trace->note("url.path", "/api");
  trace->finish();
  SystemRandom random;
  const auto document = json::parse(otlp_json({trace}, "me", random));
  ASSERT_TRUE(document);
  const json::Value& spans = (*document)["resourceSpans"][0]["scopeSpans"][0]["spans"];
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["traceId"].as_string(), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(spans[0]["parentSpanId"].as_string(), "b7ad6b7169203331");
  EXPECT_EQ(spans[0]["attributes"][0]["value"]["stringValue"].as_string(), "/api");
  EXPECT_EQ(spans[1]["parentSpanId"].as_string(), spans[0]["spanId"].as_string());
  EXPECT_EQ(spans[1]["name"].as_string(), "authentication");
}

}  // namespace
}  // namespace cardea::upstream

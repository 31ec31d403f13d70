#include "upstream/trace_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/protobuf.h"
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
  using Encoding = TracingConfig::Encoding;
  EXPECT_EQ(config->encoding, Encoding::kJson);
  EXPECT_EQ(parse_tracing_config(std::string(kHead) + "encoding: Protobuf\n")->encoding,
            Encoding::kProtobuf);
  EXPECT_EQ(parse_tracing_config(kHead)->url, "http://localhost:4318/v1/traces");
  EXPECT_EQ(parse_tracing_config(std::string(kHead) + "endpoint: https://c/x")->url, "https://c/x");
}

TEST(TracingConfig, MistakesAreTold) {
  for (const char* rest : {"samplingRatePerMillion: 1000001", "samplingRatePerMillion: -1",
                           "samplingRatePerMillion: x", "endpoint: [a]", "endpoint: 'ftp://a'",
                           "endpont: a", "encoding: protobuf"})
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
  const auto document = json::parse(otlp_json({trace}, "me"));
  ASSERT_TRUE(document);
  const json::Value& spans = (*document)["resourceSpans"][0]["scopeSpans"][0]["spans"];
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["traceId"].as_string(), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(spans[0]["parentSpanId"].as_string(), "b7ad6b7169203331");
  EXPECT_EQ(spans[0]["attributes"][0]["value"]["stringValue"].as_string(), "/api");
  EXPECT_EQ(spans[1]["parentSpanId"].as_string(), spans[0]["spanId"].as_string());
  EXPECT_EQ(spans[1]["name"].as_string(), "authentication");
}

// The fields of a message with this number.
std::vector<std::string_view> parts(std::string_view message, int field) {
  std::vector<std::string_view> out;
  ProtobufFields in(message);
  while (in.next())
    if (in.field() == field) out.push_back(in.bytes());
  EXPECT_FALSE(in.malformed());
  return out;
}

TEST(TraceExporter, ProtobufSaysTheSameAsJson) {
  const auto context = parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  auto trace = std::make_shared<Trace>(*context, false, "GET", 0x0123456789abcdef);
  {
    TraceSpan span(trace.get(), "authentication");
  }
  trace->note("url.path", "/api");
  trace->finish();
  const auto json = json::parse(otlp_json({trace}, "me"));
  const json::Value& shown = (*json)["resourceSpans"][0]["scopeSpans"][0]["spans"];
  const std::string text = otlp_protobuf({trace}, "me");
  const std::string_view whole = parts(text, 1).at(0);
  EXPECT_EQ(parts(parts(parts(whole, 1).at(0), 1).at(1), 1).at(0), "service.instance.id");
  const auto spans = parts(parts(whole, 2).at(0), 2);
  ASSERT_EQ(spans.size(), 2u);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    auto same = [&](int field, const char* key) {
      const std::string_view id = parts(spans[i], field).at(0);
      EXPECT_EQ(hex_of_id({reinterpret_cast<const std::uint8_t*>(id.data()), id.size()}),
                shown[i][key].as_string())
          << key;
    };
    same(1, "traceId");
    same(2, "spanId");
    same(4, "parentSpanId");
    EXPECT_EQ(parts(spans[i], 5).at(0), shown[i]["name"].as_string());
  }
  const std::string_view note = parts(spans[0], 9).at(0);
  EXPECT_EQ(parts(note, 1).at(0), "url.path");
  EXPECT_EQ(parts(parts(note, 2).at(0), 1).at(0), "/api");
}

}  // namespace
}  // namespace cardea::upstream

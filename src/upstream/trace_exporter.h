#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "base/trace.h"
#include "net/dialer.h"
#include "net/loop.h"

namespace cardea::upstream {

// The file of --tracing-config-file.
struct TracingConfig {
  std::string url = "http://localhost:4318/v1/traces";  // where spans are posted
  std::uint32_t sampling_rate_per_million = 0;          // of requests
  enum class Encoding : std::uint8_t { kJson, kProtobuf };
  Encoding encoding = Encoding::kJson;
};

// A TracingConfiguration. `endpoint` is host:port, or a URL; without a path it gets OTLP's. Beside
// Kubernetes' fields there is `encoding`: JSON or Protobuf.
Result<TracingConfig> parse_tracing_config(std::string_view text);

struct TracingParts {
  net::Loop& loop;
  net::Dialer& dialer;
  Random& random;
  MetricRegistry& metrics;
  std::string server_id;
};

// Sends traces by OTLP over HTTP. A receiver that is away or slow costs requests nothing:
// what does not fit into the queue is dropped and counted. Traces that only the client asked for
// are sent if somebody accepted them.
//
// The parts outlive it; the loop is running.
Result<std::unique_ptr<TraceSink>> make_trace_exporter(TracingConfig config, TracingParts parts);

// One ExportTraceServiceRequest for some traces, as OTLP has it.
using Traces = std::vector<std::shared_ptr<Trace>>;
std::string otlp_json(const Traces& traces, std::string_view server_id);
std::string otlp_protobuf(const Traces& traces, std::string_view server_id);

}  // namespace cardea::upstream

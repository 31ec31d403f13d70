// Traces in the two forms of OpenTelemetry's protocol.
#include <span>

#include "base/protobuf.h"
#include "json/print.h"
#include "json/value.h"
#include "upstream/trace_exporter.h"

namespace cardea::upstream {
namespace {

using json::Value;
using SpanId = std::array<std::uint8_t, 8>;

constexpr int kInternal = 1, kServer = 2;  // kinds of spans

int kind_of(std::size_t place) {
  return place == 0 ? kServer : kInternal;
}

// Nothing: it begins the trace.
std::optional<SpanId> parent_of(const Trace& trace, std::size_t place) {
  if (place > 0) return trace.span_id(trace.spans()[place].parent);
  if (trace.context().parent == SpanId{}) return std::nullopt;
  return trace.context().parent;
}

Value attribute(std::string_view key, std::string_view text) {
  return Value::object({{"key", key}, {"value", Value::object({{"stringValue", text}})}});
}

void add_spans(const Trace& trace, Value& into) {
  const std::vector<Span>& spans = trace.spans();
  const std::string trace_id = hex_of_id(trace.context().trace);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    Value one = Value::object({{"traceId", trace_id},
                               {"spanId", hex_of_id(trace.span_id(i))},
                               {"name", span.name},
                               {"kind", kind_of(i)},
                               {"startTimeUnixNano", std::to_string(trace.unix_time(span.began))},
                               {"endTimeUnixNano", std::to_string(trace.unix_time(span.ended))}});
    if (auto parent = parent_of(trace, i)) one.set("parentSpanId", hex_of_id(*parent));
    Value notes = Value::array({});
    for (const auto& [key, text] : span.notes) notes.push_back(attribute(key, text));
    if (!notes.empty()) one.set("attributes", std::move(notes));
    into.push_back(std::move(one));
  }
}

// The same in Protobuf: opentelemetry/proto/trace/v1/trace.proto has the numbers.

std::string_view bytes_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ProtobufMessage attribute_message(std::string_view key, std::string_view text) {
  ProtobufMessage value, out;
  value.bytes(1, text);
  out.text(1, key);
  out.message(2, value);
  return out;
}

ProtobufMessage span_message(const Trace& trace, std::size_t place) {
  const Span& span = trace.spans()[place];
  ProtobufMessage out;
  out.bytes(1, bytes_of(trace.context().trace));
  out.bytes(2, bytes_of(trace.span_id(place)));
  if (auto parent = parent_of(trace, place)) out.bytes(4, bytes_of(*parent));
  out.text(5, span.name);
  out.integer(6, kind_of(place));
  out.fixed(7, trace.unix_time(span.began));
  out.fixed(8, trace.unix_time(span.ended));
  for (const auto& [key, text] : span.notes) out.message(9, attribute_message(key, text));
  return out;
}

}  // namespace

std::string otlp_json(const Traces& traces, std::string_view server_id) {
  Value spans = Value::array({});
  for (const auto& trace : traces) add_spans(*trace, spans);
  Value scope = Value::object(
      {{"scope", Value::object({{"name", "cardea"}})}, {"spans", std::move(spans)}});
  Value resource = Value::object(
      {{"attributes", Value::array({attribute("service.name", "cardea"),
                                    attribute("service.instance.id", server_id)})}});
  return json::print(Value::object(
      {{"resourceSpans",
        Value::array({Value::object({{"resource", std::move(resource)},
                                     {"scopeSpans", Value::array({std::move(scope)})}})})}}));
}

std::string otlp_protobuf(const Traces& traces, std::string_view server_id) {
  ProtobufMessage name, scope, resource, whole, out;
  name.text(1, "cardea");
  scope.message(1, name);
  for (const auto& trace : traces)
    for (std::size_t i = 0; i < trace->spans().size(); ++i)
      scope.message(2, span_message(*trace, i));
  resource.message(1, attribute_message("service.name", "cardea"));
  resource.message(1, attribute_message("service.instance.id", server_id));
  whole.message(1, resource);
  whole.message(2, scope);
  out.message(1, whole);
  return std::move(out).take();
}

}  // namespace cardea::upstream

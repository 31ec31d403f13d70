#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cardea {

// What a client says about the trace that its request belongs to (W3C Trace Context).
struct TraceContext {
  std::array<std::uint8_t, 16> trace{};
  std::array<std::uint8_t, 8> parent{};
  bool is_sampled = false;
};
// The header `traceparent`. Nothing: it is not one, and the request begins a trace.
std::optional<TraceContext> parse_traceparent(std::string_view header);
std::string hex_of_id(std::span<const std::uint8_t> id);  // lower case
inline constexpr std::string_view kTraceparentHeader = "traceparent";

// A piece of the work on a request.
struct Span {
  std::string name;
  std::size_t parent = 0;  // its place among the spans; the first is the request itself
  std::chrono::steady_clock::time_point began, ended;
  std::vector<std::pair<std::string, std::string>> notes;
};

// The spans of one request, which is worked on by one thread at a time. Where there is none (a null
// pointer), nothing is measured.
class Trace {
 public:
  // `is_invited`: only the client asked for it. `seed`: of the ids of its spans.
  Trace(TraceContext context, bool is_invited, std::string name, std::uint64_t seed = 1);

  void begin(std::string name);                        // a part of the span that is open
  void end();                                          // of the span that was begun last
  void note(std::string_view key, std::string value);  // about the request
  void finish();                                       // ends everything

  // Clients may ask for traces; the answer is yes for those who may see them.
  bool is_invited() const { return is_invited_; }
  void accept(bool may) { is_accepted_ = may; }
  bool is_accepted() const { return !is_invited_ || is_accepted_; }

  // The header by which another server continues this trace, below the span that is open.
  std::string traceparent() const;

  const TraceContext& context() const { return context_; }
  std::array<std::uint8_t, 8> span_id(std::size_t place) const;  // never noughts alone
  const std::vector<Span>& spans() const { return spans_; }
  // Nanoseconds since 1970.
  std::uint64_t unix_time(std::chrono::steady_clock::time_point at) const;

 private:
  const TraceContext context_;
  const bool is_invited_;
  const std::uint64_t seed_;
  bool is_accepted_ = false;
  const std::chrono::system_clock::time_point began_ = std::chrono::system_clock::now();
  std::vector<Span> spans_;
  std::vector<std::size_t> open_;
};

// One span, from its making to the end of the block.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, std::string_view name) : trace_(trace) {
    if (trace_) trace_->begin(std::string(name));
  }
  TraceSpan(Trace* trace, std::string_view what, std::string_view name) : trace_(trace) {
    if (trace_) trace_->begin(std::string(what).append(" ").append(name));
  }
  ~TraceSpan() {
    if (trace_) trace_->end();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Trace* const trace_;
};

// Where traces go. Any thread.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // For a request with this `traceparent`, which may be empty; null: it is not traced.
  virtual std::shared_ptr<Trace> begin(std::string_view traceparent, std::string name) = 0;
  virtual void take(std::shared_ptr<Trace> finished) = 0;
};

}  // namespace cardea

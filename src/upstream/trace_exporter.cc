#include "upstream/trace_exporter.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "http/client.h"
#include "http/url.h"
#include "json/value.h"
#include "json/yaml.h"

namespace cardea::upstream {
namespace {

constexpr std::size_t kMostTracingText = 1u << 20;
constexpr std::size_t kMostWaiting = 4096;  // traces
constexpr std::size_t kMostAtOnce = 512;
constexpr std::chrono::seconds kBetweenSendings{1};
constexpr std::chrono::seconds kLongestSending{10};

template <std::size_t kBytes>
void fill(std::array<std::uint8_t, kBytes>& bytes, Random& random) {
  static_assert(kBytes % 8 == 0);
  for (std::size_t i = 0; i < kBytes; i += 8) {
    std::uint64_t word = random.next();
    if (word == 0) word = 1;  // ids of noughts alone are not valid
    for (std::size_t k = 0; k < 8; ++k) bytes[i + k] = static_cast<std::uint8_t>(word >> (8 * k));
  }
}

class TraceExporter final : public TraceSink {
 public:
  TraceExporter(TracingConfig config, TracingParts parts, std::shared_ptr<const net::TlsClient> tls)
      : config_(std::move(config)),
        server_id_(std::move(parts.server_id)),
        random_(parts.random),
        client_(parts.loop, parts.dialer, std::move(tls), {.max_body = 1u << 20}),
        sent_(counter(parts.metrics, "sent")),
        dropped_(counter(parts.metrics, "dropped")),
        failed_(counter(parts.metrics, "failed")),
        thread_([this] { work(); }) {}

  ~TraceExporter() override {
    {
      std::lock_guard lock(shared_->mutex);
      shared_->is_stopping = true;
      shared_->changed.notify_all();
    }
    thread_.join();
  }

  std::shared_ptr<Trace> begin(std::string_view traceparent, std::string name) override {
    std::optional<TraceContext> context = parse_traceparent(traceparent);
    const bool is_chosen = random_.next() % 1'000'000 < config_.sampling_rate_per_million;
    const bool is_invited = !is_chosen && context && context->is_sampled;
    if (!is_chosen && !is_invited) return nullptr;
    if (!context) {
      context.emplace();
      fill(context->trace, random_);
    }
    return std::make_shared<Trace>(*context, is_invited, std::move(name), random_.next());
  }

  void take(std::shared_ptr<Trace> finished) override {
    if (!finished->is_accepted()) return;
    std::lock_guard lock(shared_->mutex);
    if (waiting_.size() >= kMostWaiting) return dropped_.add();
    waiting_.push_back(std::move(finished));
  }

 private:
  // Answers may come when the exporter is gone.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_stopping = false;
    int answers = 0;
    bool is_good = false;  // the last answer
  };

  static Counter& counter(MetricRegistry& metrics, const char* outcome) {
    return metrics.counter({"cardea_traces_total", "Traces of requests, by what became of them."},
                           {{"outcome", outcome}});
  }

  void work() {
    std::unique_lock lock(shared_->mutex);
    while (!shared_->is_stopping) {
      shared_->changed.wait_for(lock, kBetweenSendings, [this] { return shared_->is_stopping; });
      while (!waiting_.empty()) {
        std::vector<std::shared_ptr<Trace>> batch;
        const std::size_t count = std::min(waiting_.size(), kMostAtOnce);
        const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
        batch.assign(waiting_.begin(), end);
        waiting_.erase(waiting_.begin(), end);
        if (!send(batch, lock)) break;
      }
    }
  }

  // False: better later.
  bool send(const Traces& batch, std::unique_lock<std::mutex>& lock) {
    const int before = shared_->answers;
    lock.unlock();
    const bool is_json = config_.encoding == TracingConfig::Encoding::kJson;
    http::Call call{
        .method = "POST",
        .url = config_.url,
        .headers = {},
        .body = is_json ? otlp_json(batch, server_id_) : otlp_protobuf(batch, server_id_),
        .timeout = kLongestSending,
        .connect_host = {}};
    call.headers.add("content-type", is_json ? "application/json" : "application/x-protobuf");
    client_.send(std::move(call), [shared = shared_](Result<http::Answer> answer) {
      std::lock_guard held(shared->mutex);
      ++shared->answers;
      shared->is_good = answer && answer->status >= 200 && answer->status < 300;
      shared->changed.notify_all();
    });
    lock.lock();
    // At the end there is a last chance, but not for long.
    const auto patience = shared_->is_stopping ? std::chrono::seconds(2)
                                               : kLongestSending + std::chrono::seconds(1);
    shared_->changed.wait_for(lock, patience, [&] { return shared_->answers > before; });
    const bool is_good = shared_->answers > before && shared_->is_good;
    (is_good ? sent_ : failed_).add(batch.size());
    return is_good;
  }

  const TracingConfig config_;
  const std::string server_id_;
  Random& random_;
  http::Client client_;
  Counter &sent_, &dropped_, &failed_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::vector<std::shared_ptr<Trace>> waiting_;  // guarded by the mutex
  std::thread thread_;
};

}  // namespace

Result<TracingConfig> parse_tracing_config(std::string_view text) {
  auto document = json::parse_strict_configuration(text, kMostTracingText,
                                                   json::FlowStyle::kAllowed);
  if (!document) return fail(document.error());
  if (!document->is_object()) return fail(bad_request("a TracingConfiguration is expected"));
  const std::string_view version = (*document)["apiVersion"].as_string();
  const std::string_view group = version.substr(0, version.find('/'));
  if ((*document)["kind"].as_string() != "TracingConfiguration" ||
      (group != "apiserver.k8s.io" && group != "apiserver.config.k8s.io"))
    return fail(bad_request("a TracingConfiguration of apiserver.k8s.io/v1beta1 is expected"));
  TracingConfig out;
  for (const json::Member& member : document->members()) {
    if (member.key() == "apiVersion" || member.key() == "kind") continue;
    if (member.key() == "endpoint" && member.value.is_string()) {
      const std::string given(member.value.as_string());
      out.url = given.find("://") == std::string::npos ? cat("http://", given) : given;
      const auto url = http::parse_url(out.url);
      if (!url) return fail(bad_request(cat("endpoint: ", url.error().message)));
      if (url->target == "/")
        out.url = cat(url->tls ? "https://" : "http://", url->authority, "/v1/traces");
    } else if (member.key() == "samplingRatePerMillion" && member.value.is_int()) {
      const std::int64_t rate = member.value.as_int();
      if (rate < 0 || rate > 1'000'000)
        return fail(bad_request("samplingRatePerMillion must be between 0 and 1000000"));
      out.sampling_rate_per_million = static_cast<std::uint32_t>(rate);
    } else if (member.key() == "encoding" && member.value.as_string() == "JSON") {
      out.encoding = TracingConfig::Encoding::kJson;
    } else if (member.key() == "encoding" && member.value.as_string() == "Protobuf") {
      out.encoding = TracingConfig::Encoding::kProtobuf;
    } else if (member.key() == "encoding") {
      return fail(bad_request("encoding must be JSON or Protobuf"));
    } else {
      return fail(bad_request(cat("unknown or wrong field ", quoted(member.key()))));
    }
  }
  return out;
}

Result<std::unique_ptr<TraceSink>> make_trace_exporter(TracingConfig config, TracingParts parts) {
  auto tls = net::TlsClient::make({.server_cas = {}, .certificates = {}, .key = {}});
  if (!tls) return fail(tls.error());
  return std::make_unique<TraceExporter>(std::move(config), std::move(parts), std::move(*tls));
}

}  // namespace cardea::upstream

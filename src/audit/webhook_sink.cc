#include "audit/webhook_sink.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/strings.h"
#include "upstream/endpoint_client.h"
#include "upstream/kubeconfig.h"

namespace cardea::audit {
namespace {

constexpr std::chrono::hours kLongestBackoff{1};
constexpr std::size_t kLargestAnswer = 1u << 20;

class WebhookSink : public Sink {
 public:
  WebhookSink(WebhookSinkOptions options, std::shared_ptr<upstream::EndpointClient> receiver,
              Random& random)
      : options_(std::move(options)), random_(random), receiver_(std::move(receiver)) {}

  Result<void> write(std::span<const std::string> events) override {
    std::string body =
        "{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"metadata\":{},\"items\":[";
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i) body += ',';
      body += events[i];
    }
    body += "]}";
    for (int attempt = 1;; ++attempt) {
      Result<void> sent = send(body);
      if (sent || attempt >= options_.tries || !pause(attempt)) return sent;
    }
  }

  void cancel() override {
    std::lock_guard lock(state_->mutex);
    state_->is_cancelled = true;
    state_->changed.notify_all();
  }

 private:
  // Shared with answers that come when this is gone.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_cancelled = false;  // guarded by mutex
  };

  Result<void> send(const std::string& body) {
    {
      std::lock_guard lock(state_->mutex);
      if (state_->is_cancelled) return fail(internal_error("the server stops"));
    }
    struct Answered {
      bool is_there = false;
      Result<http::Answer> answer = fail(internal_error(""));
    };
    auto answered = std::make_shared<Answered>();
    receiver_->post(body, options_.timeout, [state = state_, answered](Result<http::Answer> a) {
      std::lock_guard lock(state->mutex);
      answered->is_there = true;
      answered->answer = std::move(a);
      state->changed.notify_all();
    });
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return answered->is_there || state_->is_cancelled; });
    if (!answered->is_there) return fail(internal_error("the server stops"));
    if (!answered->answer) return fail(answered->answer.error());
    int status = answered->answer->status;
    if (status < 200 || status > 299)
      return fail(internal_error(cat("the webhook answered with status ", status)));
    return {};
  }

  // False: the server stops.
  bool pause(int attempt) {
    const auto first = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::min<std::chrono::nanoseconds>(options_.initial_backoff, kLongestBackoff));
    const auto wait = upstream::wait_after(attempt, first, random_);
    std::unique_lock lock(state_->mutex);
    return !state_->changed.wait_for(lock, wait, [&] { return state_->is_cancelled; });
  }

  const WebhookSinkOptions options_;
  Random& random_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::shared_ptr<upstream::EndpointClient> receiver_;
};

}  // namespace

Result<std::unique_ptr<Sink>> make_webhook_sink(WebhookSinkOptions options, net::Loop& loop,
                                                net::Dialer& dialer, Random& random,
                                                net::FileWatch& files) {
  auto endpoint = upstream::read_kubeconfig(options.config_file);
  if (!endpoint) return fail(endpoint.error());
  auto receiver = upstream::EndpointClient::make(loop, dialer, std::move(*endpoint), kLargestAnswer,
                                                 &files);
  if (!receiver) return fail(receiver.error());
  return std::make_unique<WebhookSink>(std::move(options), std::move(*receiver), random);
}

}  // namespace cardea::audit

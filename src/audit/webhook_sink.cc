#include "audit/webhook_sink.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/strings.h"
#include "http/client.h"
#include "http/url.h"
#include "net/file_watch.h"
#include "net/tls.h"
#include "upstream/kubeconfig.h"

namespace cardea::audit {
namespace {

constexpr std::chrono::hours kLongestBackoff{1};

class WebhookSink : public Sink {
 public:
  WebhookSink(WebhookSinkOptions options, net::Loop& loop, net::Dialer& dialer,
              std::shared_ptr<const net::TlsClient> tls, upstream::Endpoint upstream,
              Random& random)
      : options_(std::move(options)),
        upstream_(std::move(upstream)),
        random_(random),
        client_(loop, dialer, std::move(tls), {.max_body = 1u << 20}) {
    state_->token = upstream_.token;
  }

  // What the file with the token holds now; the watch of it may outlive this.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::string token;          // guarded by mutex
    bool is_cancelled = false;  // guarded by mutex
  };
  std::shared_ptr<State> state() const { return state_; }

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
    client_.send(call(body), [state = state_, answered](Result<http::Answer> a) {
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
    double wait = std::chrono::duration<double>(
                      std::min<std::chrono::nanoseconds>(options_.initial_backoff, kLongestBackoff))
                      .count();
    for (int i = 1; i < attempt; ++i) wait *= 1.5;
    wait *= 1 + 0.2 * static_cast<double>(random_.next() % 1000) / 1000;
    std::unique_lock lock(state_->mutex);
    return !state_->changed.wait_for(lock, std::chrono::duration<double>(wait),
                                     [&] { return state_->is_cancelled; });
  }

  http::Call call(const std::string& body) const {
    http::Call call{.method = "POST",
                    .url = upstream_.server,
                    .body = body,
                    .timeout = options_.timeout,
                    .may_repeat = true};
    call.headers.add("content-type", "application/json");
    call.headers.add("accept", "application/json, */*");
    call.headers.add("user-agent", "cardea");
    // The certificate is checked for the name in the URL: name it there, connect to where the
    // server is.
    if (auto url = http::parse_url(upstream_.server);
        !upstream_.tls_server_name.empty() && url && url->tls) {
      call.connect_host = url->host;
      call.connect_port = url->port;
      call.url = cat("https://", upstream_.tls_server_name, ":", url->port, url->target);
    }
    std::lock_guard lock(state_->mutex);
    if (!state_->token.empty())
      call.headers.add("authorization", "Bearer " + state_->token);
    else if (!upstream_.username.empty())
      call.headers.add("authorization",
                       "Basic " + base64(cat(upstream_.username, ":", upstream_.password)));
    return call;
  }

  const WebhookSinkOptions options_;
  const upstream::Endpoint upstream_;
  Random& random_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  http::Client client_;
};

}  // namespace

Result<std::unique_ptr<Sink>> make_webhook_sink(WebhookSinkOptions options, net::Loop& loop,
                                                net::Dialer& dialer, Random& random,
                                                net::FileWatch& files) {
  auto upstream = upstream::read_kubeconfig(options.config_file);
  if (!upstream) return fail(upstream.error());
  auto tls = net::TlsClient::make(upstream->tls);
  if (!tls) return fail(tls.error());
  std::string token_file = upstream->token_file;
  auto sink = std::make_unique<WebhookSink>(std::move(options), loop, dialer, *tls,
                                            std::move(*upstream), random);
  if (!token_file.empty())
    files.watch({token_file}, [weak = std::weak_ptr(sink->state()), token_file] {
      auto text = net::read_whole_file(token_file);
      auto state = weak.lock();
      if (!state || !text || trim(*text).empty()) return;
      std::lock_guard lock(state->mutex);
      state->token = trim(*text);
    });
  return sink;
}

}  // namespace cardea::audit

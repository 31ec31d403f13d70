#include "upstream/webhook_client.h"

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/random.h"
#include "base/strings.h"
#include "http/client.h"
#include "http/url.h"
#include "json/parse.h"
#include "json/print.h"
#include "net/file_watch.h"
#include "net/pause.h"

namespace cardea::upstream {

class WebhookClient::State {
 public:
  State(net::Loop& l, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
        Endpoint upstream, WebhookOptions o)
      : loop(l),
        options(o),
        client(l, dialer, std::move(tls), {.max_body = o.max_answer}),
        upstream_(std::move(upstream)),
        token_(upstream_.token) {}

  void set_token(std::string token) {
    std::lock_guard lock(mutex_);
    token_ = std::move(token);
  }

  http::Call call(const json::Value& document) const {
    http::Call call{.method = "POST",
                    .url = upstream_.server,
                    .body = json::print(document),
                    .timeout = options.timeout,
                    .may_repeat = true};
    call.headers.add("content-type", "application/json");
    call.headers.add("accept", "application/json, */*");
    call.headers.add("user-agent", "cardea");
    if (!upstream_.tls_server_name.empty()) rename(call);
    std::lock_guard lock(mutex_);
    if (!token_.empty())
      call.headers.add("authorization", "Bearer " + token_);
    else if (!upstream_.username.empty())
      call.headers.add("authorization",
                       "Basic " + base64(cat(upstream_.username, ":", upstream_.password)));
    return call;
  }

  std::chrono::milliseconds wait_before(int attempt) {
    double wait = static_cast<double>(options.first_wait.count());
    for (int i = 1; i < attempt; ++i) wait *= 1.5;
    Random& random = options.random ? *options.random : random_;
    wait *= 1 + 0.2 * static_cast<double>(random.next() % 1000) / 1000;
    return std::chrono::milliseconds(static_cast<long>(wait));
  }

  net::Loop& loop;
  const WebhookOptions options;
  http::Client client;

 private:
  // The certificate is checked for the name in the URL: name it there, connect to where the server
  // is.
  void rename(http::Call& call) const {
    auto url = http::parse_url(upstream_.server);
    if (!url || !url->tls) return;
    call.connect_host = url->host;
    call.connect_port = url->port;
    call.url = cat("https://", upstream_.tls_server_name, ":", url->port, url->target);
  }

  const Endpoint upstream_;
  SystemRandom random_;
  mutable std::mutex mutex_;
  std::string token_;  // guarded by mutex_
};

namespace {

bool worth_another_try(const Result<http::Answer>& answer) {
  if (!answer) return answer.error().message.ends_with(lower(std::strerror(ECONNRESET)));
  return answer->status == 429 || answer->status == 500 || answer->status == 504 ||
         answer->headers.has("retry-after");
}

// What a refusal says for itself: the message of a Status, or the beginning of its text.
std::string said_in(const http::Answer& answer) {
  constexpr std::size_t kShown = 256;
  if (auto document = json::parse(answer.body); document && document->is_object())
    if (std::string_view message = (*document)["message"].as_string(); !message.empty())
      return cat(": ", message.substr(0, kShown));
  std::string_view text = trim(answer.body);
  if (text.empty() || !is_valid_utf8(text.substr(0, kShown))) return "";
  return cat(": ", text.substr(0, kShown));
}

Result<json::Value> document_in(const Result<http::Answer>& answer) {
  if (!answer) return fail(answer.error());
  if (answer->status < 200 || answer->status > 299)
    return fail(
        Error::of(answer->status == 504 ? Reason::kTimeout : Reason::kInternalError,
                  cat("the webhook answered with status ", answer->status, said_in(*answer))));
  auto document = json::parse_document(answer->body);
  if (!document)
    return fail(internal_error(cat("the webhook's answer is no JSON: ", document.error().message)));
  if (!document->value.is_object())
    return fail(internal_error("the webhook's answer is no JSON object"));
  // One of the two says something that would be passed over.
  if (!document->duplicates.empty())
    return fail(internal_error(
        cat("the webhook's answer says ", quoted(document->duplicates[0]), " twice")));
  return std::move(document->value);
}

}  // namespace

Result<std::shared_ptr<WebhookClient>> WebhookClient::make(net::Loop& loop, net::Dialer& dialer,
                                                           Endpoint upstream,
                                                           WebhookOptions options,
                                                           net::FileWatch* files) {
  auto tls = net::TlsClient::make(upstream.tls);
  if (!tls) return fail(tls.error());
  std::string token_file = upstream.token_file;
  auto state = std::make_shared<State>(loop, dialer, *tls, std::move(upstream), options);
  if (files && !token_file.empty())
    files->watch({token_file}, [weak = std::weak_ptr(state), token_file] {
      auto text = net::read_whole_file(token_file);
      auto held = weak.lock();
      if (held && text && !trim(*text).empty()) held->set_token(std::string(trim(*text)));
    });
  return std::shared_ptr<WebhookClient>(new WebhookClient(std::move(state)));
}

WebhookClient::~WebhookClient() = default;

Task<Result<json::Value>> WebhookClient::post(json::Value document) const {
  std::shared_ptr<State> state = state_;
  net::Loop* home = net::Loop::current();
  for (int attempt = 1;; ++attempt) {
    auto began = std::chrono::steady_clock::now();
    Result<http::Answer> answer = co_await await_callback<Result<http::Answer>>(
        [&state, &document](auto done) {
          state->client.send(state->call(document),
                             [done](Result<http::Answer> a) mutable { done(std::move(a)); });
        });
    Result<json::Value> found = document_in(answer);
    if (state->options.tried) state->options.tried(found, std::chrono::steady_clock::now() - began);
    if (attempt >= state->options.tries || !worth_another_try(answer)) {
      if (home && !home->in_loop()) {
        bool is_home = co_await await_callback<bool>(
            [home](auto done) { home->post([done]() mutable { done(true); }); });
        (void)is_home;
      }
      co_return found;
    }
    bool waited = co_await net::pause(state->loop, state->wait_before(attempt));
    (void)waited;
  }
}

}  // namespace cardea::upstream

#include "upstream/webhook_client.h"

#include <cerrno>
#include <cstring>

#include "authz/attributes.h"
#include "base/strings.h"
#include "base/trace.h"
#include "json/parse.h"
#include "json/print.h"
#include "net/pause.h"
#include "upstream/endpoint_client.h"

namespace cardea::upstream {

struct WebhookClient::State {
  net::Loop& loop;
  const WebhookOptions options;
  const std::shared_ptr<EndpointClient> endpoint;
  SystemRandom system_random = {};

  Random& random() { return options.random ? *options.random : system_random; }
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
    return fail(Error{answer->status == 504 ? Reason::kTimeout : Reason::kInternalError,
                      cat("the webhook answered with status ", answer->status, said_in(*answer)),
                      nullptr, answer->status == authz::kCircle ? authz::kCircle : 0});
  auto document = json::parse_document(answer->body);
  if (!document)
    return fail(
        internal_error(cat("the webhook's answer is not JSON: ", document.error().message)));
  if (!document->value.is_object())
    return fail(internal_error("the webhook's answer is not a JSON object"));
  // One of the two says something that would be passed over.
  if (!document->duplicates.empty())
    return fail(internal_error(
        cat("the webhook's answer says ", quoted(document->duplicates[0]), " twice")));
  return std::move(document->value);
}

}  // namespace

Result<std::shared_ptr<WebhookClient>> WebhookClient::make(net::Loop& loop, net::Dialer& dialer,
                                                           Endpoint endpoint,
                                                           WebhookOptions options,
                                                           net::FileWatch* files) {
  auto client = EndpointClient::make(loop, dialer, std::move(endpoint), options.max_answer, files);
  if (!client) return fail(client.error());
  std::shared_ptr<State> state(new State{loop, std::move(options), std::move(*client)});
  return std::shared_ptr<WebhookClient>(new WebhookClient(std::move(state)));
}

WebhookClient::~WebhookClient() = default;

Task<Result<json::Value>> WebhookClient::post(json::Value document, std::string via,
                                              std::string traceparent) const {
  std::shared_ptr<State> state = state_;
  net::Loop* home = net::Loop::current();
  for (int attempt = 1;; ++attempt) {
    auto began = std::chrono::steady_clock::now();
    Result<http::Answer> answer = co_await await_callback<Result<http::Answer>>(
        [&state, &document, &via, &traceparent](auto done) {
          http::Headers more;
          if (!via.empty()) more.add(authz::kViaHeader, via);
          if (!traceparent.empty()) more.add(kTraceparentHeader, traceparent);
          state->endpoint->post(
              json::print(document), state->options.timeout,
              [done](Result<http::Answer> a) mutable { done(std::move(a)); }, more);
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
    bool waited = co_await net::pause(
        state->loop, wait_after(attempt, state->options.first_wait, state->random()));
    (void)waited;
  }
}

}  // namespace cardea::upstream

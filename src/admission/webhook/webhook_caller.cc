#include "admission/webhook/webhook_caller.h"

#include <atomic>

#include "admission/webhook/webhook_target.h"
#include "base/metrics.h"
#include "base/strings.h"
#include "json/print.h"
#include "upstream/endpoint_client.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::size_t kLargestAnswer = 8u << 20;

// Collects the answers of several parallel calls. The last one to arrive reports.
struct Gathering {
  std::vector<Result<http::Answer>> answers;
  std::vector<std::chrono::nanoseconds> took;
  const Stopwatch watch = {};
  std::atomic<std::size_t> missing;
  std::move_only_function<void()> complete;

  void arrived() {
    if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) complete();
  }
};

}  // namespace

Result<std::shared_ptr<http::Client>> WebhookCaller::client_of(const Webhook& hook) const {
  std::lock_guard lock(hook.mutex);
  if (hook.client) return hook.client;
  auto client = webhook_client(hook.spec["clientConfig"], outside_, kLargestAnswer);
  if (!client) return client;
  hook.client = std::move(*client);
  return hook.client;
}

Result<WebhookCaller::Prepared> WebhookCaller::prepare(const Question& q,
                                                       const Review& review) const {
  const Webhook& hook = *q.hook;
  if (hook.review_version.empty())
    return fail(
        internal_error("could not create admission objects: webhook does not accept known "
                       "AdmissionReview versions (v1, v1beta1)"));
  auto client = client_of(hook);
  if (!client) return fail(client.error());
  auto target = webhook_target(hook.spec["clientConfig"],
                               cat("?timeout=", hook.timeout.count(), "s"), objects_,
                               review.catalog);
  if (!target) return fail(internal_error(cat("failed to call webhook: ", target.error().message)));
  Prepared out{.client = *client,
               .call = {},
               .uid = make_uid(outside_.random),
               .url = std::move(target->url),
               .address = std::move(target->address)};
  out.call = upstream::json_post(
      out.url, json::print(admission_review(hook.review_version, out.uid, *q.input)), hook.timeout,
      "cardea-admission");
  if (review.trace) out.call.headers.add(kTraceparentHeader, review.trace->traceparent());
  out.call.connect_host = std::move(target->connect_host);
  out.call.connect_port = target->connect_port;
  return out;
}

Task<std::vector<Result<WebhookAnswer>>> WebhookCaller::ask(std::vector<Question> questions,
                                                            const Review& review,
                                                            bool is_mutating) const {
  net::Loop* const home = review.loop;
  std::vector<Result<Prepared>> prepared;
  auto gathering = std::make_shared<Gathering>();
  for (const Question& q : questions) {
    prepared.push_back(prepare(q, review));
    gathering->answers.push_back(fail(internal_error("")));
    gathering->took.emplace_back(0);
  }
  bool done = co_await await_callback<bool>([&prepared, gathering, home](auto resume) {
    gathering->missing = prepared.size() + 1;
    gathering->complete = [home, resume]() mutable {
      if (home)
        home->post([resume]() mutable { resume(true); });
      else
        resume(true);
    };
    // Once the last call is under way this frame may be gone: what is needed afterwards is held
    // here.
    const std::shared_ptr<Gathering> held = gathering;
    std::vector<std::tuple<std::size_t, std::shared_ptr<http::Client>, http::Call>> calls;
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      if (prepared[i])
        calls.emplace_back(i, prepared[i]->client, std::move(prepared[i]->call));
      else
        held->arrived();
    }
    for (auto& [i, client, call] : calls)
      client->send(std::move(call), [held, index = i](Result<http::Answer> answer) {
        held->answers[index] = std::move(answer);
        held->took[index] = held->watch.elapsed();
        held->arrived();
      });
    held->arrived();
  });
  (void)done;
  std::vector<Result<WebhookAnswer>> out;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (!prepared[i])
      out.push_back(fail(prepared[i].error()));
    else if (const Result<http::Answer>& answer = gathering->answers[i]; !answer)
      out.push_back(fail(internal_error(
          cat("failed to call webhook: ",
              call_failure(answer.error(), prepared[i]->url, prepared[i]->address)))));
    else
      out.push_back(read_webhook_answer(*answer, questions[i].hook->review_version,
                                        prepared[i]->uid, is_mutating));
    const bool is_rejected = out[i] ? !out[i]->is_allowed : !questions[i].hook->fails_open;
    outside_.metrics
        .histogram({"apiserver_admission_webhook_admission_duration_seconds",
                    "How long admission webhooks took."},
                   {0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25},
                   {{"name", questions[i].hook->name},
                    {"operation", std::string(operation_name(questions[i].operation))},
                    {"rejected", is_rejected ? "true" : "false"},
                    {"type", is_mutating ? "admit" : "validating"}})
        .observe(gathering->took[i]);
  }
  co_return out;
}

}  // namespace cardea::admission

#include "admission/webhook/webhook_caller.h"

#include <atomic>

#include "admission/plugins/service_address.h"
#include "base/strings.h"
#include "http/url.h"
#include "json/print.h"
#include "upstream/endpoint_client.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::size_t kLargestAnswer = 8u << 20;

// Collects the answers of several parallel calls. The last one to arrive reports.
struct Gathering {
  std::vector<Result<http::Answer>> answers;
  std::atomic<std::size_t> missing;
  std::move_only_function<void()> complete;

  void arrived() {
    if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) complete();
  }
};

std::string host_and_port(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

}  // namespace

Result<std::shared_ptr<http::Client>> WebhookCaller::client_of(const Webhook& hook) const {
  std::lock_guard lock(hook.mutex);
  if (hook.client) return hook.client;
  const auto cas = base64_decode(hook.spec["clientConfig"]["caBundle"].as_string());
  if (!cas)
    return fail(
        internal_error("could not get REST client: unable to load root certificates: unable to "
                       "parse bytes as PEM block"));
  auto tls = net::TlsClient::make({.server_cas = *cas});
  if (!tls)
    return fail(internal_error(
        cat("could not get REST client: unable to load root certificates: ", tls.error().message)));
  hook.client = std::make_shared<http::Client>(outside_.loop, outside_.dialer, *tls,
                                               http::ClientOptions{.max_body = kLargestAnswer});
  return hook.client;
}

Result<WebhookCaller::Prepared> WebhookCaller::prepare(const Question& q,
                                                       const catalog::Catalog& catalog) const {
  const Webhook& hook = *q.hook;
  if (hook.review_version.empty())
    return fail(
        internal_error("could not create admission objects: webhook does not accept known "
                       "AdmissionReview versions (v1, v1beta1)"));
  auto client = client_of(hook);
  if (!client) return fail(client.error());
  Prepared out{.client = *client, .call = {}, .uid = make_uid(outside_.random)};
  const Value& config = hook.spec["clientConfig"];
  const Value& service = config["service"];
  if (service.is_object()) {
    const std::int64_t port = service["port"].is_null() ? 443 : service["port"].as_int();
    const std::string_view name = service["name"].as_string(),
                           space = service["namespace"].as_string();
    const std::string_view path = service["path"].as_string();
    out.url = cat("https://", name, ".", space, ".svc:", port, path.starts_with('/') ? "" : "/",
                  path);
  } else {
    out.url = config["url"].as_string();
  }
  out.url += cat("?timeout=", hook.timeout.count(), "s");
  const auto url = http::parse_url(out.url);
  if (!url || !url->tls)
    return fail(internal_error(cat("failed to call webhook: ",
                                   url ? "the URL is not one of https" : url.error().message)));
  out.address = host_and_port(url->host, url->port);
  out.call = upstream::json_post(
      out.url, json::print(admission_review(hook.review_version, out.uid, *q.input)), hook.timeout,
      "cardea-admission");
  if (service.is_object()) {
    const auto at = resolve_service(objects_, catalog, service["namespace"].as_string(),
                                    service["name"].as_string(), url->port);
    if (!at)
      return fail(internal_error(
          cat("failed to call webhook: Post ", quoted(out.url), ": ", at.error().message)));
    out.call.connect_host = at->host;
    out.call.connect_port = at->port;
    out.address = host_and_port(at->host, at->port);
  }
  return out;
}

Task<std::vector<Result<WebhookAnswer>>> WebhookCaller::ask(std::vector<Question> questions,
                                                            const catalog::Catalog& catalog,
                                                            bool is_mutating,
                                                            net::Loop* home) const {
  std::vector<Result<Prepared>> prepared;
  auto gathering = std::make_shared<Gathering>();
  for (const Question& q : questions) {
    prepared.push_back(prepare(q, catalog));
    gathering->answers.push_back(fail(internal_error("")));
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
  }
  co_return out;
}

}  // namespace cardea::admission

#include "rest/conversion/webhook_converter.h"

#include <algorithm>

#include "admission/webhook/webhook_review.h"
#include "admission/webhook/webhook_target.h"
#include "base/metrics.h"
#include "base/strings.h"
#include "json/print.h"
#include "rest/conversion/conversion_review.h"
#include "schema/custom/defaults.h"
#include "schema/custom/prune.h"
#include "upstream/endpoint_client.h"

namespace cardea::rest {

using catalog::Catalog;
using catalog::Resource;
using json::Value;

namespace {

constexpr std::chrono::milliseconds kReviewTimeout{30'000};
constexpr std::chrono::milliseconds kLeastTimeout{1'000};  // of one that has waited long
constexpr std::size_t kLargestAnswer = 32u << 20;
// A review with more than this is sent in parts.
constexpr std::size_t kMostInReview = 500;
constexpr std::size_t kMostReviewBytes = 8u << 20;
constexpr std::size_t kMostClients = 64;

// Kubernetes gives it no reason, only the code.
Error conversion_error(std::string message) {
  Error error = Error::of(Reason::kUnknown, std::move(message));
  error.code = 500;
  return error;
}

bool has_version(const Resource& r, std::string_view api_version) {
  const auto slash = api_version.find('/');
  if (slash == api_version.npos || api_version.substr(0, slash) != r.group) return false;
  return std::ranges::any_of(r.definition["spec"]["versions"].items(), [&](const Value& v) {
    return v["name"].as_string() == api_version.substr(slash + 1);
  });
}

// The resource in the version that the object is in; null when that version is neither served nor
// stored.
const Resource* version_of(const Value& object, const Resource& to, const Catalog& catalog) {
  std::string_view api = object["apiVersion"].as_string();
  if (to.unserved_storage && to.unserved_storage->api_version() == api) return to.unserved_storage;
  return catalog.find(to.group, api.substr(api.find('/') + 1), to.name);
}

// The object as the webhook gets it: with what its own version's schema says.
Value to_send(const Value& object, const Resource& to, const Catalog& catalog) {
  Value out = object;
  if (const Resource* own = version_of(object, to, catalog)) {
    out = schema::prune(*own->schema, out, true).value;
    if (schema::has_defaults(*own->schema)) out = schema::apply_defaults(*own->schema, out);
  }
  if (out["metadata"].has("resourceVersion")) out.member("metadata").erase("resourceVersion");
  return out;
}

// The webhook's object, as the version has it.
Value to_keep(Value converted, const Value& original, const Resource& to) {
  if (const Value* revision = original["metadata"].find("resourceVersion"))
    converted.member("metadata").set("resourceVersion", *revision);
  return schema::prune(*to.schema, converted, true).value;
}

}  // namespace

Result<std::shared_ptr<http::Client>> WebhookConverter::client_of(const Value& config) const {
  const std::string_view bundle = config["caBundle"].as_string();
  // Services and URLs are reached in different ways.
  const std::string key = cat(config["service"].is_object() ? "service " : "url ", bundle);
  std::lock_guard lock(mutex_);
  if (auto known = clients_.find(key); known != clients_.end()) return known->second;
  Value trusted = config;
  // Spaces alone are no bundle.
  if (auto text = base64_decode(bundle); text && trim(*text).empty()) trusted.erase("caBundle");
  auto client = admission::webhook_client(trusted, outside_, kLargestAnswer);
  if (!client) return client;
  // Bundles of definitions that are gone are forgotten some day; calls keep their client.
  if (clients_.size() >= kMostClients) clients_.clear();
  clients_.emplace(key, *client);
  return client;
}

void WebhookConverter::count(std::string_view failure_type, std::chrono::nanoseconds took) const {
  const MetricRegistry::Labels labels = {{"result", failure_type.empty() ? "success" : "failure"},
                                         {"failure_type", std::string(failure_type)}};
  outside_.metrics
      .counter({"apiserver_conversion_webhook_request_total",
                "Reviews sent to conversion webhooks, by result and kind of failure."},
               labels)
      .add();
  outside_.metrics
      .histogram({"apiserver_conversion_webhook_duration_seconds",
                  "How long reviews of conversion webhooks took."},
                 {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60}, labels)
      .observe(took);
}

Task<Result<std::vector<Value>>> WebhookConverter::ask(std::vector<Value> objects,
                                                       const Resource& to,
                                                       const Catalog& catalog) const {
  const Value webhook = to.definition["spec"]["conversion"]["webhook"];
  const std::string_view version = review_version(webhook["conversionReviewVersions"]);
  if (version.empty()) co_return fail(conversion_error("no supported conversion review versions"));
  auto failed = [&](std::string_view why) {
    return conversion_error(
        cat("conversion webhook for ", kind_named(objects[0]), " failed: ", why));
  };
  auto client = client_of(webhook["clientConfig"]);
  if (!client) co_return fail(conversion_error(client.error().message));
  const Stopwatch watch;
  Result<Turns::Turn> turn = co_await turns_.take(to.qualified_name(), kReviewTimeout);
  if (!turn) co_return fail(failed(cat("its turn did not come: ", turn.error().message)));
  const auto left = kReviewTimeout -
                    std::chrono::duration_cast<std::chrono::milliseconds>(watch.elapsed());
  constexpr std::string_view kNotCalled = "conversion_webhook_call_failure";
  auto target = admission::webhook_target(webhook["clientConfig"], "?timeout=30s", objects_,
                                          catalog);
  if (!target) {
    count(kNotCalled, watch.elapsed());
    co_return fail(failed(target.error().message));
  }
  const std::string uid = make_uid(outside_.random), desired = to.api_version();
  http::Call call = upstream::json_post(
      target->url, json::print(conversion_review(version, uid, desired, objects)),
      std::max<std::chrono::milliseconds>(left, kLeastTimeout), "cardea-conversion");
  call.connect_host = target->connect_host;
  call.connect_port = target->connect_port;
  net::Loop* home = net::Loop::current();
  std::shared_ptr<http::Client> held = *client;
  Result<http::Answer> answer = co_await await_callback<Result<http::Answer>>(
      [held, home, &call](auto done) {
        // Once the answer is there this frame may be gone: what is needed is held here.
        std::shared_ptr<http::Client> used = held;
        used->send(std::move(call), [done, home](Result<http::Answer> a) mutable {
          if (!home) return done(std::move(a));
          home->post([done, a = std::move(a)]() mutable { done(std::move(a)); });
        });
      });
  if (!answer) {
    count(kNotCalled, watch.elapsed());
    co_return fail(failed(admission::call_failure(answer.error(), target->url, target->address)));
  }
  auto converted = read_conversion(*answer, {version, uid, desired, objects});
  count(converted ? std::string_view() : converted.error().type, watch.elapsed());
  if (!converted) co_return fail(conversion_error(std::move(converted.error().message)));
  co_return std::move(*converted);
}

Task<Result<std::vector<Value>>> WebhookConverter::convert(std::vector<Value> objects,
                                                           const Resource& to,
                                                           const Catalog& catalog) const {
  const std::string desired = to.api_version();
  std::size_t next = 0;
  while (next < objects.size()) {
    std::vector<std::size_t> places;
    std::vector<Value> batch;
    std::size_t bytes = 0;
    for (; next < objects.size() && batch.size() < kMostInReview && bytes < kMostReviewBytes;
         ++next) {
      Value& object = objects[next];
      const std::string_view api = object["apiVersion"].as_string();
      if (api == desired) {
        if (schema::has_defaults(*to.schema)) object = schema::apply_defaults(*to.schema, object);
        continue;
      }
      if (!has_version(to, api))
        co_return fail(
            conversion_error(cat("request to convert CR from an invalid group/version: ", api)));
      places.push_back(next);
      batch.push_back(to_send(object, to, catalog));
      bytes += json::print(batch.back()).size();
    }
    if (batch.empty()) continue;
    const Stopwatch watch;
    const std::string from(batch[0]["apiVersion"].as_string());
    Result<std::vector<Value>> converted = co_await ask(std::move(batch), to, catalog);
    outside_.metrics
        .histogram({"apiserver_crd_conversion_webhook_duration_seconds",
                    "How long conversions of custom resources by webhooks took."},
                   exponential_bounds(0.001, 2, 15),
                   {{"crd_name", to.qualified_name()},
                    {"from_version", from.substr(from.find('/') + 1)},
                    {"to_version", to.version},
                    {"succeeded", converted ? "true" : "false"}})
        .observe(watch.elapsed());
    if (!converted) co_return fail(converted.error());
    for (std::size_t i = 0; i < places.size(); ++i)
      objects[places[i]] = to_keep(std::move((*converted)[i]), objects[places[i]], to);
  }
  co_return std::move(objects);
}

}  // namespace cardea::rest

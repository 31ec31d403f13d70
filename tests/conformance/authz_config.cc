// authz-config-validation.json: AuthorizationConfiguration, match conditions, and the answers that
// a webhook authorizer caches.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>

#include "authz/config/authorization_config.h"
#include "authz/webhook/match_conditions.h"
#include "authz/webhook/review_spec.h"
#include "authz/webhook/webhook_authorizer.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "conformance/conformance.h"
#include "http/server.h"
#include "json/print.h"
#include "upstream/webhook_client.h"

namespace cardea::conformance {
namespace {

using json::Value;

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& v : list.items()) out.emplace_back(v.as_string());
  return out;
}

void report(Counts& counts, bool ok, std::string_view part, const Value& name,
            const std::string& got, const std::string& want) {
  counts.check(ok);
  if (!ok)
    std::printf("authz-config %s %s: got %s, want %s\n", std::string(part).c_str(),
                json::print(name).c_str(), got.c_str(), want.c_str());
}

Value with_file(const Value& v, const std::string& file) {
  if (v.is_string()) return v.as_string() == "$EXISTING_REGULAR_FILE" ? Value(file) : v;
  Value out = v;
  if (v.is_array())
    for (std::size_t i = 0; i < v.size(); ++i) out.item(i) = with_file(v[i], file);
  if (v.is_object())
    for (const json::Member& m : v.members()) out.set(m.key(), with_file(m.value, file));
  return out;
}

// A struct may have its JSON names or the names of its Go type, and absent members may be left out.
Value normal(const Value& v) {
  if (!v.is_object()) return v;
  Value out = Value::object();
  for (const json::Member& m : v.members())
    if (!m.value.is_null()) out.set(lower(m.key()), m.value);
  return out.size() == 1 && out.has("type") ? out["type"] : out;
}

void run_validation(Counts& counts, const Value& c, const std::string& file) {
  auto config = authz::authorization_config_of(with_file(c["config"], file));
  if (!config)
    return report(counts, false, "validation", c["name"], config.error().message,
                  "a configuration");
  json::FieldErrors errors = authz::validate(*config,
                                             {texts(c["knownTypes"]), texts(c["repeatableTypes"])});
  Value want = with_file(c["errors"], file);
  bool ok = errors.size() == want.size();
  std::string got;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    got += errors[i].message() + "; ";
    if (!ok) continue;
    Error as_status = json::invalid_object("", "", "", {errors[i]});
    ok = as_status.details->causes[0].reason == want[i]["type"].as_string() &&
         errors[i].field == want[i]["field"].as_string();
    if (want[i].has("badValue")) ok = ok && normal(errors[i].value) == normal(want[i]["badValue"]);
    if (want[i].has("detail") && want[i]["type"].as_string() != "FieldValueNotSupported")
      ok = ok && errors[i].detail == want[i]["detail"].as_string();
  }
  report(counts, ok, "validation", c["name"], got, json::print(want));
}

// The parser and the checker of Cardea have their own texts. Only the fact that an expression does
// not compile, and the place, must agree.
bool same_error(const std::string& got, std::string_view want, bool is_stable) {
  if (is_stable || want.empty()) return got == want;
  auto mark = want.find("compilation failed");
  return mark == std::string_view::npos ? !got.empty() : got.starts_with(want.substr(0, mark));
}

std::string compile_errors(const std::vector<std::string>& expressions) {
  auto compiled = authz::MatchConditions::compile(expressions, "matchConditions");
  std::string got;
  if (!compiled)
    for (const json::FieldError& e : compiled.error())
      got += (got.empty() ? "" : ", ") + e.message();
  return got;
}

void run_conditions(Counts& counts, const Value& data) {
  for (const Value& c : data["matchConditionValidation"].items()) {
    std::vector<std::string> expressions;
    for (const Value& m : c["matchConditions"].items())
      expressions.emplace_back(m["expression"].as_string());
    std::string got = compile_errors(expressions);
    report(counts, same_error(got, c["error"].as_string(), c["errorStable"].as_bool()),
           "match conditions", c["name"], got, json::print(c["error"]));
  }
  for (const Value& c : data["celCompile"].items()) {
    std::string got = compile_errors({std::string(c["expression"].as_string())});
    std::string_view want = c["errorContains"].as_string();
    report(counts, want.empty() ? got.empty() : got.find(want) != std::string::npos, "compile",
           c["name"], got, std::string(want));
  }
  for (const Value& c : data["matchConditionEvaluation"].items()) {
    const Value& expect = c["expect"];
    std::vector<std::string> expressions = texts(c["matchConditions"]);
    std::string problem = compile_errors(expressions);
    std::string_view want_problem = expect["compileError"].as_string();
    std::string decision = "NoOpinion", error;
    if (problem.empty()) {
      auto outcome = authz::MatchConditions::compile(expressions, "")
                         ->evaluate(authz::matched_spec(c["sarSpec"]));
      error = outcome.error;
      if (!error.empty())
        decision = c["failurePolicy"].as_string();
      else if (outcome.matches)
        decision = c["webhookAnswers"]["allowed"].as_bool()  ? "Allow"
                   : c["webhookAnswers"]["denied"].as_bool() ? "Deny"
                                                             : "NoOpinion";
    }
    bool ok = same_error(problem, want_problem, false) &&
              (!problem.empty() || (decision == expect["decision"].as_string() &&
                                    error == expect["evalError"].as_string()));
    report(counts, ok, "evaluation", c["name"], cat(decision, " ", error, problem),
           json::print(expect));
  }
}

// A webhook that gives a status and allows or does not allow.
class Webhook : public http::Handler {
 public:
  void handle(std::shared_ptr<http::Exchange> exchange) override {
    ++calls;
    std::string body = cat(
        R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",)"
        R"("status":{"allowed":)",
        allows ? "true" : "false", "}}");
    exchange->respond({.status = status, .body = http::Body(std::move(body))});
  }
  std::atomic<int> calls = 0, status = 200;
  std::atomic<bool> allows = false;
};

authz::Decision ask(const authz::Authorizer& authorizer, const authz::Attributes& attributes) {
  if (auto at_once = authorizer.authorize(attributes)) return *at_once;
  std::promise<authz::Decision> answer;
  spawn(authorizer.authorize_waiting(attributes),
        [&](authz::Decision d) { answer.set_value(std::move(d)); });
  return answer.get_future().get();
}

void run_cache(Counts& counts, const Value& sequence) {
  using namespace std::chrono_literals;
  Webhook webhook;
  net::Loops loops(1);
  net::Dialer dialer;
  http::Server server(loops, webhook);
  auto port = server.listen("127.0.0.1", 0);
  SystemClock clock;
  MetricRegistry registry;
  auto client = upstream::WebhookClient::make(loops.at(0), dialer,
                                              {.server = cat("http://127.0.0.1:", *port, "/")},
                                              {.first_wait = 1ms})
                    .value();
  authz::WebhookAuthorizerOptions options{
      .name = "webhook", .authorized_ttl = 1000h, .unauthorized_ttl = 1000h};
  options.conditions = authz::MatchConditions::compile(
                           {"has(request.resourceAttributes) && "
                            "request.resourceAttributes.namespace == 'kittensandponies'"},
                           "")
                           .value();
  authz::WebhookAuthorizer authorizer(std::move(options), client, clock,
                                      std::make_shared<authz::WebhookMetrics>(registry, "webhook"));
  const std::string large(2000, 'a');
  for (const Value& step : sequence["steps"].items()) {
    std::string_view request = step["request"].as_string();
    authz::User user{.name = std::string(request.substr(0, request.find('-')))};
    authz::Attributes attributes(user);
    attributes.is_resource_request = true;
    attributes.namespace_name = "kittensandponies";
    if (request.ends_with("-oversized"))
      attributes
          .api_group = attributes
                           .api_version = attributes
                                              .resource = attributes
                                                              .subresource = attributes
                                                                                 .name = large;
    webhook.calls = 0;
    webhook.status = static_cast<int>(step["webhookHTTPStatus"].as_int());
    webhook.allows = step["webhookAllows"].as_bool();
    authz::Decision decision = ask(authorizer, attributes);
    Value got = Value::object({{"error", !decision.error.empty()},
                               {"allowed", decision.allowed()},
                               {"calls", webhook.calls.load()}});
    report(counts, got == step["expect"], "cache", step["name"], json::print(got),
           json::print(step["expect"]));
  }
  client.reset();
}

Value shown(const authz::AuthorizationConfig& config) {
  Value list = Value::array();
  auto set_text = [](Value& object, std::string_view key, const std::string& text) {
    if (!text.empty()) object.set(key, text);
  };
  for (const authz::AuthorizerConfig& a : config.authorizers) {
    Value one = Value::object();
    set_text(one, "type", a.type);
    set_text(one, "name", a.name);
    if (a.webhook) {
      const authz::WebhookConfig& w = *a.webhook;
      Value webhook = Value::object({{"authorizedTTL", print_duration(w.authorized_ttl)},
                                     {"cacheAuthorizedRequests", w.cache_authorized},
                                     {"unauthorizedTTL", print_duration(w.unauthorized_ttl)},
                                     {"cacheUnauthorizedRequests", w.cache_unauthorized}});
      if (w.timeout.count() != 0) webhook.set("timeout", print_duration(w.timeout));
      set_text(webhook, "subjectAccessReviewVersion", w.review_version);
      set_text(webhook, "matchConditionSubjectAccessReviewVersion",
               w.match_condition_review_version);
      set_text(webhook, "failurePolicy", w.failure_policy);
      if (!w.connection_type.empty())
        webhook.member("connectionInfo").set("type", w.connection_type);
      if (w.kubeconfig_file)
        webhook.member("connectionInfo").set("kubeConfigFile", *w.kubeconfig_file);
      for (const std::string& m : w.match_conditions)
        webhook.member("matchConditions").push_back(Value::object({{"expression", m}}));
      one.set("webhook", std::move(webhook));
    }
    list.push_back(std::move(one));
  }
  return Value::object({{"authorizers", std::move(list)}});
}

void run_loading(Counts& counts, const Value& data) {
  for (const Value& c : data["load"].items()) {
    auto config = authz::parse_authorization_config(c["data"].as_string());
    std::string got = config ? json::print(shown(*config)) : config.error().message;
    bool ok = c.has("errorContains")
                  ? !config && got.find(c["errorContains"].as_string()) != std::string::npos
                  : config && shown(*config) == c["config"];
    report(counts, ok, "load", c["name"], got,
           json::print(c.has("errorContains") ? c["errorContains"] : c["config"]));
  }
  for (const Value& c : data["kubeAPIServerLevel"].items()) {
    Value document = c["config"];
    document.set("apiVersion", "apiserver.config.k8s.io/v1");
    document.set("kind", "AuthorizationConfiguration");
    auto config = authz::load_authorization_config(json::print(document),
                                                   texts(c["requireNonWebhookTypes"]));
    std::string got = config ? "" : config.error().message;
    std::string_view want = c["errorContains"].as_string();
    report(counts, want.empty() ? got.empty() : got.find(want) != std::string::npos, "server",
           c["name"], got, std::string(want));
  }
}

}  // namespace

Counts run_authz_config(const std::string& path) {
  Counts counts;
  Value data = read(path);
  std::string file = (std::filesystem::temp_directory_path() / "cardea-kubeconfig-XXXXXX").string();
  int fd = ::mkstemp(file.data());
  for (const Value& c : data["validation"].items()) run_validation(counts, c, file);
  if (fd >= 0) ::close(fd);
  std::filesystem::remove(file);
  run_conditions(counts, data);
  run_cache(counts, data["webhookCacheSequence"]);
  run_loading(counts, data);
  return counts;
}

}  // namespace cardea::conformance

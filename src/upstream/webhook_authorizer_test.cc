#include "authz/webhook/webhook_authorizer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "authz/current_chain.h"
#include "authz/webhook/review_spec.h"
#include "base/strings.h"
#include "http/server.h"
#include "json/parse.h"
#include "json/print.h"
#include "net/testing/test_certificates.h"
#include "upstream/webhook_client.h"

namespace cardea::upstream {
namespace {

using namespace authz;
using namespace std::chrono_literals;
using json::Value;

// A webhook over TLS that gives the answers of the test, and keeps the requests.
class Webhook : public http::Handler {
 public:
  void handle(std::shared_ptr<http::Exchange> exchange) override {
    ++calls;
    {
      std::lock_guard lock(mutex);
      asked = exchange->request().body;
      target = exchange->request().target;
    }
    if (silent) {
      held = std::move(exchange);  // never answered
      return;
    }
    int code = failures > 0 ? 500 : status.load();
    if (failures > 0) --failures;
    http::Response response{.status = code, .body = http::Body(answer)};
    if (retry_after) response.headers.add("Retry-After", "1");
    exchange->respond(std::move(response));
  }
  Value last() {
    std::lock_guard lock(mutex);
    return json::parse(asked).value();
  }

  std::string answer =
      R"({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
          "status": {"allowed": true, "reason": "why not"}})";
  std::atomic<int> calls = 0, failures = 0, status = 200;
  std::atomic<bool> silent = false, retry_after = false;
  std::mutex mutex;
  std::string asked, target;
  std::shared_ptr<http::Exchange> held;
};

class FixedRandom : public Random {
 public:
  std::uint64_t next() override { return 0; }
};

class WebhookAuthorizerTest : public ::testing::Test {
 protected:
  WebhookAuthorizerTest() {
    authority_ = net::testing::issue({.subject = {{"CN", "test"}}, .authority = true});
    auto identity = net::testing::issue(
        {.subject = {{"CN", "webhook"}}, .alternative_names = "IP:127.0.0.1"}, &authority_);
    auto tls = net::TlsServer::make(
        {.certificates = identity.certificate_pem(), .key = identity.key_pem()});
    port_ = server_.listen("127.0.0.1", 0, *tls).value();
  }
  ~WebhookAuthorizerTest() override {
    webhook_.held.reset();
    server_.stop(0ms);
  }

  std::shared_ptr<WebhookAuthorizer> make(WebhookAuthorizerOptions options = {},
                                          std::chrono::milliseconds timeout = 10s,
                                          std::uint16_t port = 0) {
    options.name = "hook";
    auto metrics = std::make_shared<WebhookMetrics>(registry_, "hook");
    Endpoint upstream{.server = cat("https://127.0.0.1:", port ? port : port_, "/authorize?a=b"),
                      .tls = {.server_cas = authority_.certificate_pem()}};
    auto client = WebhookClient::make(
        loops_.at(0), dialer_, upstream,
        {.timeout = timeout,
         .first_wait = 1ms,
         .max_answer = 1 << 20,
         .random = &random_,
         .tried = [metrics](const Result<Value>& answer, std::chrono::nanoseconds took) {
           metrics->tried(answer, took);
         }});
    return std::make_shared<WebhookAuthorizer>(std::move(options), *client, clock_, metrics);
  }

  static Decision ask(const Authorizer& authorizer, const Attributes& attributes) {
    if (auto at_once = authorizer.authorize(attributes)) return *at_once;
    std::promise<Decision> answer;
    spawn(authorizer.authorize_waiting(attributes),
          [&](Decision d) { answer.set_value(std::move(d)); });
    return answer.get_future().get();
  }
  Decision ask(const Authorizer& authorizer) { return ask(authorizer, attributes()); }

  Attributes attributes() {
    Attributes a(jane_);
    a.is_resource_request = true;
    a.verb = "get";
    a.api_version = "v1";
    a.resource = "pods";
    a.namespace_name = "ns";
    return a;
  }
  void status(std::string_view text) { webhook_.answer = cat(R"({"status":)", text, "}"); }
  double metric(std::string_view line) {
    std::string all = registry_.print();
    auto at = all.find(cat(line, " "));
    return at == std::string::npos ? -1 : std::strtod(all.c_str() + at + line.size() + 1, nullptr);
  }

  Webhook webhook_;
  net::Loops loops_{1};
  net::Dialer dialer_;
  http::Server server_{loops_, webhook_};
  net::testing::Identity authority_;
  std::uint16_t port_ = 0;
  FakeClock clock_{std::chrono::system_clock::from_time_t(1'800'000'000)};
  FixedRandom random_;
  MetricRegistry registry_;
  User jane_{.name = "jane", .uid = "7", .groups = {"dev"}, .extra = {{"scopes", {"a", "b"}}}};
};

TEST_F(WebhookAuthorizerTest, AsksWithTheWholeQuestionAndTakesTheAnswer) {
  auto a = make();
  Selectors selectors;
  selectors.fields.add({"spec.nodeName", true, "n1"});
  selectors.labels = json::LabelSelector::parse("a in (x,y),b!=c,!d,e>1").value();
  Attributes question = attributes();
  question.selectors = &selectors;
  Decision d = ask(*a, question);
  EXPECT_TRUE(d.allowed());
  EXPECT_EQ(d.reason.text(), "why not");
  EXPECT_EQ(webhook_.target, "/authorize?a=b");
  EXPECT_EQ(
      json::print(webhook_.last()),
      R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},)"
      R"("spec":{"extra":{"scopes":["a","b"]},"groups":["dev"],)"
      R"("resourceAttributes":{"fieldSelector":{"requirements":[{"key":"spec.nodeName",)"
      R"("operator":"In","values":["n1"]}]},)"
      R"("labelSelector":{"requirements":[{"key":"a","operator":"In","values":["x","y"]},)"
      R"({"key":"b","operator":"NotIn","values":["c"]},{"key":"d","operator":"DoesNotExist"}]},)"
      R"("namespace":"ns","resource":"pods","verb":"get","version":"v1"},"uid":"7","user":"jane"},)"
      R"("status":{"allowed":false}})");
}

TEST_F(WebhookAuthorizerTest, SpeaksTheOlderVersionToo) {
  WebhookAuthorizerOptions options;
  options.review_version = "v1beta1";
  ask(*make(std::move(options)));
  EXPECT_EQ(webhook_.last()["apiVersion"].as_string(), "authorization.k8s.io/v1beta1");
  EXPECT_EQ(json::print(webhook_.last()["spec"]["group"]), R"(["dev"])");
  EXPECT_FALSE(webhook_.last()["spec"].has("groups"));
}

TEST_F(WebhookAuthorizerTest, DeniesAndHasNoOpinion) {
  status(R"({"allowed":false,"denied":true,"reason":"no"})");
  EXPECT_EQ(ask(*make()).kind, Decision::Kind::kDeny);
  status(R"({"allowed":false,"evaluationError":"ignored"})");
  Decision none = ask(*make());
  EXPECT_EQ(none.kind, Decision::Kind::kNoOpinion);
  EXPECT_EQ(none.error, "");
}

TEST_F(WebhookAuthorizerTest, AllowedAndDeniedAtOnceIsDenied) {
  status(R"({"allowed":true,"denied":true})");
  Decision d = ask(*make());
  EXPECT_EQ(d.kind, Decision::Kind::kDeny);
  EXPECT_EQ(d.error, "webhook subject access review returned both allow and deny response");
}

TEST_F(WebhookAuthorizerTest, AnErrorIsNeverAnAllow) {
  for (std::string garbage :
       {"", "no JSON", "[]", "{\"status\":{\"allowed\":\"true\"}}", "{\"status\":[]}",
        "{\"kind\":\"Pod\",\"status\":{\"allowed\":true}}",
        "{\"apiVersion\":\"v1\",\"status\":{\"allowed\":true}}",
        "{\"status\":{\"allowed\":true,\"reason\":7}}", "{\"status\":{\"allowed\":true}",
        R"({"apiVersion": "authorization.k8s.io/v1beta1", "kind": "SubjectAccessReview",
           "status": {"allowed": true}})",
        R"({"status":{"denied":true,"denied":false,"allowed":true}})",
        R"({"status":{"denied":true},"status":{"allowed":true}})"}) {
    webhook_.answer = garbage;
    Decision d = ask(*make());
    EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion) << garbage;
    EXPECT_NE(d.error, "") << garbage;
    WebhookAuthorizerOptions strict;
    strict.denies_on_failure = true;
    EXPECT_EQ(ask(*make(std::move(strict))).kind, Decision::Kind::kDeny) << garbage;
  }
  for (int code : {302, 400, 401, 403, 404, 503}) {
    webhook_.answer = R"({"status":{"allowed":true}})";
    webhook_.status = code;
    webhook_.calls = 0;
    EXPECT_FALSE(ask(*make()).allowed()) << code;
    EXPECT_EQ(webhook_.calls, 1) << code;
  }
}

TEST_F(WebhookAuthorizerTest, AnAnswerThatIsTooLargeIsAFailure) {
  webhook_.answer = cat(R"({"status":{"allowed":true,"reason":")", std::string(2u << 20, 'x'),
                        "\"}}");
  Decision d = ask(*make());
  EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion);
  EXPECT_NE(d.error.find("larger than"), std::string::npos) << d.error;
}

TEST_F(WebhookAuthorizerTest, TriesAgainWhenToldLater) {
  webhook_.failures = 3;
  EXPECT_TRUE(ask(*make()).allowed());
  EXPECT_EQ(webhook_.calls, 4);
  EXPECT_EQ(
      metric(R"(apiserver_authorization_webhook_evaluations_total{name="hook",result="error"})"),
      3);
  EXPECT_EQ(
      metric(R"(apiserver_authorization_webhook_evaluations_total{name="hook",result="success"})"),
      1);
  webhook_.calls = 0;
  webhook_.status = 503;
  webhook_.retry_after = true;
  EXPECT_FALSE(ask(*make()).allowed());
  EXPECT_EQ(webhook_.calls, 5);
}

TEST_F(WebhookAuthorizerTest, WhoDoesNotAnswerInTimeHasFailed) {
  webhook_.silent = true;
  Decision d = ask(*make({}, 50ms));
  EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion);
  EXPECT_NE(d.error.find("within 50 ms"), std::string::npos) << d.error;
  EXPECT_EQ(webhook_.calls, 1);
  EXPECT_EQ(metric(R"(apiserver_authorization_webhook_evaluations_fail_open_total{name="hook",)"
                   R"(result="timeout"})"),
            1);
}

TEST_F(WebhookAuthorizerTest, WhoCannotBeReachedIsNotAskedAgain) {
  Decision d = ask(*make({}, 10s, 1));
  EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion);
  EXPECT_NE(d.error.find("webhook `hook`"), std::string::npos) << d.error;
  EXPECT_EQ(
      metric(R"(apiserver_authorization_webhook_evaluations_total{name="hook",result="error"})"),
      1);
}

TEST_F(WebhookAuthorizerTest, AnotherServersCertificateIsAFailure) {
  authority_ = net::testing::issue({.subject = {{"CN", "other"}}, .authority = true});
  EXPECT_EQ(ask(*make()).kind, Decision::Kind::kNoOpinion);
  EXPECT_EQ(webhook_.calls, 0);
}

TEST_F(WebhookAuthorizerTest, AnswersAreKeptForTheirTime) {
  WebhookAuthorizerOptions options;
  options.authorized_ttl = 5min;
  options.unauthorized_ttl = 30s;
  auto a = make(std::move(options));
  EXPECT_TRUE(ask(*a).allowed());
  status(R"({"allowed":false})");
  clock_.advance(5min);
  EXPECT_TRUE(ask(*a).allowed());
  EXPECT_EQ(webhook_.calls, 1);
  clock_.advance(1ns);
  EXPECT_FALSE(ask(*a).allowed());
  EXPECT_EQ(webhook_.calls, 2);
  clock_.advance(30s);
  EXPECT_FALSE(ask(*a).allowed());
  EXPECT_EQ(webhook_.calls, 2);
  jane_.extra["scopes"] = {"other"};
  EXPECT_FALSE(ask(*a).allowed());
  EXPECT_EQ(webhook_.calls, 3);
}

TEST_F(WebhookAuthorizerTest, FailuresAreNotKept) {
  WebhookAuthorizerOptions options;
  options.authorized_ttl = options.unauthorized_ttl = 1h;
  auto a = make(std::move(options));
  webhook_.status = 404;
  EXPECT_FALSE(ask(*a).allowed());
  webhook_.status = 200;
  EXPECT_TRUE(ask(*a).allowed());
}

TEST_F(WebhookAuthorizerTest, AFalseMatchConditionMeansNotAsked) {
  WebhookAuthorizerOptions options;
  options.denies_on_failure = true;
  options.conditions = MatchConditions::compile(
                           {"request.nonResourceAttributes.path == '/x'", "'dev' in request.groups",
                            "request.user != 'jane'"},
                           "")
                           .value();
  Decision d = ask(*make(std::move(options)));
  EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion);
  EXPECT_EQ(d.error, "");
  EXPECT_EQ(webhook_.calls, 0);
  EXPECT_EQ(metric(R"(apiserver_authorization_match_condition_exclusions_total{type="Webhook",)"
                   R"(name="hook"})"),
            1);
}

TEST_F(WebhookAuthorizerTest, AMatchConditionThatFailsDecidesByThePolicy) {
  WebhookAuthorizerOptions options;
  options.denies_on_failure = true;
  options.conditions = MatchConditions::compile(
                           {"request.nonResourceAttributes.path == '/x'", "request.user == 'jane'"},
                           "")
                           .value();
  Decision d = ask(*make(std::move(options)));
  EXPECT_EQ(d.kind, Decision::Kind::kDeny);
  EXPECT_EQ(d.error,
            "cel evaluation error: expression 'request.nonResourceAttributes.path == '/x'' "
            "resulted in error: no such key: nonResourceAttributes");
  EXPECT_EQ(webhook_.calls, 0);
}

TEST_F(WebhookAuthorizerTest, ContinuesOnTheLoopOfWhoeverAsked) {
  net::Loops own(1);
  auto a = make();
  Attributes question = attributes();
  std::promise<bool> at_home;
  own.at(0).post([&] {
    spawn(a->authorize_waiting(question),
          [&](Decision d) { at_home.set_value(d.allowed() && own.at(0).in_loop()); });
  });
  EXPECT_TRUE(at_home.get_future().get());
}

TEST_F(WebhookAuthorizerTest, AReplacedChainFinishesWhatItBegan) {
  webhook_.silent = true;
  Attributes question = attributes();
  CurrentChain current(
      std::make_shared<Chain>(std::vector<std::shared_ptr<const Authorizer>>{make({}, 100ms)}));
  std::promise<Decision> answer;
  spawn(current.authorize(question),
        [&](Chain::Verdict v) { answer.set_value(std::move(v.decision)); });
  current.set(
      std::make_shared<Chain>(std::vector<std::shared_ptr<const Authorizer>>{always_deny()}));
  EXPECT_EQ(current.decide(question)->decision.reason.text(), "Everything is forbidden.");
  EXPECT_NE(answer.get_future().get().error, "");
}

TEST(DecisionCache, TheLeastRecentlyUsedMakesRoom) {
  FakeClock clock{{}};
  DecisionCache cache(clock, 2);
  cache.add("a", Decision::allow(), 1h);
  cache.add("b", Decision::allow(), 1h);
  EXPECT_TRUE(cache.find("a"));
  cache.add("c", Decision::allow(), 1h);
  EXPECT_FALSE(cache.find("b"));
  EXPECT_TRUE(cache.find("a"));
  EXPECT_TRUE(cache.find("c"));
  EXPECT_EQ(cache.size(), 2u);
}

}  // namespace
}  // namespace cardea::upstream

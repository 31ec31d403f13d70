// A webhook that answers with conditions: both dialects, the conditions that the server evaluates
// itself and those that it sends back to the webhook, caching, and all failures between the two
// calls.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "authz/webhook/webhook_authorizer.h"
#include "base/strings.h"
#include "http/server.h"
#include "json/parse.h"
#include "json/print.h"
#include "upstream/webhook_client.h"

namespace cardea::upstream {
namespace {

using namespace authz;
using namespace std::chrono_literals;
using json::Value;
using wire::Dialect;

// Answers reviews of requests with `status`, and reviews of conditions with `response`.
class Hook : public http::Handler {
 public:
  void handle(std::shared_ptr<http::Exchange> exchange) override {
    Value asked = json::parse(exchange->request().body).value();
    bool is_second = asked["kind"].as_string() == "AuthorizationConditionsReview";
    ++(is_second ? second_calls : first_calls);
    std::string body;
    {
      std::lock_guard lock(mutex);
      (is_second ? second : first) = asked;
      Value uid = asked["request"]["admissionRequest"]["uid"];
      std::string text = response;
      if (auto at = text.find("$UID"); at != std::string::npos)
        text.replace(at, 4, uid.as_string());
      body = is_second ? text
                       : cat(R"({"apiVersion":")", asked["apiVersion"].as_string(),
                             R"(","kind":"SubjectAccessReview","status":)", status, "}");
    }
    if (is_second && is_silent) {
      held = std::move(exchange);
      return;
    }
    exchange->respond(
        {.status = is_second ? code.load() : 200, .body = http::Body(std::move(body))});
  }
  Value last_first() {
    std::lock_guard lock(mutex);
    return first;
  }
  Value last_second() {
    std::lock_guard lock(mutex);
    return second;
  }

  std::mutex mutex;
  std::string status = R"({"allowed":true})", response = "{}";
  Value first, second;
  std::atomic<int> first_calls = 0, second_calls = 0, code = 200;
  std::atomic<bool> is_silent = false;
  std::shared_ptr<http::Exchange> held;
};

constexpr std::string_view
    kTreeAllow = R"({"allowed":false,"conditionalDecision":{"type":"ConditionsMap","conditionsMap":{
  "denyConditions":[],"noOpinionConditions":[],"allowConditions":[{"id":"example.com/a",
    "type":"example.com/t","condition":"opaque","description":"d"}]}}})";
constexpr std::string_view
    kTreeDeny = R"({"allowed":false,"conditionalDecision":{"type":"ConditionsMap","conditionsMap":{
  "denyConditions":[{"id":"example.com/d","type":"example.com/t","condition":"opaque"}],
  "allowConditions":[{"id":"example.com/a"}]}}})";
constexpr std::string_view kListAllow =
    R"({"allowed":false,"conditionsChain":[{"authorizerName":"inner","failureMode":"NoOpinion",
  "conditions":[{"id":"example.com/a","effect":"Allow","type":"example.com/t",
    "condition":"opaque"}]}]})";
constexpr std::string_view kListDeny =
    R"({"allowed":false,"conditionsChain":[{"authorizerName":"inner","failureMode":"NoOpinion",
  "conditions":[{"id":"example.com/d","effect":"Deny","type":"example.com/t","condition":"opaque"},
    {"id":"example.com/a","effect":"Allow","type":"example.com/t"}]}]})";

class WebhookConditionsTest : public ::testing::Test {
 protected:
  WebhookConditionsTest() { port_ = server_.listen("127.0.0.1", 0).value(); }
  ~WebhookConditionsTest() override {
    author_.held.reset();
    server_.stop(0ms);
  }

  std::shared_ptr<const WebhookClient> client(std::uint16_t port,
                                              std::chrono::milliseconds timeout) {
    return WebhookClient::make(loops_.at(0), dialer_,
                               {.server = cat("http://127.0.0.1:", port, "/")},
                               {.timeout = timeout, .first_wait = 1ms, .max_answer = 1 << 20})
        .value();
  }
  std::shared_ptr<WebhookAuthorizer> make(Dialect dialect, std::string version = "v1",
                                          std::chrono::milliseconds timeout = 10s,
                                          std::uint16_t second_port = 0, bool is_strict = false) {
    WebhookAuthorizerOptions options{
        .name = "hook", .review_version = std::move(version), .unauthorized_ttl = 30s};
    options.dialect = dialect;
    options.denies_on_failure = is_strict;
    options.conditions_client = client(second_port ? second_port : port_, timeout);
    return std::make_shared<WebhookAuthorizer>(std::move(options), client(port_, 10s), clock_,
                                               std::make_shared<WebhookMetrics>(registry_, "hook"));
  }
  Attributes question(bool takes_conditions = true) {
    Attributes a(jane_);
    a.is_resource_request = true;
    a.verb = "create";
    a.api_version = "v1";
    a.resource = "configmaps";
    a.namespace_name = "ns";
    a.takes_conditions = takes_conditions;
    return a;
  }
  template <typename T>
  static T wait(Task<T> task) {
    std::promise<T> answer;
    spawn(std::move(task), [&](T v) { answer.set_value(std::move(v)); });
    return answer.get_future().get();
  }
  Decision ask(const Authorizer& a, bool takes_conditions = true) {
    Attributes q = question(takes_conditions);
    if (auto at_once = a.authorize(q)) return *at_once;
    return wait(a.authorize_waiting(q));
  }
  ConditionData data() {
    return {.operation = "CREATE",
            .object = &object_,
            .version = "v1",
            .kind = "ConfigMap",
            .resource = "configmaps",
            .namespace_name = "ns",
            .name = "x",
            .user = &jane_};
  }
  Decision settle(const Authorizer& a, const Decision& open) {
    ConditionData d = data();
    return wait(a.evaluate(open.conditions, d));
  }
  double metric(std::string_view line) {
    std::string all = registry_.print();
    auto at = all.find(cat(line, " "));
    return at == std::string::npos ? -1 : std::strtod(all.c_str() + at + line.size() + 1, nullptr);
  }

  Hook author_;
  net::Loops loops_{1};
  net::Dialer dialer_;
  http::Server server_{loops_, author_};
  std::uint16_t port_ = 0;
  FakeClock clock_{std::chrono::system_clock::from_time_t(1'800'000'000)};
  MetricRegistry registry_;
  User jane_{.name = "jane", .uid = "7", .groups = {"dev"}};
  Value object_ = Value::object({{"metadata", Value::object({{"name", "x"}})}});
};

TEST_F(WebhookConditionsTest, ConditionsAreAskedForOnlyWhereTheyCanBeTaken) {
  ask(*make(Dialect::kNone));
  EXPECT_FALSE(author_.last_first()["spec"].has("authorizationOptions"));
  EXPECT_FALSE(author_.last_first()["spec"].has("conditionalAuthorization"));
  ask(*make(Dialect::kTree), false);
  EXPECT_FALSE(author_.last_first()["spec"].has("authorizationOptions"));
  ask(*make(Dialect::kTree, "v1beta1"));
  EXPECT_FALSE(author_.last_first()["spec"].has("authorizationOptions"));
  ask(*make(Dialect::kTree));
  EXPECT_EQ(json::print(author_.last_first()["spec"]["authorizationOptions"]),
            R"({"handledDecisionTypes":["Allow","Deny","NoOpinion","ConditionsMap","Union"]})");
  ask(*make(Dialect::kList));
  EXPECT_EQ(json::print(author_.last_first()["spec"]["conditionalAuthorization"]),
            R"({"mode":"Optimized"})");
}

TEST_F(WebhookConditionsTest, TheAuthorIsAskedWithItsOwnDecisionInItsOwnWords) {
  author_.status = kTreeAllow;
  auto a = make(Dialect::kTree);
  Decision open = ask(*a);
  ASSERT_EQ(open.kind, Decision::Kind::kConditional);
  author_.response =
      R"({"response":{"uid":"$UID","decision":{"type":"Allow","allow":{"reason":"fine"}}}})";
  Decision settled = settle(*a, open);
  EXPECT_TRUE(settled.allowed());
  EXPECT_EQ(settled.reason.text(), "fine");
  Value asked = author_.last_second();
  EXPECT_EQ(asked["apiVersion"].as_string(), "authorization.k8s.io/v1alpha1");
  EXPECT_EQ(
      asked["request"]["decision"]["conditionsMap"]["allowConditions"][0]["condition"].as_string(),
      "opaque");
  EXPECT_EQ(asked["request"]["admissionRequest"]["operation"].as_string(), "CREATE");
  EXPECT_EQ(asked["request"]["admissionRequest"]["object"], object_);
  EXPECT_EQ(asked["request"]["admissionRequest"]["userInfo"]["username"].as_string(), "jane");

  author_.status = kListAllow;
  a = make(Dialect::kList);
  open = ask(*a);
  ASSERT_EQ(open.kind, Decision::Kind::kConditional);
  author_.response = R"({"response":{"allowed":true,"reason":"fine"}})";
  EXPECT_TRUE(settle(*a, open).allowed());
  asked = author_.last_second();
  EXPECT_EQ(asked["request"]["conditionSets"][0]["authorizerName"].as_string(), "inner");
  EXPECT_EQ(asked["request"]["conditionSets"][0]["conditions"][0]["id"].as_string(),
            "example.com/a");
  EXPECT_EQ(asked["request"]["object"], object_);
}

TEST_F(WebhookConditionsTest, CelIsSettledHereAndNobodyIsAsked) {
  for (std::string_view type :
       {"k8s.io/authorization-cel", "k8s.io/cel", "authorizer.kubernetes.io/cel"}) {
    author_.status = cat(
        R"({"allowed":false,"conditionsChain":[{"authorizerName":"inner","conditions":[
      {"id":"example.com/d","effect":"Deny","type":")",
        type, R"(","condition":"object.metadata.name == 'bad'"},
      {"id":"example.com/a","effect":"Allow","type":")",
        type,
        R"(","condition":"object.metadata.name.startsWith('x') && request.userInfo.username == )"
        R"('jane'"}]}]})");
    auto a = make(Dialect::kList);
    Decision open = ask(*a);
    EXPECT_TRUE(settle(*a, open).allowed());
    object_ = Value::object({{"metadata", Value::object({{"name", "bad"}})}});
    EXPECT_EQ(settle(*a, open).kind, Decision::Kind::kDeny);
    object_ = Value::object({{"metadata", Value::object({{"name", "other"}})}});
    EXPECT_EQ(settle(*a, open).kind, Decision::Kind::kNoOpinion);
    object_ = Value::object({{"metadata", Value::object({{"name", "x"}})}});
  }
  EXPECT_EQ(author_.second_calls, 0);
}

TEST_F(WebhookConditionsTest, WhatDoesNotCompileHereIsForItsAuthor) {
  author_.status = R"j({"allowed":false,"conditionsChain":[{"authorizerName":"inner","conditions":[
    {"id":"example.com/a","effect":"Allow","type":"k8s.io/cel","condition":"ours.only(object)"},
    {"id":"example.com/b","effect":"Allow","type":"k8s.io/cel",
      "condition":"object.metadata.nothing == 1"}]}]})j";
  author_.response = R"({"response":{"allowed":true}})";
  auto a = make(Dialect::kList);
  EXPECT_TRUE(settle(*a, ask(*a)).allowed());
  EXPECT_EQ(author_.second_calls, 1);
  EXPECT_EQ(
      metric(
          R"(cardea_authorization_conditions_evaluation_errors_total{name="hook",effect="Allow"})"),
      1);
  EXPECT_EQ(metric(R"(cardea_authorization_conditions_evaluation_seconds_count{name="hook",)"
                   R"(evaluator="in_process"})"),
            1);
  EXPECT_EQ(metric(R"(cardea_authorization_conditions_evaluation_seconds_count{name="hook",)"
                   R"(evaluator="authorizer"})"),
            1);
}

TEST_F(WebhookConditionsTest, ConditionsAreKeptApartFromPlainAnswersAndForTheShorterTime) {
  author_.status = kTreeAllow;
  auto a = make(Dialect::kTree);
  Decision first = ask(*a);
  author_.status = R"({"allowed":false,"denied":true})";
  // One request sees one state of the policy, and so does the next request while the answer is
  // cached.
  EXPECT_EQ(ask(*a).conditions, first.conditions);
  EXPECT_EQ(author_.first_calls, 1);
  EXPECT_EQ(ask(*a, false).kind, Decision::Kind::kDeny);
  EXPECT_EQ(author_.first_calls, 2);
  clock_.advance(30s + 1ns);
  EXPECT_EQ(ask(*a).kind, Decision::Kind::kDeny);
}

TEST_F(WebhookConditionsTest, AnAnswerThatIsMuchTooHeavyIsNotKept) {
  Value conditions = Value::array();
  for (int i = 0; i < 100; ++i)
    conditions.push_back(
        Value::object({{"id", cat("c", i)}, {"condition", std::string(2000, 'x')}}));
  Value map = Value::object({{"allowConditions", conditions}});
  author_.status = json::print(
      Value::object({{"allowed", false},
                     {"conditionalDecision",
                      Value::object({{"type", "ConditionsMap"}, {"conditionsMap", map}})}}));
  auto a = make(Dialect::kTree);
  EXPECT_EQ(ask(*a).kind, Decision::Kind::kConditional);
  EXPECT_EQ(ask(*a).kind, Decision::Kind::kConditional);
  EXPECT_EQ(author_.first_calls, 2);
}

TEST_F(WebhookConditionsTest, AnswersThatAreNoConditionsFailByThePolicyOfTheWebhook) {
  std::string long_text(10241, 'x'), long_description(1025, 'x');
  for (const std::string& status : {
           std::string(
               R"({"allowed": true,
                  "conditionalDecision": {"type": "ConditionsMap",
                    "conditionsMap": {"allowConditions": [{"id": "a"}]}}})"),
           std::string(R"({"allowed":false,"conditionalDecision":"yes"})"),
           std::string(R"({"allowed":false,"conditionalDecision":{"type":"Allow","allow":{}}})"),
           std::string(
               R"({"allowed": false,
                  "conditionalDecision": {"type": "ConditionsMap",
                    "conditionsMap": {"denyConditions": "x", "allowConditions": [{"id": "a"}]}}})"),
           std::string(
               R"({"allowed": false,
                  "conditionalDecision": {"type": "ConditionsMap",
                    "conditionsMap": {"denyConditions": {"id": "d"},
                      "allowConditions": [{"id": "a"}]}}})"),
           std::string(
               R"({"allowed": false,
                  "conditionalDecision": {"type": "ConditionsMap",
                    "conditionsMap": {"allowConditions": [{"id": "a"}, {"id": "a"}]}}})"),
           std::string(
               R"({"allowed": false,
                  "conditionalDecision": {"type": "ConditionsMap",
                    "conditionsMap": {"allowConditions": [{"id": "k8s.io/a"}]}}})"),
           std::string(
               R"({"allowed": false,
                  "conditionalDecision": {"type": "ConditionsMap",
                    "conditionsMap": {"allowConditions": [{"id": "a", "condition": 7}]}}})"),
           std::string(R"({"allowed":false,"conditionalDecision":{"type":"Union","union":[]}})"),
           cat(R"({"allowed":false,"conditionalDecision":{"type":"ConditionsMap",)"
               R"("conditionsMap":{"allowConditions":[{"id":"a","condition":")",
               long_text, R"("}]}}})"),
           cat(R"({"allowed":false,"conditionalDecision":{"type":"ConditionsMap",)"
               R"("conditionsMap":{"allowConditions":[{"id":"a","description":")",
               long_description, R"("}]}}})"),
       }) {
    author_.status = status;
    Decision d = ask(*make(Dialect::kTree));
    EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion) << status;
    EXPECT_NE(d.error, "") << status;
  }
  for (std::string_view status :
       {R"({"allowed":false,"conditionsChain":[]})", R"({"allowed":false,"conditionsChain":"x"})",
        R"({"allowed": false,
           "conditionsChain": [{"authorizerName": "a", "denied": "true",
               "conditions": [{"id": "a", "effect": "Allow"}]}]})",
        R"({"allowed": false,
           "conditionsChain": [
             {"authorizerName": "a", "conditions": [{"id": "a", "effect": "Maybe"}]}]})"}) {
    author_.status = status;
    Decision d = ask(*make(Dialect::kList));
    EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion) << status;
    EXPECT_NE(d.error, "") << status;
  }
}

TEST_F(WebhookConditionsTest, ConditionsNobodyAskedForAreNeverAnAllow) {
  author_.status = kTreeAllow;
  EXPECT_EQ(ask(*make(Dialect::kNone)).kind, Decision::Kind::kNoOpinion);
  EXPECT_EQ(ask(*make(Dialect::kList)).kind, Decision::Kind::kNoOpinion);
  author_.status = kTreeDeny;
  EXPECT_EQ(ask(*make(Dialect::kNone)).kind, Decision::Kind::kDeny);
  EXPECT_EQ(ask(*make(Dialect::kTree, "v1beta1")).kind, Decision::Kind::kDeny);
}

TEST_F(WebhookConditionsTest, WhatNobodyAskedForAndNobodyCanReadFailsByThePolicyOfTheWebhook) {
  for (std::string_view status : {
           R"({"conditionsChain":[{"authorizerName":"a","denied":"true"}]})",
           R"({"conditionsChain":[{"authorizerName":"a","conditions":{"effect":"Deny"}}]})",
           R"({"conditionsChain":["deny"]})",
           R"({"conditionsChain":[]})",
           R"({"conditionalDecision":{"type":"Union","union":[]}})",
           R"({"conditionalDecision":{"type":"Union","union":["deny"]}})",
           R"({"conditionalDecision":{"type":"NoOpinion","deny":{}}})",
           R"({"conditionalDecision":{"type":"NoOpinion","noOpinion":{}}})",
           R"({"conditionalDecision":{"type":"ConditionsMap","conditionsMap":"x"}})",
           R"({"conditionalDecision":{"type":"ConditionsMap"}})",
           R"({"conditionalDecision": {"type": "ConditionsMap",
                "conditionsMap": {"denyConditions": []}}, "conditionsChain": ["deny"]})",
           R"({"denied":true,"denied":false})",
           R"({"denied":true},"status":{})",
           R"({"conditionalDecision":{"type":"Deny","type":"NoOpinion","noOpinion":{}}})",
       }) {
    author_.status = status;
    Decision d = ask(*make(Dialect::kNone, "v1", 10s, 0, true));
    EXPECT_EQ(d.kind, Decision::Kind::kDeny) << status;
    EXPECT_NE(d.error, "") << status;
  }
}

// The possible answers of a webhook to the question whether its conditions hold.
TEST_F(WebhookConditionsTest, WhateverGoesWrongBetweenThePhasesFailsClosed) {
  struct Kind {
    Dialect dialect;
    std::string_view status;
    Decision::Kind closed;
  };
  const Kind kinds[] = {{Dialect::kTree, kTreeAllow, Decision::Kind::kNoOpinion},
                        {Dialect::kTree, kTreeDeny, Decision::Kind::kDeny},
                        {Dialect::kList, kListAllow, Decision::Kind::kNoOpinion},
                        {Dialect::kList, kListDeny, Decision::Kind::kDeny}};
  const char* const answers[] = {
      "",
      "nonsense",
      "[]",
      "{}",
      R"({"response":null})",
      R"({"response":"yes"})",
      R"({"response":{}})",
      R"({"response":{"uid":"other","decision":{"type":"Allow","allow":{}}}})",
      R"({"response":{"uid":"$UID"}})",
      R"({"response":{"uid":"$UID","decision":{"type":"Maybe"}}})",
      R"({"response":{"uid":"$UID","decision":{"type":"Allow","allow":{},"deny":{}}}})",
      R"({"response": {"uid": "$UID",
            "decision": {"type": "ConditionsMap",
              "conditionsMap": {"allowConditions": [{"id": "a"}]}}}})",
      R"({"response":{"allowed":"true"}})",
      R"({"response":{"allowed":true,"denied":true}})",
      R"({"response":{"uid":"$UID","decision":{"type":"Allow"}}})",
      R"({"response":{"uid":"$UID","decision":{"type":"Allow","allow":"yes"}}})",
      R"({"response": {"uid": "$UID",
            "decision": {"type": "Allow", "allow": {"evaluationError": ["x"]}}}})",
      R"({"response":{"uid":"$UID","decision":{"type":"Allow","allow":{}},"denied":true}})",
      R"({"response":{"uid":"$UID","allowed":false,"decision":{"type":"Allow","allow":{}}}})",
      R"({"response":{"uid":"$UID","allowed":true,"decision":{"type":"Deny","deny":{}}}})",
      R"({"response":{"uid":"$UID","allowed":true,"denied":"true"}})",
      R"({"response":{"uid":"$UID","allowed":true,"evaluationError":{"a":"b"}}})",
      R"({"kind": "SubjectAccessReview",
          "response": {"uid": "$UID", "allowed": true,
            "decision": {"type": "Allow", "allow": {}}}})",
      R"({"apiVersion": "v1",
          "response": {"uid": "$UID", "allowed": true,
            "decision": {"type": "Allow", "allow": {}}}})",
      R"({"status":{"allowed":true}})",
      R"({"allowed":true})"};
  for (const Kind& kind : kinds) {
    author_.status = kind.status;
    auto a = make(kind.dialect);
    Decision open = ask(*a);
    ASSERT_EQ(open.kind, Decision::Kind::kConditional);
    auto expect_closed = [&](const Authorizer& who, const std::string& what) {
      Decision d = settle(who, open);
      EXPECT_EQ(d.kind, kind.closed) << what;
      EXPECT_NE(d.error.find("webhook `hook`"), std::string::npos) << what << ": " << d.error;
    };
    for (const char* answer : answers) {
      author_.response = answer;
      expect_closed(*a, answer);
    }
    author_.response =
        R"({"response":{"uid":"$UID","allowed":true,"decision":{"type":"Allow","allow":{}}}})";
    for (int code : {302, 401, 404, 500, 503}) {
      author_.code = code;
      expect_closed(*a, cat("status ", code));
    }
    author_.code = 200;
    EXPECT_TRUE(settle(*a, open).allowed());
    expect_closed(*make(kind.dialect, "v1", 10s, 1), "nobody listens");
    author_.is_silent = true;
    expect_closed(*make(kind.dialect, "v1", 50ms), "silence");
    author_.is_silent = false;
    author_.held.reset();
  }
}

// A webhook that cannot evaluate a condition does not say which condition. The failure mode
// decides, whatever else the answer says.
TEST_F(WebhookConditionsTest, TheFailureModeDecidesAnEvaluationError) {
  using Kind = Decision::Kind;
  auto listed = [](std::string_view mode, std::string_view effects) {
    std::string conditions;
    for (std::string_view effect : split(effects, ','))
      conditions += cat(conditions.empty() ? "" : ",", R"({"id":"example.com/)", effect,
                        R"(","effect":")", effect, R"(","type":"example.com/t"})");
    return cat(R"({"allowed":false,"conditionsChain":[{"authorizerName":"inner",)", mode,
               R"("conditions":[)", conditions, "]}]}");
  };
  constexpr std::string_view kDeny = R"("failureMode":"Deny",)",
                             kNoOpinion = R"("failureMode":"NoOpinion",)";
  struct Case {
    Dialect dialect;
    std::string status;
    Kind on_no_opinion, on_allow;
  };
  const Case cases[] = {
      {Dialect::kList, listed(kDeny, "Deny"), Kind::kDeny, Kind::kDeny},
      {Dialect::kList, listed("", "Deny"), Kind::kDeny, Kind::kDeny},
      {Dialect::kList, listed(kDeny, "Deny,Allow"), Kind::kDeny, Kind::kDeny},
      {Dialect::kList, listed(kNoOpinion, "Deny,Allow"), Kind::kNoOpinion, Kind::kNoOpinion},
      {Dialect::kList, listed(kDeny, "NoOpinion,Allow"), Kind::kNoOpinion, Kind::kNoOpinion},
      {Dialect::kList, listed(kDeny, "Allow"), Kind::kNoOpinion, Kind::kAllow},
      {Dialect::kTree, std::string(kTreeDeny), Kind::kDeny, Kind::kDeny},
      {Dialect::kTree, std::string(kTreeAllow), Kind::kNoOpinion, Kind::kAllow}};
  for (const Case& c : cases) {
    author_.status = c.status;
    auto a = make(c.dialect);
    Decision open = ask(*a);
    ASSERT_EQ(open.kind, Kind::kConditional) << c.status;
    for (auto [word, member, expected] : {std::tuple("NoOpinion", "noOpinion", c.on_no_opinion),
                                          std::tuple("Allow", "allow", c.on_allow)}) {
      bool allowed = std::string_view(word) == "Allow";
      author_.response = c.dialect == Dialect::kTree
                             ? cat(R"({"response":{"uid":"$UID","decision":{"type":")", word,
                                   R"(",")", member,
                                   R"(":{"evaluationError":"cannot decode object"}}}})")
                             : cat(R"({"response":{"allowed":)", allowed ? "true" : "false",
                                   R"(,"evaluationError":"cannot decode object"}})");
      Decision d = settle(*a, open);
      EXPECT_EQ(d.kind, expected) << word << " of " << c.status;
      EXPECT_EQ(d.error, "webhook `hook`: cannot decode object") << word << " of " << c.status;
    }
  }
}

TEST_F(WebhookConditionsTest, AnEvaluationErrorOfADenyConditionIsNotOutdoneByWhoAllowsNext) {
  author_.status =
      R"({"allowed": false,
          "conditionsChain": [{"authorizerName": "inner", "failureMode": "Deny",
              "conditions": [{"id": "example.com/d", "effect": "Deny",
                "type": "example.com/t"}]}]})";
  author_.response = R"({"response":{"allowed":false,"evaluationError":"cannot decode object"}})";
  auto hook = make(Dialect::kList);
  Chain chain({hook, always_allow()});
  Attributes q = question();
  Chain::Verdict verdict = wait(chain.authorize(q, Asking::kConditionsAware));
  ASSERT_TRUE(verdict.permit && verdict.permit->is_conditional());
  std::vector<std::string> outdone;
  ConditionData d = data();
  d.outdone = &outdone;
  Decision settled = wait(chain.evaluate(verdict.decision, d));
  EXPECT_EQ(settled.kind, Decision::Kind::kDeny);
  EXPECT_EQ(settled.error, "webhook `hook`: cannot decode object");

  // If the webhook declares the failure mode NoOpinion, it is skipped and its error is reported.
  author_.status =
      R"({"allowed": false,
          "conditionsChain": [{"authorizerName": "inner", "failureMode": "NoOpinion",
              "conditions": [{"id": "example.com/d", "effect": "Deny",
                "type": "example.com/t"}]}]})";
  Chain second({make(Dialect::kList), always_allow()});
  verdict = wait(second.authorize(q, Asking::kConditionsAware));
  settled = wait(second.evaluate(verdict.decision, d));
  EXPECT_TRUE(settled.allowed());
  EXPECT_EQ(outdone, std::vector<std::string>{"webhook `hook`: cannot decode object"});
}

TEST_F(WebhookConditionsTest, OneAuthorInManyEntriesIsAFlatChain) {
  Value list = Value::array();
  for (int i = 0; i < 100; ++i)
    list.push_back(Value::object(
        {{"authorizerName", "inner"},
         {"conditions",
          Value::array({Value::object({{"id", "a"},
                                       {"effect", "Allow"},
                                       {"type", "k8s.io/cel"},
                                       {"condition", i == 99 ? "true" : "false"}})})}}));
  author_.status = json::print(Value::object({{"allowed", false}, {"conditionsChain", list}}));
  auto a = make(Dialect::kList);
  Decision open = ask(*a);
  json::FieldErrors errors;
  EXPECT_TRUE(wire::from_tree(wire::as_tree(open), "again", errors, Author::kThirdParty));
  EXPECT_TRUE(settle(*a, open).allowed());
  EXPECT_EQ(author_.second_calls, 0);
}

TEST_F(WebhookConditionsTest, AnAuthorCannotGoBeyondItsOwnConditions) {
  author_.status = kTreeAllow;
  auto a = make(Dialect::kTree);
  author_.response =
      R"({"response": {"uid": "$UID",
            "decision": {"type": "Deny", "deny": {"reason": "changed my mind"}}}})";
  Decision d = settle(*a, ask(*a));
  EXPECT_EQ(d.kind, Decision::Kind::kNoOpinion);
  EXPECT_NE(d.error, "");
}

TEST_F(WebhookConditionsTest, ALargeAnswerIsAFailure) {
  author_.status = kListDeny;
  author_.response = cat(R"({"response":{"allowed":true,"reason":")", std::string(2u << 20, 'x'),
                         "\"}}");
  auto a = make(Dialect::kList);
  EXPECT_EQ(settle(*a, ask(*a)).kind, Decision::Kind::kDeny);
}

TEST_F(WebhookConditionsTest, MatchConditionsSeeHowTheQuestionIsAsked) {
  WebhookAuthorizerOptions options{.name = "hook"};
  options.dialect = Dialect::kTree;
  options.conditions_client = client(port_, 10s);
  options.conditions = MatchConditions::compile(
                           {"has(request.authorizationOptions) && 'Union' in "
                            "request.authorizationOptions.handledDecisionTypes"},
                           "")
                           .value();
  WebhookAuthorizer a(std::move(options), client(port_, 10s), clock_,
                      std::make_shared<WebhookMetrics>(registry_, "hook"));
  EXPECT_TRUE(ask(a, true).allowed());
  EXPECT_EQ(ask(a, false).kind, Decision::Kind::kNoOpinion);
  EXPECT_EQ(author_.first_calls, 1);
}

}  // namespace
}  // namespace cardea::upstream

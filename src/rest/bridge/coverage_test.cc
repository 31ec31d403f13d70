#include "rest/bridge/coverage.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "rest/bridge/cluster_watch.h"

namespace cardea::rest::bridge {
namespace {

using json::Value;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

const char* const kApiServices =
    R"({"items":[{"spec":{"group":"","version":"v1"}},{"spec":{"group":"apps","version":"v1"}},
        {"spec":{"group":"admissionregistration.k8s.io","version":"v1"}},
        {"spec":{"group":"authorization.k8s.io","version":"v1"}},
        {"spec":{"group":"metrics.example","version":"v1","service":{"namespace":"a",
           "name":"b"}}}]})";

Value good_webhook() {
  return parsed(R"({"name":"bridge.cardea.dev","failurePolicy":"Fail","sideEffects":"None",
      "admissionReviewVersions":["v1"],"matchPolicy":"Equivalent","namespaceSelector":{},
           "objectSelector":{},
      "clientConfig":{"url":"https://cardea.example:6443/bridge/v1/admission"},
      "rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"],
           "scope":"*"}]})");
}

Result<Coverage> coverage_of(const Value& webhook) {
  return Coverage::read(Value::object({{"webhooks", Value::array({webhook})}}), "bridge.cardea.dev",
                        parsed(kApiServices));
}

struct Ask {
  std::string_view verb, group, version, resource, subresource, namespace_name;
};

bool is_covered(const Coverage& coverage, const Ask& ask) {
  const authz::User user{.name = "alice"};
  authz::Attributes a(user);
  a.is_resource_request = true;
  a.verb = ask.verb;
  a.api_group = ask.group;
  a.api_version = ask.version;
  a.resource = ask.resource;
  a.subresource = ask.subresource;
  a.namespace_name = ask.namespace_name;
  return coverage.covers(a);
}

constexpr Ask kVolume{"create", "", "v1", "persistentvolumes", "", ""};

TEST(Coverage, OfAWebhookForEverythingHasAllWritesOfObjects) {
  const Result<Coverage> all = coverage_of(good_webhook());
  ASSERT_TRUE(all) << all.error().message;
  for (const Ask& ask : {kVolume, Ask{"update", "", "v1", "pods", "", "default"},
                         Ask{"patch", "apps", "v1", "deployments", "status", "default"},
                         Ask{"update", "", "v1", "pods", "status", "default"},
                         Ask{"delete", "", "v1", "pods", "", "default"},
                         Ask{"deletecollection", "", "v1", "pods", "", "default"},
                         Ask{"update", "", "v1", "namespaces", "", "default"},
                         Ask{"get", "", "v1", "pods", "exec", "default"},
                         Ask{"create", "", "v1", "pods", "portforward", "default"}})
    EXPECT_TRUE(is_covered(*all, ask)) << ask.verb << " " << ask.resource;
}

TEST(Coverage, NeverHasWhatAdmissionDoesNotSeeOrOthersActOn) {
  const Result<Coverage> all = coverage_of(good_webhook());
  ASSERT_TRUE(all);
  for (const Ask& ask :
       {Ask{"get", "", "v1", "pods", "", "default"},
        Ask{"list", "", "v1", "pods", "", ""},
        Ask{"watch", "", "v1", "pods", "", ""},
        Ask{"impersonate", "", "v1", "users", "", ""},
        Ask{"create", "", "v1", "pods", "eviction", "default"},
        Ask{"create", "", "v1", "pods", "binding", "default"},
        Ask{"create", "", "v1", "bindings", "", "default"},
        Ask{"update", "apps", "v1", "deployments", "scale", "default"},
        Ask{"create", "", "v1", "serviceaccounts", "token", "default"},
        Ask{"update", "apps", "v1", "deployments", "finalizers", "default"},
        Ask{"get", "", "v1", "nodes", "proxy", ""},
        Ask{"create", "", "v1", "nodes", "proxy", ""},
        Ask{"get", "", "v1", "services", "proxy", "default"},
        Ask{"get", "", "v1", "pods", "proxy", "default"},
        Ask{"get", "", "v1", "pods", "log", "default"},
        Ask{"update", "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "",
            ""},
        Ask{"create", "authorization.k8s.io", "v1", "subjectaccessreviews", "", ""},
        Ask{"create", "", "*", "pods", "", "default"},
        Ask{"*", "", "v1", "pods", "", "default"},
        Ask{"create", "", "v1", "*", "", "default"}})
    EXPECT_FALSE(is_covered(*all, ask))
        << ask.verb << " " << ask.resource << "/" << ask.subresource;
}

TEST(Coverage, NeverHasGroupsThatAnotherServerServes) {
  const Result<Coverage> all = coverage_of(good_webhook());
  ASSERT_TRUE(all);
  EXPECT_FALSE(is_covered(*all, {"create", "metrics.example", "v1", "things", "", "default"}))
      << "the request does not pass through the cluster's admission";
  EXPECT_FALSE(is_covered(*all, {"create", "unknown.example", "v1", "things", "", "default"}));
  EXPECT_FALSE(is_covered(*all, {"create", "apps", "v2", "deployments", "", "default"}));
}

struct Narrowed {
  const char* what;
  const char* key;
  const char* value;
};

class WebhookThatLeavesSomethingOut : public testing::TestWithParam<Narrowed> {};

TEST_P(WebhookThatLeavesSomethingOut, StandsBehindNothing) {
  Value webhook = good_webhook();
  webhook.set(GetParam().key, parsed(GetParam().value));
  EXPECT_FALSE(coverage_of(webhook)) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Coverage, WebhookThatLeavesSomethingOut,
    testing::Values(
        Narrowed{"another name", "name", R"("other.cardea.dev")"},
        Narrowed{"Ignore", "failurePolicy", R"("Ignore")"},
        Narrowed{"no failure policy", "failurePolicy", "null"},
        Narrowed{"namespaces", "namespaceSelector", R"({"matchLabels":{"a":"b"}})"},
        Narrowed{"namespaces by expression", "namespaceSelector",
                 R"({"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})"},
        Narrowed{"objects", "objectSelector", R"({"matchLabels":{"a":"b"}})"},
        Narrowed{"conditions", "matchConditions", R"([{"name":"x","expression":"true"}])"},
        Narrowed{"side effects", "sideEffects", R"("Some")"},
        Narrowed{"unknown side effects", "sideEffects", R"("Unknown")"},
        Narrowed{"an older review", "admissionReviewVersions", R"(["v1beta1","v1"])"},
        Narrowed{"another path", "clientConfig", R"({"url":"https://cardea.example/other"})"},
        Narrowed{"a longer path", "clientConfig",
                 R"({"url":"https://cardea.example/bridge/v1/admission/more"})"},
        Narrowed{"another path of a service", "clientConfig",
                 R"({"service":{"namespace":"a","name":"b","path":"/"}})"},
        Narrowed{"no address", "clientConfig", "{}"}, Narrowed{"no rules", "rules", "[]"}));

TEST(Coverage, OfAServiceIsAsGoodAsThatOfAUrl) {
  Value webhook = good_webhook();
  webhook.set("clientConfig",
              parsed(R"({"service":{"namespace":"a","name":"b","path":"/bridge/v1/admission"}})"));
  EXPECT_TRUE(coverage_of(webhook));
}

TEST(Coverage, IsNothingWithoutTheWebhookOrWithTwoOfItsName) {
  EXPECT_FALSE(Coverage::read(Value(), "bridge.cardea.dev", parsed(kApiServices)));
  EXPECT_FALSE(Coverage::read(Value::object({{"webhooks", Value::array()}}), "bridge.cardea.dev",
                              parsed(kApiServices)));
  EXPECT_FALSE(
      Coverage::read(Value::object({{"webhooks", Value::array({good_webhook(), good_webhook()})}}),
                     "bridge.cardea.dev", parsed(kApiServices)));
}

TEST(Coverage, IsNothingWithoutApiServices) {
  const auto none = Coverage::read(Value::object({{"webhooks", Value::array({good_webhook()})}}),
                                   "bridge.cardea.dev", Value());
  ASSERT_TRUE(none);
  EXPECT_FALSE(is_covered(*none, kVolume));
}

struct FewerRules {
  const char* rules;
  Ask covered, left_out;
};

TEST(Coverage, HasExactlyWhatTheRulesMatch) {
  const FewerRules cases[] = {
      {R"([{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],
           "resources":["persistentvolumes"]}])",
       kVolume,
       {"update", "", "v1", "persistentvolumes", "", ""}},
      {R"([{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],
           "resources":["persistentvolumes"]}])",
       kVolume,
       {"create", "", "v1", "pods", "", "default"}},
      {R"([{"operations":["UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}])",
       {"patch", "", "v1", "pods", "", "default"},
       {"patch", "", "v1", "pods", "status", "default"}},
      {R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}])",
       {"patch", "apps", "v1", "deployments", "", "default"},
       {"patch", "apps", "v1", "deployments", "status", "default"}},
      {R"([{"operations":["*"],"apiGroups":["apps"],"apiVersions":["*"],"resources":["*/*"]}])",
       {"patch", "apps", "v1", "deployments", "", "default"},
       kVolume},
      {R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["v1beta1"],"resources":["*/*"]},
           {"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}])",
       {"deletecollection", "", "v1", "pods", "", "default"},
       kVolume},
      {R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"],
           "scope":"Cluster"}])",
       kVolume,
       {"create", "", "v1", "pods", "", "default"}},
      {R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"],
           "scope":"Cluster"}])",
       {"update", "", "v1", "namespaces", "", "default"},
       {"update", "", "v1", "pods", "", "default"}},
      {R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"],
           "scope":"Namespaced"}])",
       {"create", "", "v1", "pods", "", "default"},
       kVolume},
      {R"([{"operations":["CONNECT"],"apiGroups":[""],"apiVersions":["v1"],
           "resources":["pods/exec"]}])",
       {"get", "", "v1", "pods", "exec", "default"},
       {"get", "", "v1", "pods", "attach", "default"}},
  };
  for (const FewerRules& c : cases) {
    Value webhook = good_webhook();
    webhook.set("rules", parsed(c.rules));
    const Result<Coverage> some = coverage_of(webhook);
    ASSERT_TRUE(some) << c.rules;
    EXPECT_TRUE(is_covered(*some, c.covered)) << c.rules;
    EXPECT_FALSE(is_covered(*some, c.left_out)) << c.rules;
  }
}

TEST(Verdict, AnErrorIsNeverAnAllow) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(Verdict{}.at(now, milliseconds(5000)), nullptr) << "no check yet";
  Result<Coverage> all = coverage_of(good_webhook());
  ASSERT_TRUE(all);
  const Verdict good{
      .coverage = std::make_shared<const Coverage>(std::move(*all)), .trouble = "", .began = now};
  EXPECT_NE(good.at(now, milliseconds(5000)), nullptr);
  EXPECT_NE(good.at(now + milliseconds(4999), milliseconds(5000)), nullptr);
  EXPECT_EQ(good.at(now + milliseconds(5000), milliseconds(5000)), nullptr) << "too old";
}

}  // namespace
}  // namespace cardea::rest::bridge

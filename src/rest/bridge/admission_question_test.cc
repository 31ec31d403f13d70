#include "rest/bridge/admission_question.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace cardea::rest::bridge {
namespace {

using json::Value;

Value review_of(std::string_view request) {
  auto parsed = json::parse(request);
  EXPECT_TRUE(parsed) << request;
  return Value::object({{"apiVersion", "admission.k8s.io/v1"},
                        {"kind", "AdmissionReview"},
                        {"request", parsed ? *parsed : Value()}});
}

constexpr const char* kUpdate =
    R"({"uid":"1","operation":"UPDATE","kind":{"group":"apps","version":"v1","kind":"Deployment"},
  "resource":{"group":"apps","version":"v1","resource":"deployments"},"namespace":"ns","name":"web",
  "userInfo":{"username":"alice","groups":["dev"]},"object":{"metadata":{"name":"web"}},
           "oldObject":{"metadata":{"name":"web"}}})";

std::string verbs(const AdmissionQuestion& question) {
  std::string out;
  for (const authz::Attributes& a : question.candidates()) {
    out += out.empty() ? "" : ", ";
    out += std::string(a.verb) + " " + std::string(a.namespace_name) + "/" + std::string(a.name);
  }
  return out;
}

TEST(AdmissionQuestion, HasEveryVerbThatMayStandBehindTheOperation) {
  const struct {
    const char *operation, *resource, *namespace_name, *name, *wanted;
  } cases[] = {
      {"CREATE", "pods", "ns", "a", "create ns/, create ns/a"},
      {"CREATE", "pods", "ns", "", "create ns/"},
      {"CREATE", "namespaces", "x", "x", "create /, create x/x"},
      {"UPDATE", "pods", "ns", "a", "update ns/a, patch ns/a"},
      {"DELETE", "pods", "ns", "a", "delete ns/a, deletecollection ns/"},
      {"CONNECT", "pods", "ns", "a", "get ns/a, create ns/a"},
  };
  for (const auto& c : cases) {
    Value review = review_of(kUpdate);
    Value& request = review.member("request");
    request.set("operation", c.operation);
    request.set("namespace", c.namespace_name);
    request.set("name", c.name);
    request.set("object", Value());
    request.set("oldObject", Value());
    request.set("resource",
                Value::object({{"group", ""}, {"version", "v1"}, {"resource", c.resource}}));
    auto question = AdmissionQuestion::read(review);
    ASSERT_TRUE(question) << question.error().message;
    EXPECT_EQ(verbs(**question), c.wanted);
  }
}

TEST(AdmissionQuestion, RefusesToGuess) {
  const struct {
    const char *key, *value;
  } cases[] = {{"uid", R"("")"},
               {"uid", "1"},
               {"operation", R"("READ")"},
               {"operation", "null"},
               {"namespace", "7"},
               {"name", "[]"},
               {"userInfo", "null"},
               {"userInfo", R"({"username":7})"},
               {"userInfo", R"({"username":"a","groups":"dev"})"},
               {"resource", "null"},
               {"resource", R"({"group":1,"version":"v1","resource":"pods"})"},
               {"object", R"("text")"},
               {"oldObject", "[]"},
               {"dryRun", R"("yes")"}};
  for (const auto& c : cases) {
    Value review = review_of(kUpdate);
    review.member("request").set(c.key, *json::parse(c.value));
    EXPECT_FALSE(AdmissionQuestion::read(review)) << c.key << ": " << c.value;
  }
  EXPECT_FALSE(AdmissionQuestion::read(Value()));
  Value older = review_of(kUpdate);
  older.set("apiVersion", "admission.k8s.io/v1beta1");
  EXPECT_FALSE(AdmissionQuestion::read(older));
}

TEST(AdmissionQuestion, SettlesNothingOnAnObjectOfAnotherVersionOrNone) {
  auto whole = AdmissionQuestion::read(review_of(kUpdate));
  ASSERT_TRUE(whole);
  EXPECT_EQ((*whole)->problem_of_data(), "");
  for (const char* change :
       {R"({"requestResource":{"group":"apps","version":"v1beta1","resource":"deployments"}})",
        R"({"requestKind":{"group":"apps","version":"v1beta1","kind":"Deployment"}})",
        R"({"subResource":"status","requestResource":{"group":"apps","version":"v1",
           "resource":"deployments"}})",
        R"({"object":null})", R"({"oldObject":null})"}) {
    Value review = review_of(kUpdate);
    const Value changes = *json::parse(change);
    for (const json::Member& m : changes.members()) review.member("request").set(m.key(), m.value);
    auto question = AdmissionQuestion::read(review);
    ASSERT_TRUE(question);
    EXPECT_NE((*question)->problem_of_data(), "") << change;
  }
}

TEST(Passing, AnErrorIsNeverAnAllow) {
  using enum Finding;
  const std::vector<std::pair<std::vector<Finding>, bool>> changes = {
      {{}, false},
      {{kAllowed}, true},
      {{kNoOpinion}, true},
      {{kDenied}, false},
      {{kRefused}, false},
      {{kForbidden}, false},
      {{kAllowed, kRefused}, true},  // the caller may make the same change by the other verb
      {{kAllowed, kDenied}, true},
      {{kAllowed, kForbidden}, false},
      {{kNoOpinion, kRefused}, false},
      {{kRefused, kNoOpinion}, false},
      {{kNoOpinion, kDenied}, true},  // who is denied one verb, and was let in, came by the other
      {{kDenied, kRefused}, false},
      {{kDenied, kDenied}, false},
      {{kNoOpinion, kForbidden}, false}};
  for (const auto& [findings, wanted] : changes)
    for (const char* operation : {"CREATE", "UPDATE", "DELETE"})
      EXPECT_EQ(passes(operation, findings), wanted)
          << operation << " " << testing::PrintToString(findings.size());
  EXPECT_TRUE(passes("CONNECT", std::vector{kAllowed, kAllowed}));
  EXPECT_TRUE(passes("CONNECT", std::vector{kNoOpinion, kAllowed}));
  EXPECT_TRUE(passes("CONNECT", std::vector{kDenied, kAllowed})) << "it was sent by POST";
  EXPECT_FALSE(passes("CONNECT", std::vector{kAllowed, kRefused}));
  EXPECT_FALSE(passes("CONNECT", std::vector{kRefused, kAllowed}));
  EXPECT_FALSE(passes("CONNECT", std::vector{kAllowed, kDenied}));
}

}  // namespace
}  // namespace cardea::rest::bridge

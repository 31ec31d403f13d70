#include "audit/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::audit {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

Policy policy(std::string_view rules) {
  auto made = Policy::load(cat(kHead, rules));
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return std::move(*made);
}

std::string refusal(std::string_view text) {
  auto made = Policy::load(text);
  return made ? "accepted" : made.error().message;
}

authz::RequestInfo request(std::string_view method, std::string_view path,
                           std::string_view query = "") {
  return *authz::parse_request_info(method, path, query);
}

Level level(const Policy& policy, std::string_view method, std::string_view path,
            authz::User user = {.name = "jane", .groups = {"dev"}}) {
  return policy.treat(&user, request(method, path)).level;
}

TEST(Policy, TheFirstRuleThatMatchesDecidesAndNothingIsRecordedWhereNoneDoes) {
  Policy p = policy(R"(
rules:
- {level: None, verbs: [get]}
- {level: Request, resources: [{group: "", resources: [pods]}]}
- {level: Metadata, resources: [{group: ""}]}
)");
  EXPECT_EQ(level(p, "GET", "/api/v1/namespaces/a/pods/x"), Level::kNone);
  EXPECT_EQ(level(p, "POST", "/api/v1/namespaces/a/pods"), Level::kRequest);
  EXPECT_EQ(level(p, "POST", "/api/v1/namespaces/a/secrets"), Level::kMetadata);
  EXPECT_EQ(level(p, "POST", "/apis/apps/v1/namespaces/a/deployments"), Level::kNone);
}

TEST(Policy, MatchesUsersAndGroupsAndNobodyWhoIsUnknown) {
  Policy p = policy(
      "rules: [{level: Request, users: [jane, bob]}, {level: Metadata, userGroups: [ops]}, {level: "
      "None}]");
  EXPECT_EQ(level(p, "GET", "/version"), Level::kRequest);
  EXPECT_EQ(level(p, "GET", "/version", {.name = "eve", .groups = {"dev", "ops"}}),
            Level::kMetadata);
  EXPECT_EQ(level(p, "GET", "/version", {.name = "eve", .groups = {"dev"}}), Level::kNone);
  EXPECT_EQ(p.treat(nullptr, request("GET", "/version")).level, Level::kNone);
  EXPECT_EQ(policy("rules: [{level: Metadata}]").treat(nullptr, request("GET", "/version")).level,
            Level::kMetadata);
}

TEST(Policy, MatchesSubresourcesAsTheyAreWritten) {
  auto only = [](std::string_view resources) {
    return policy(cat("rules: [{level: Metadata, resources: [{group: \"\", resources: [", resources,
                      "]}]}]"));
  };
  constexpr auto kPod = "/api/v1/namespaces/a/pods/x", kLog = "/api/v1/namespaces/a/pods/x/log",
                 kStatus = "/api/v1/namespaces/a/pods/x/status";
  auto matched = [&](std::string_view resources) {
    Policy p = only(resources);
    return std::vector<bool>{level(p, "GET", kPod) != Level::kNone,
                             level(p, "GET", kLog) != Level::kNone,
                             level(p, "GET", kStatus) != Level::kNone};
  };
  EXPECT_EQ(matched("pods"), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(matched("pods/log"), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(matched("pods/*"), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(matched("\"*\""), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(matched("\"*/status\""), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(matched("pods/"), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(matched("\"*/*\""), (std::vector<bool>{false, false, false}));
}

TEST(Policy, MatchesNamesOfObjects) {
  Policy p = policy(
      "rules: [{level: Metadata, resources: [{group: \"\", resources: [configmaps], resourceNames: "
      "[a, b]}]}]");
  EXPECT_EQ(level(p, "GET", "/api/v1/namespaces/x/configmaps/b"), Level::kMetadata);
  EXPECT_EQ(level(p, "GET", "/api/v1/namespaces/x/configmaps/c"), Level::kNone);
  EXPECT_EQ(level(p, "GET", "/api/v1/namespaces/x/configmaps"), Level::kNone);
}

TEST(Policy, TheEmptyNamespaceStandsForWhatIsInNone) {
  Policy p = policy(
      "rules: [{level: Metadata, namespaces: [\"\"]}, {level: Request, namespaces: "
      "[kube-system]}]");
  EXPECT_EQ(level(p, "GET", "/api/v1/nodes"), Level::kMetadata);
  EXPECT_EQ(level(p, "GET", "/api/v1/namespaces/kube-system/pods"), Level::kRequest);
  EXPECT_EQ(level(p, "GET", "/api/v1/namespaces/other/pods"), Level::kNone);
  EXPECT_EQ(level(p, "GET", "/version"), Level::kNone);
}

TEST(Policy, MatchesPathsUpToTheirStar) {
  Policy p = policy("rules: [{level: Metadata, nonResourceURLs: [/healthz*, /version]}]");
  EXPECT_EQ(level(p, "GET", "/healthz/etcd"), Level::kMetadata);
  EXPECT_EQ(level(p, "GET", "/version"), Level::kMetadata);
  EXPECT_EQ(level(p, "GET", "/version/"), Level::kNone);
  EXPECT_EQ(level(p, "GET", "/api/v1/pods"), Level::kNone);
  EXPECT_EQ(level(policy("rules: [{level: Metadata, nonResourceURLs: [\"*\"]}]"), "GET", "/x"),
            Level::kMetadata);
}

TEST(Policy, AGroupCalledStarIsEveryGroup) {
  Policy p = policy(
      "rules: [{level: Metadata, resources: [{group: \"*\", resources: [deployments]}]}]");
  EXPECT_EQ(level(p, "GET", "/apis/apps/v1/namespaces/a/deployments"), Level::kMetadata);
  EXPECT_EQ(level(p, "GET", "/api/v1/namespaces/a/pods"), Level::kNone);
}

TEST(Policy, StagesOfThePolicyAndOfTheRuleAreLeftOut) {
  Policy p = policy(
      "omitStages: [RequestReceived]\nomitManagedFields: true\nrules: [{level: Metadata, verbs: "
      "[get], omitStages: [ResponseStarted], omitManagedFields: false}, {level: Metadata}]");
  Treatment first = p.treat(nullptr, request("GET", "/version")),
            second = p.treat(nullptr, request("POST", "/version"));
  EXPECT_TRUE(first.omitted.has(Stage::kRequestReceived));
  EXPECT_TRUE(first.omitted.has(Stage::kResponseStarted));
  EXPECT_FALSE(first.omitted.has(Stage::kResponseComplete));
  EXPECT_FALSE(first.omit_managed_fields);
  EXPECT_FALSE(second.omitted.has(Stage::kResponseStarted));
  EXPECT_TRUE(second.omit_managed_fields);
}

TEST(Policy, IsReadStrictly) {
  EXPECT_THAT(refusal(cat(kHead, "rules:\n- level: Metadata\n  foo: bar\n")),
              HasSubstr("strict decoding error: unknown field \"rules[0].foo\""));
  EXPECT_THAT(refusal(cat(kHead, "rules:\n- level: Metadata\n  level: None\n")),
              HasSubstr("already set in map"));
  EXPECT_THAT(
      refusal(cat(kHead, "rules:\n- level: 5\n")),
      HasSubstr(
          "json: cannot unmarshal number into Go struct field PolicyRule.rules.level of type"));
  EXPECT_THAT(refusal(""), HasSubstr("failed decoding"));
  EXPECT_THAT(refusal("apiVersion: audit.k8s.io/v1\nrules: []\n"), HasSubstr("'Kind' is missing"));
  EXPECT_THAT(refusal("kind: Policy\nrules: []\n"), HasSubstr("'apiVersion' is missing"));
  EXPECT_THAT(refusal("apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n"),
              HasSubstr("no kind \"Policy\" is registered for version \"audit.k8s.io/v1beta1\""));
  EXPECT_EQ(refusal(cat(kHead, "rules: []\n")), "loaded illegal policy with 0 rules");
  EXPECT_THAT(refusal(cat(kHead, "rules: [{level: Metadata}]\n---\nrules: [{level: None}]\n")),
              HasSubstr("more than one document"));
  EXPECT_THAT(refusal(cat(kHead, "rules: [{level: Metadata},]\n")),
              HasSubstr("a comma before the end"));
  EXPECT_THAT(refusal(cat(kHead, "rules:\n- &a {level: Metadata}\n- <<: *a\n  users: [x]\n")),
              HasSubstr("merge keys"));
  EXPECT_THAT(refusal(R"({"apiVersion":"audit.k8s.io/v1","kind":"Policy",)"
                      R"("rules":[{"level":"None"}]} omitStages: [])"),
              HasSubstr("after top-level value"));
  EXPECT_EQ(refusal(R"({"apiVersion":"audit.k8s.io/v1","kind":"Policy","metadata":{"name":"x"},)"
                    R"("rules":[{"level":"None"}]})"),
            "accepted");
}

// kube-apiserver's messages for the same file.
TEST(Policy, SaysEverythingThatIsWrongWithItsPath) {
  EXPECT_EQ(refusal(cat(kHead, R"(
omitStages: [Foo, RequestReceived]
rules:
- level: Bar
  omitStages: [Panic, X]
- verbs: [get]
- level: None
  nonResourceURLs: ["*", "health", "/a*b", ""]
- level: Metadata
  nonResourceURLs: ["/a", "/b"]
  namespaces: [""]
- level: Request
  resources:
  - group: "*"
  - group: UPPER.io
    resources: [pods]
  - group: ""
    resourceNames: [xa, ya]
)")),
            "[omitStages[0]: Invalid value: \"Foo\": allowed stages are "
            "RequestReceived,ResponseStarted,ResponseComplete,Panic, "
            "rules[0].level: Unsupported value: \"Bar\": supported values: \"None\", \"Metadata\", "
            "\"Request\", \"RequestResponse\", "
            "rules[0].omitStages[1]: Invalid value: \"X\": allowed stages are "
            "RequestReceived,ResponseStarted,ResponseComplete,Panic, "
            "rules[1].level: Required value, "
            "rules[2].nonResourceURLs[1]: Invalid value: \"health\": non-resource URL rules must "
            "begin with a '/' character, "
            "rules[2].nonResourceURLs[2]: Invalid value: \"/a*b\": non-resource URL wildcards '*' "
            "must be the final character of the rule, "
            "rules[2].nonResourceURLs[3]: Invalid value: \"\": non-resource URL rules must begin "
            "with a '/' character, "
            "rules[3].nonResourceURLs: Invalid value: [\"/a\",\"/b\"]: rules cannot apply to both "
            "regular resources and non-resource URLs, "
            "rules[4].resources.group: Invalid value: \"UPPER.io\": a lowercase RFC 1123 subdomain "
            "must consist of lower case alphanumeric "
            "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), "
            "rules[4].resources.resourceNames: Invalid value: [\"xa\",\"ya\"]: using resourceNames "
            "requires at least one resource]");
}

}  // namespace
}  // namespace cardea::audit

// Decisions by access policies, in process: many policies of which five match, and what a condition
// costs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

#include "authz/access/access_authorizer.h"
#include "base/strings.h"
#include "feeds/access_policy_feed.h"
#include "json/parse.h"
#include "store/testing/memory_store.h"

namespace cardea {
namespace {

using namespace authz;
using namespace authz::access;

PolicyPtr policy(const std::string& name, const std::string& spec) {
  auto object = json::parse(cat(R"({"spec":)", spec, "}"));
  CARDEA_CHECK(object.has_value());
  return std::make_shared<const Policy>("", name, *object);
}

// Policies of many users and groups; the last five concern alice's pods.
Index policies(int count) {
  Index index;
  for (int i = 0; i + 5 < count; ++i)
    index.add(
        policy(cat("p", i),
               cat(R"({"effect":"Allow","subjects":[{"kind":")", i % 2 ? "User" : "Group",
                   R"(","name":"s)", i,
                   R"("}],"rules":[{"verbs":["create"],"apiGroups":[""],"resources":["pods"]}],)"
                   R"("expression":"request.namespace == 'n)",
                   i % 100, R"('"})")));
  index.add(policy("m1",
                   R"({"effect": "Allow", "subjects": [{"kind": "User", "name": "alice"}],
          "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}]})"));
  index.add(policy("m2",
                   R"({"effect": "Allow", "subjects": [{"kind": "Group", "name": "dev"}],
          "expression": "request.resource == 'pods' && request.verb == 'create'"})"));
  index.add(policy("m3",
                   R"({"effect": "NoOpinion", "subjects": [{"kind": "User", "name": "alice"}],
          "expression": "request.namespace == 'other'"})"));
  index.add(policy("m4",
                   R"j({"effect": "Deny",
          "expression": "request.userInfo.username == 'alice' && )j"
                   R"j(request.namespace.startsWith('kube-')"})j"));
  index.add(policy(
      "m5",
      R"({"effect": "Deny", "rules": [{"verbs": ["*"], "apiGroups": [""], "resources": ["pods"]}],
          "expression": "'banned' in request.userInfo.groups"})"));
  return index;
}

Attributes question(const User& user) {
  Attributes a(user);
  a.is_resource_request = true;
  a.verb = "create";
  a.api_version = "v1";
  a.resource = "pods";
  a.namespace_name = "default";
  a.takes_conditions = true;
  return a;
}

// The median over rounds of the mean of one call, in nanoseconds.
template <typename F>
double measure(F call) {
  constexpr int kRounds = 21, kCalls = 5000;
  std::vector<double> rounds;
  for (int r = 0; r < kRounds; ++r) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    rounds.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
        kCalls);
  }
  std::ranges::sort(rounds);
  return rounds[kRounds / 2];
}

}  // namespace
}  // namespace cardea

// Prints lines of a name and nanoseconds.
int main() {
  using namespace cardea;
  User alice{.name = "alice", .groups = {"dev", "ops", "system:authenticated"}};
  for (int count : {10, 1000, 10000, 100000}) {
    Index index = policies(count);
    Attributes a = question(alice);
    CARDEA_CHECK(decide(index, a).allowed());
    std::printf("decide_%d %.0f\n", count, measure([&] { (void)decide(index, a); }));
  }
  Index index;
  index.add(policy("c",
                   R"({"effect":"Allow","subjects":[{"kind":"User","name":"alice"}],
          "rules":[{"verbs":["create"],"apiGroups":[""],"resources":["pods"]}],
          "expression":"object.metadata.labels.owner == request.userInfo.username"})"));
  Attributes a = question(alice);
  Decision d = decide(index, a);
  CARDEA_CHECK(d.kind == Decision::Kind::kConditional);
  std::printf("partial %.0f\n", measure([&] { (void)decide(index, a); }));
  json::Value object = *json::parse(R"({"metadata":{"name":"x","labels":{"owner":"alice"}}})");
  SystemClock clock;
  auto store = store::make_memory_store(clock);
  auto feed = feeds::AccessPolicyFeed::start(*store).value();
  AccessAuthorizer authorizer(feed->snapshot());
  ConditionData data{.operation = "CREATE", .object = &object, .user = &alice};
  std::printf("condition %.0f\n", measure([&] {
                spawn(authorizer.evaluate(d.conditions, data),
                      [](Decision out) { CARDEA_CHECK(out.allowed()); });
              }));
  return 0;
}

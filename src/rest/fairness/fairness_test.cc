#include "rest/fairness/fairness.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "catalog/kinds/strategies.h"
#include "json/parse.h"
#include "rest/fairness/allocation.h"

namespace cardea::rest::fairness {
namespace {

using json::Value;
using namespace std::chrono_literals;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

// What a new server has.
struct Objects {
  Objects() {
    for (Value& object : catalog::bootstrap_flow_control("2026-01-31T00:00:00Z"))
      (object["kind"].as_string() == "FlowSchema" ? schemas : levels).push_back(std::move(object));
  }
  std::vector<Value> levels, schemas;
};

authz::RequestInfo info_of(std::string_view method, std::string_view path) {
  auto at = path.find('?');
  auto info = authz::parse_request_info(method, path.substr(0, at),
                                        at == path.npos ? "" : path.substr(at + 1));
  EXPECT_TRUE(info);
  return *info;
}

authz::User user(std::string name, std::vector<std::string> groups = {}) {
  groups.emplace_back("system:authenticated");
  return {.name = std::move(name), .groups = std::move(groups)};
}

class FairnessTest : public testing::Test {
 protected:
  std::string schema_of(const authz::User& u, std::string_view method, std::string_view path) {
    return fairness.plan()->classify(u, info_of(method, path)).schema.name;
  }
  void use(const Objects& these) {
    fairness.set_rules(Rules::read(these.levels, these.schemas), now);
  }

  Time now{};
  MetricRegistry metrics;
  Fairness fairness{600, 1, metrics, now};
  Objects objects;
};

TEST_F(FairnessTest, ClassifiesAsANewServerIsConfigured) {
  use(objects);
  const std::string_view pods = "/api/v1/namespaces/a/pods";
  EXPECT_EQ(schema_of(user("admin", {"system:masters"}), "GET", pods), "exempt");
  EXPECT_EQ(schema_of(user("jane"), "GET", "/livez"), "probes");
  EXPECT_EQ(schema_of(user("jane"), "GET", "/livez/ping"), "probes");
  EXPECT_EQ(schema_of(user("jane"), "GET", "/livezz"), "global-default");
  EXPECT_EQ(schema_of(user("jane"), "POST", "/livez"), "global-default");
  EXPECT_EQ(schema_of(user("jane"), "GET", pods), "global-default");
  EXPECT_EQ(schema_of(user("system:kube-scheduler"), "GET", pods), "kube-scheduler");
  EXPECT_EQ(schema_of(user("system:kube-scheduler"), "PUT",
                      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x"),
            "system-leader-election");
  EXPECT_EQ(schema_of(user("system:node:n1", {"system:nodes"}), "PATCH", "/api/v1/nodes/n1/status"),
            "system-node-high");
  EXPECT_EQ(schema_of(user("system:node:n1", {"system:nodes"}), "GET", pods), "system-nodes");
  EXPECT_EQ(schema_of(user("system:serviceaccount:kube-system:x", {"system:serviceaccounts"}),
                      "GET", pods),
            "kube-system-service-accounts");
  EXPECT_EQ(schema_of(user("system:serviceaccount:kube-system2:x", {"system:serviceaccounts"}),
                      "GET", pods),
            "service-accounts");
  // In no group at all.
  EXPECT_EQ(schema_of({.name = "ghost"}, "GET", pods), "catch-all");
}

TEST_F(FairnessTest, SharesTheSeats) {
  use(objects);
  // Of 245 shares.
  EXPECT_EQ(fairness.limits("workload-low").nominal, 245);
  EXPECT_EQ(fairness.limits("workload-low").lowest, 24);
  EXPECT_EQ(fairness.limits("workload-low").highest, 845);
  EXPECT_EQ(fairness.limits("global-default").nominal, 49);
  EXPECT_EQ(fairness.limits("catch-all").nominal, 13);
  EXPECT_EQ(fairness.limits("catch-all").lowest, 13);
  EXPECT_EQ(fairness.limits("exempt").nominal, 0);
}

TEST_F(FairnessTest, LendsSeatsThatAreNotNeededAndTakesThemBack) {
  use(objects);
  const auto& plan = fairness.plan();
  Level* busy = nullptr;
  Level* lender = nullptr;
  for (const auto& level : plan->levels) {
    if (level->name() == "global-default") busy = level.get();
    if (level->name() == "workload-low") lender = level.get();
  }
  fairness.adjust(now += 10s);
  int taken = 0;
  while (busy->take(1, now) == Level::Take::kTaken) ++taken;
  EXPECT_GE(taken, 49);
  busy->sample_demand(now);
  fairness.adjust(now += 10s);
  EXPECT_GT(busy->limit(), 49);
  const int borrowed = busy->limit();
  EXPECT_LE(lender->limit(), 600);
  // The lender needs its own again: it gets its nominal limit.
  int lent = 0;
  while (lent < 245 && lender->take(1, now) == Level::Take::kTaken) ++lent;
  lender->sample_demand(now);
  for (int i = 0; i < 40; ++i) fairness.adjust(now += 10s);
  EXPECT_GE(lender->limit(), std::min(lent, 245));
  EXPECT_LE(busy->limit() + lender->limit(), 700);
  EXPECT_GT(borrowed, 49);
}

TEST_F(FairnessTest, ABrokenConfigurationFallsToCatchAllNotExempt) {
  // "An error is never an allow": whatever is broken, a request of an ordinary user is limited.
  Objects broken;
  for (Value& level : broken.levels)
    if (level["metadata"]["name"].as_string() != "workload-low")
      level.member("spec").set("type", "Exempt");
  for (Value& schema : broken.schemas) {
    const std::string_view name = schema["metadata"]["name"].as_string();
    if (name == "global-default")
      schema.member("spec").set("priorityLevelConfiguration", Value::object({{"name", "gone"}}));
    if (name == "exempt") schema.member("spec").set("rules", "all");
    if (name == "catch-all") schema.set("spec", Value());
  }
  use(broken);
  const auto& row = fairness.plan()->classify(user("jane"), info_of("GET", "/api/v1/pods"));
  EXPECT_EQ(row.schema.name, "catch-all");
  EXPECT_FALSE(row.flow->level.is_exempt());
  EXPECT_EQ(row.flow->level.name(), "catch-all");
  fairness.set_rules(Rules::read({}, {}), now);
  EXPECT_EQ(schema_of(user("jane"), "GET", "/api/v1/pods"), "catch-all");
  EXPECT_EQ(schema_of(user("admin", {"system:masters"}), "GET", "/api/v1/pods"), "exempt");
}

TEST_F(FairnessTest, OnlyTheLevelExemptIsExempt) {
  EXPECT_FALSE(LevelSpec::read(
      parsed(R"({"metadata":{"name":"mine"},"spec":{"type":"Exempt","exempt":{}}})")));
  auto limited = [](std::string_view name, std::string_view response) {
    return LevelSpec::read(parsed(
        cat(R"({"metadata":{"name":")", name, R"("},"spec":{"type":"Limited",)",
            R"("limited":{"nominalConcurrencyShares":1,"limitResponse":)", response, "}}}")));
  };
  EXPECT_TRUE(limited("mine", R"({"type":"Reject"})"));
  EXPECT_FALSE(limited("exempt", R"({"type":"Reject"})"));
  auto queues = [&](int count, int hand) {
    return limited("mine",
                   cat(R"({"type":"Queue","queuing":{"queueLengthLimit":1,"queues":)",
                       std::to_string(count), R"(,"handSize":)", std::to_string(hand), "}}"));
  };
  EXPECT_TRUE(queues(4, 4));
  EXPECT_FALSE(queues(4, 5));
  EXPECT_FALSE(queues(0, 0));
  EXPECT_FALSE(queues(1024, 7));  // more than a hash can tell apart
}

TEST_F(FairnessTest, ALevelThatIsRemovedServesWhatItHasBegun) {
  Objects more;
  Value level = more.levels[2];
  level.member("metadata").set("name", "mine");
  more.levels.push_back(level);
  Value schema = more.schemas[2];
  schema.member("metadata").set("name", "mine");
  schema.member("spec").set("matchingPrecedence", 50);
  schema.member("spec").set("priorityLevelConfiguration", Value::object({{"name", "mine"}}));
  more.schemas.push_back(schema);
  use(more);
  Flow* flow = fairness.plan()->classify(user("jane"), info_of("GET", "/api/v1/pods")).flow;
  ASSERT_EQ(flow->level.name(), "mine");
  ASSERT_EQ(flow->level.take(1, now), Level::Take::kTaken);
  use(objects);
  EXPECT_EQ(schema_of(user("jane"), "GET", "/api/v1/pods"), "global-default");
  EXPECT_GT(fairness.limits("mine").nominal, 0);
  EXPECT_NE(fairness.dump_levels().find("mine"), std::string::npos);
  flow->level.give_back(nullptr, {}, now);
  fairness.adjust(now += 10s);
  EXPECT_EQ(fairness.limits("mine").nominal, 0);
}

TEST(FairnessAllocation, GivesInProportionWithinBounds) {
  auto free = allocate(30, {{0, 100, 10}, {0, 100, 20}});
  ASSERT_TRUE(free);
  EXPECT_DOUBLE_EQ(free->parts[0], 10);
  EXPECT_DOUBLE_EQ(free->parts[1], 20);
  EXPECT_DOUBLE_EQ(free->fair_fraction, 1);
  auto bound = allocate(30, {{15, 100, 15}, {0, 5, 20}, {0, 100, 5}});
  ASSERT_TRUE(bound);
  EXPECT_DOUBLE_EQ(bound->parts[0] + bound->parts[1] + bound->parts[2], 30);
  EXPECT_DOUBLE_EQ(bound->parts[1], 5);
  EXPECT_NEAR(bound->parts[0] / bound->parts[2], 3, 1e-9);
  EXPECT_FALSE(allocate(30, {{0, 5, 10}, {0, 5, 10}}));
  EXPECT_FALSE(allocate(3, {{2, 5, 10}, {2, 5, 10}}));
}

struct Facts : WorkFacts {
  std::int64_t stored = 0, watching = 0;
  std::int64_t objects(const authz::RequestInfo&) const override { return stored; }
  std::int64_t watchers(const authz::RequestInfo&) const override { return watching; }
};

TEST(FairnessWork, CountsObjectsOfListsAndOfWatchesThatBegin) {
  Facts facts;
  facts.stored = 450;
  auto seats = [&](std::string_view path) {
    return estimate(info_of("GET", path), 0, facts).most();
  };
  EXPECT_EQ(seats("/api/v1/pods"), 5u);
  EXPECT_EQ(seats("/api/v1/pods?limit=100"), 1u);
  EXPECT_EQ(seats("/api/v1/pods?limit=100&labelSelector=a%3Db"), 5u);
  EXPECT_EQ(seats("/api/v1/pods?fieldSelector=metadata.name%3Da"), 1u);
  EXPECT_EQ(seats("/api/v1/pods?watch=1"), 5u);
  EXPECT_EQ(seats("/api/v1/pods?watch=1&resourceVersion=17"), 1u);
  EXPECT_EQ(seats("/api/v1/pods?watch=1&resourceVersion=17&sendInitialEvents=true"), 5u);
  EXPECT_EQ(seats("/api/v1/namespaces/a/pods/b"), 1u);
  EXPECT_EQ(seats("/version"), 1u);
  facts.stored = 1'000'000'000'000;
  EXPECT_EQ(seats("/api/v1/pods"), 10u);
  EXPECT_EQ(estimate(info_of("GET", "/api/v1/pods"), 3, facts).most(), 3u);
}

TEST(FairnessWork, AWriteTellsItsWatchers) {
  Facts facts;
  facts.watching = 9;
  auto write = [&] { return estimate(info_of("POST", "/api/v1/namespaces/a/pods"), 0, facts); };
  EXPECT_EQ(write().last_seats, 0u);
  facts.watching = 45;
  EXPECT_EQ(write().last_seats, 5u);
  EXPECT_EQ(write().last, 5ms);
  facts.watching = 1000;  // on ten seats instead of a hundred, ten times as long
  EXPECT_EQ(write().last_seats, 10u);
  EXPECT_EQ(write().last, 50ms);
  EXPECT_EQ(estimate(info_of("POST", "/api/v1/namespaces/a/serviceaccounts/b/token"), 0, facts)
                .last_seats,
            0u);
}

}  // namespace
}  // namespace cardea::rest::fairness

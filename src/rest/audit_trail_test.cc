#include "rest/audit_trail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "authz/conditions.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

using json::Value;
using testing::ElementsAre;

// Events as they would be written.
struct Written {
  std::mutex mutex;
  std::vector<Value> events;
  bool is_full = false;
};

class MemorySink : public audit::Sink {
 public:
  explicit MemorySink(Written& written) : written_(written) {}
  Result<void> write(std::span<const std::string> events) override {
    std::lock_guard lock(written_.mutex);
    if (written_.is_full) return fail(internal_error("no space left"));
    for (const std::string& e : events) written_.events.push_back(*json::parse(e));
    return {};
  }

 private:
  Written& written_;
};

// Allows some verbs, and one verb if `then` allows it when the object is known.
class Scripted : public authz::Authorizer {
 public:
  std::string_view name() const override { return "scripted"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    if (a.verb == conditional)
      return authz::conditional_on(
          {.conditions = {
               {.effect = authz::Condition::Effect::kAllow, .id = "only-if", .description = {}}}});
    for (const std::string& verb : allowed)
      if (verb == a.verb) return authz::Decision::allow(cat(verb, " is fine"));
    return authz::Decision::no_opinion();
  }
  Task<authz::Decision> evaluate(std::shared_ptr<const authz::Conditions>,
                                 const authz::ConditionData&) const override {
    co_return then;
  }

  std::vector<std::string> allowed;
  std::string conditional;
  authz::Decision then = authz::Decision::no_opinion("it is not so");
};

struct Audited {
  Written written;
  MetricRegistry metrics;
  std::unique_ptr<audit::Auditor> auditor;
  std::shared_ptr<Scripted> scripted = std::make_shared<Scripted>();
  TestServer server{{}, {scripted}, true};

  explicit Audited(std::string_view rules, audit::Mode mode = audit::Mode::kBatch) {
    std::vector<std::unique_ptr<audit::Outlet>> outlets;
    outlets.push_back(
        std::make_unique<audit::Outlet>(audit::OutletOptions{.name = "log", .mode = mode},
                                        std::make_unique<MemorySink>(written), metrics, nullptr));
    auditor = std::make_unique<audit::Auditor>(
        *audit::Policy::load(cat("apiVersion: audit.k8s.io/v1\nkind: Policy\n", rules)),
        std::move(outlets), metrics);
    server.send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
    server.gateway().set_audit(auditor.get());
  }
  // Everything that was recorded up to now.
  std::vector<Value> events() {
    auditor->stop(std::chrono::minutes(1));
    return written.events;
  }
};

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";

std::vector<std::string> stages(const std::vector<Value>& events) {
  std::vector<std::string> out;
  for (const Value& e : events) out.emplace_back(e["stage"].as_string());
  return out;
}

TEST(AuditTrail, ARequestLeavesItsArrivalAndItsEnd) {
  Audited a(
      "rules: [{level: RequestResponse, users: [test], resources: [{group: \"\", resources: "
      "[configmaps]}]}]");
  a.server.send("POST", std::string(kConfigMaps), R"({"metadata":{"name":"x"},"data":{"k":"v"}})");
  auto events = a.events();
  ASSERT_THAT(stages(events), ElementsAre("RequestReceived", "ResponseComplete"));
  EXPECT_EQ(events[0]["auditID"], events[1]["auditID"]);
  EXPECT_EQ(json::print(events[0]["objectRef"]),
            R"({"apiVersion":"v1","namespace":"default","resource":"configmaps"})");
  EXPECT_EQ(json::print(events[1]["objectRef"]),
            R"({"apiVersion":"v1","name":"x","namespace":"default","resource":"configmaps"})");
  EXPECT_EQ(json::print(events[1]["requestObject"]),
            R"({"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap","metadata":{"name":"x"}})");
  EXPECT_EQ(events[1]["responseObject"]["metadata"]["name"].as_string(), "x");
  EXPECT_EQ(events[1]["annotations"]["authorization.k8s.io/decision"].as_string(), "allow");
  EXPECT_EQ(events[1]["annotations"]["authorization.cardea.dev/authorizer"].as_string(),
            authz::kMastersName);
}

TEST(AuditTrail, APatchIsShownAsItWasSentAndADeleteByItsStatus) {
  Audited a(
      "omitStages: [RequestReceived]\nrules: [{level: None, verbs: [create]}, {level: Request, "
      "users: [test], resources: [{group: \"\", resources: [configmaps]}]}]");
  a.server.send("POST", std::string(kConfigMaps), R"({"metadata":{"name":"x"}})");
  a.server.send("PATCH", cat(kConfigMaps, "/x"),
                R"([{"op":"add","path":"/data","value":{"a":"b"}}])",
                "application/json-patch+json");
  a.server.send("DELETE", cat(kConfigMaps, "/x"));
  auto events = a.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(json::print(events[0]["requestObject"]),
            R"([{"op":"add","path":"/data","value":{"a":"b"}}])");
  EXPECT_FALSE(events[0].has("responseObject"));
  EXPECT_EQ(events[1]["responseStatus"]["status"].as_string(), "Success");
  EXPECT_EQ(events[1]["responseStatus"]["code"].as_int(), 200);
}

TEST(AuditTrail, ARefusedRequestSaysWhy) {
  Audited a("omitStages: [RequestReceived]\nrules: [{level: Metadata, verbs: [get]}]");
  a.server.send("GET", cat(kConfigMaps, "/none"));
  auto events = a.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["responseStatus"]["reason"].as_string(), "NotFound");
  EXPECT_EQ(events[0]["responseStatus"]["details"]["name"].as_string(), "none");
  EXPECT_FALSE(events[0].has("responseObject"));
}

TEST(AuditTrail, WhatWasAllowedAtFirstAndRefusedInTheEndWasForbidden) {
  Audited a("omitStages: [RequestReceived]\nrules: [{level: Metadata, users: [jane]}]");
  a.server.send("POST", std::string(kConfigMaps), R"({"metadata":{"name":"x"}})");
  Loopback jane{a.server.gateway(), a.server.loop(), {.name = "jane"}, "jane"};
  auto object = [](std::string_view name, std::string_view label) {
    return *json::parse(cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name,
                            R"(","labels":{")", label, R"(":"1"}}})"));
  };
  auto put = [&](std::string name, std::string_view label) {
    return jane.send_and_wait("PUT", cat(kConfigMaps, "/", name), object(name, label)).status;
  };
  auto apply = [&](std::string name) {
    return jane
        .send_and_wait("PATCH", cat(kConfigMaps, "/", name, "?fieldManager=jane"),
                       object(name, "app"), "application/apply-patch+yaml")
        .status;
  };
  a.scripted->allowed = {"get", "granular", "granular:label(mine)"};
  EXPECT_EQ(put("x", "mine"), 200);
  EXPECT_EQ(put("x", "app"), 403);  // for a field
  a.scripted->conditional = "update";
  EXPECT_EQ(put("x", "app"), 403);  // for a field, after the conditions had no opinion
  a.scripted->allowed = {};
  EXPECT_EQ(put("x", "app"), 403);  // by conditions
  a.scripted->conditional = "";
  a.scripted->allowed = {"patch"};
  EXPECT_EQ(apply("y"), 403);  // the object would have to be created
  a.scripted->conditional = "create";
  EXPECT_EQ(apply("y"), 403);  // by the conditions on its creation
  std::vector<std::string> said;
  for (const Value& e : a.events())
    said.push_back(cat(e["annotations"]["authorization.k8s.io/decision"].as_string(), ": ",
                       e["annotations"]["authorization.k8s.io/reason"].as_string()));
  const std::string field =
      "forbid: field metadata.labels.app: not covered by granular:metadata, granular:labels, "
      "granular:label(app)";
  EXPECT_THAT(said,
              ElementsAre("allow: granular is fine", field, field, "forbid: scripted: it is not so",
                          "forbid: the object is not there, and creating it is not allowed",
                          "forbid: scripted: it is not so"));
}

TEST(AuditTrail, WhoGotPastTheVerbByGranularIsMarkedSoWhateverIsExcluded) {
  Audited a("omitStages: [RequestReceived]\nrules: [{level: Metadata, users: [jane]}]");
  EXPECT_EQ(a.server
                .send("POST", "/apis/apps/v1/namespaces/default/deployments",
                      R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"i"}]}}}})")
                .status,
            201);
  EXPECT_EQ(a.server
                .send("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets",
                      R"({"metadata":{"name":"u"},"spec":{"uncoveredPermissions":[)"
                      R"("granular:replicaCount"]}})")
                .status,
            201);
  Loopback jane{a.server.gateway(), a.server.loop(), {.name = "jane"}, "jane"};
  auto scale = [&jane](int replicas) {
    Value patch = Value::object({{"spec", Value::object({{"replicas", replicas}})}});
    return jane
        .send_and_wait("PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale", patch,
                       "application/merge-patch+json")
        .status;
  };
  a.scripted->allowed = {"granular", "granular:replicaCount"};
  EXPECT_EQ(scale(2), 200);
  a.scripted->allowed = {"patch", "granular:replicaCount"};
  EXPECT_EQ(scale(3), 200);
  std::vector<std::string> said;
  for (const Value& e : a.events())
    said.emplace_back(e["annotations"]["granular.authorization.k8s.io/marker"].as_string());
  EXPECT_THAT(said, ElementsAre("granular", "regular"));
}

TEST(AuditTrail, NobodyElseSaysWhatAuthorizationDecided) {
  admission::AuditAnnotations annotations;
  annotations.add("authorization.k8s.io/decision", "allow");
  EXPECT_FALSE(annotations.entries[0].replaces);
  annotations.set("authorization.k8s.io/decision", "forbid");
  annotations.add("authorization.k8s.io/decision", "allow");
  ASSERT_EQ(annotations.entries.size(), 1u);
  EXPECT_EQ(annotations.entries[0].value, "forbid");
  EXPECT_TRUE(annotations.entries[0].replaces);
}

TEST(AuditTrail, WhatCannotBeRecordedIsRefusedWhereThatIsAskedFor) {
  for (audit::Mode mode :
       {audit::Mode::kBatch, audit::Mode::kBlocking, audit::Mode::kBlockingStrict}) {
    Audited a("rules: [{level: Metadata, resources: [{group: \"\", resources: [configmaps]}]}]",
              mode);
    {
      std::lock_guard lock(a.written.mutex);
      a.written.is_full = true;
    }
    bool is_strict = mode == audit::Mode::kBlockingStrict;
    EXPECT_EQ(
        a.server.send("POST", std::string(kConfigMaps), R"({"metadata":{"name":"x"}})").status,
        is_strict ? 500 : 201);
    EXPECT_EQ(a.server.send("GET", "/version").status, 200);
    {
      std::lock_guard lock(a.written.mutex);
      a.written.is_full = false;
    }
    EXPECT_EQ(a.server.send("GET", cat(kConfigMaps, "/x")).status, is_strict ? 404 : 200);
    EXPECT_EQ(a.metrics.counter({"apiserver_audit_requests_rejected_total", ""}).value(),
              is_strict ? 1u : 0u);
    a.events();
  }
}

TEST(AuditTrail, AddressesOfProxiesComeBeforeTheOneOfTheConnection) {
  auto of = [](std::string_view forwarded, std::string_view real) {
    http::Request r;
    r.headers.add("X-Forwarded-For", forwarded);
    r.headers.add("X-Real-Ip", real);
    r.peer = std::make_shared<net::Peer>(
        net::Peer{.address = "10.0.0.9", .port = 1, .tls = true, .certificate = nullptr});
    return source_addresses(r);
  };
  EXPECT_THAT(of("", ""), ElementsAre("10.0.0.9"));
  EXPECT_THAT(of("1.2.3.4, nonsense,2001:DB8::1", "5.6.7.8"),
              ElementsAre("1.2.3.4", "2001:db8::1", "5.6.7.8", "10.0.0.9"));
  EXPECT_THAT(of("1.2.3.4", "1.2.3.4"), ElementsAre("1.2.3.4", "10.0.0.9"));
  EXPECT_THAT(of("1.2.3.4,10.0.0.9", ""), ElementsAre("1.2.3.4", "10.0.0.9"));
}

}  // namespace
}  // namespace cardea::rest

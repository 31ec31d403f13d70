#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "rest/policy/elements.h"
#include "rest/policy/master_namespace.h"
#include "rest/testing/test_server.h"

namespace cardea::rest::policy {
namespace {

using json::Value;

constexpr std::string_view kBase = "/apis/authorization.openshift.io/v1beta3/namespaces/";

std::string at(std::string_view rest) {
  return cat(kBase, rest);
}

class PolicyObjects : public ::testing::Test {
 protected:
  void SetUp() override {
    Seeding seeding;
    ASSERT_TRUE(ensure_master_namespace(server.api(), "master", seeding).has_value());
    ASSERT_TRUE(
        server.send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"hammer"}})").ok());
  }
  void make_containers() {
    ASSERT_TRUE(server
                    .send("POST", at("hammer/policies"),
                          R"({"kind":"Policy","name":"Policy","namespace":"hammer"})")
                    .ok());
    ASSERT_TRUE(server
                    .send("POST", at("hammer/policybindings"),
                          R"({"kind":"PolicyBinding","name":"hammer","namespace":"hammer"})")
                    .ok());
  }
  Loopback::Reply role(std::string_view name, std::string_view verb = "get") {
    return server.send("POST", at("hammer/roles"),
                       cat(R"({"kind":"role","name":")", name, R"(","rules":[{"verbs":[")", verb,
                           R"("],"resourceKinds":["pods"]}]})"));
  }
  Loopback::Reply binding(std::string_view name, std::string_view role,
                          std::string_view from = "hammer") {
    return server.send(
        "POST", at("hammer/rolebindings"),
        cat(R"({"kind":"roleBinding","name":")", name, R"(","roleRef":{"namespace":")", from,
            R"(","name":")", role, R"("},"userNames":["Edgar"]})"));
  }
  static std::string message(const Loopback::Reply& reply) {
    return std::string(reply.body["message"].as_string());
  }

  TestServer server;
};

TEST_F(PolicyObjects, TheMasterNamespaceHasItsRolesAndLeavesThemToTheirAdministrators) {
  Value roles = server.get(at("master/roles"));
  std::vector<std::string> names;
  for (const Value& r : roles["items"].items())
    names.emplace_back(r["metadata"]["name"].as_string());
  EXPECT_EQ(join(names, " "), "admin cluster-admin edit view");
  Value view = server.get(at("master/roles/view"));
  EXPECT_EQ(view["kind"].as_string(), "Role");
  const Value seeded = view["rules"],
              other = json::parse(R"([{"verbs":["get"],"resourceKinds":["pods"]}])").value();
  auto starts = [&](bool reset) {
    Seeding seeding{.reset = reset, .left_alone = {}};
    EXPECT_TRUE(ensure_master_namespace(server.api(), "master", seeding).has_value());
    return join(seeding.left_alone, " ");
  };
  EXPECT_EQ(starts(false), "");
  // What the server itself wrote, in an earlier version, follows the server.
  view.set("rules", other);
  ASSERT_TRUE(server.api().send_and_wait("PUT", at("master/roles/view"), view).ok());
  EXPECT_EQ(starts(false), "");
  EXPECT_EQ(server.get(at("master/roles/view"))["rules"], seeded);
  // What an administrator wrote stays.
  Loopback clark(server.gateway(), server.loop(),
                 {.name = "clark", .groups = {std::string(authz::kMastersGroup)}}, "kubectl");
  view = server.get(at("master/roles/view"));
  view.set("rules", other);
  ASSERT_TRUE(clark.send_and_wait("PUT", at("master/roles/view"), view).ok());
  EXPECT_EQ(starts(false), "view");
  EXPECT_EQ(server.get(at("master/roles/view"))["rules"], other);
  EXPECT_EQ(starts(true), "");
  EXPECT_EQ(server.get(at("master/roles/view"))["rules"], seeded);
  // So does a role that is not to be kept up, and one whose writers are not known.
  view = server.get(at("master/roles/view"));
  view.set("rules", other);
  view.member("metadata")
      .set("annotations",
           Value::object({{"rbac.authorization.kubernetes.io/autoupdate", "false"}}));
  ASSERT_TRUE(server.api().send_and_wait("PUT", at("master/roles/view"), view).ok());
  EXPECT_EQ(starts(false), "view");
  view = server.get(at("master/roles/view"));
  view.member("metadata").erase("annotations");
  view.member("metadata").set("managedFields", Value::array({Value::object()}));
  ASSERT_TRUE(server.api().send_and_wait("PUT", at("master/roles/view"), view).ok());
  EXPECT_EQ(starts(false), "view");
}

TEST_F(PolicyObjects, ALocalRoleNeedsAPolicyAndIsToldWhichToMake) {
  EXPECT_EQ(server.send("POST", at("hammer/roles?dryRun=All"), R"({"name":"a","rules":[]})").status,
            409);
  auto refused = role("labelers");
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(
      message(refused).find("create policies.authorization.openshift.io \"default\" there first"),
      std::string::npos)
      << message(refused);
  make_containers();
  EXPECT_EQ(role("labelers").status, 201);
  auto again = role("labelers");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.body["reason"].as_string(), "AlreadyExists");
}

TEST_F(PolicyObjects, ABindingToTheMasterNamespaceMakesItsContainer) {
  auto made = binding("ProjectAdmins", "admin", "master");
  ASSERT_EQ(made.status, 201) << message(made);
  Value container = server.get(at("hammer/policybindings/master"));
  EXPECT_EQ(container["policyRef"]["namespace"].as_string(), "master");
  EXPECT_FALSE(container["metadata"]["uid"].as_string().empty());
  EXPECT_EQ(container["roleBindings"]["ProjectAdmins"]["userNames"][0].as_string(), "Edgar");
  auto local = binding("Local", "labelers");
  EXPECT_EQ(local.status, 422) << "the role is not there: " << message(local);
}

TEST_F(PolicyObjects, ALocalBindingNeedsItsContainer) {
  ASSERT_TRUE(server.send("POST", at("hammer/policies"), R"({"kind":"Policy"})").ok());
  ASSERT_EQ(role("labelers").status, 201);
  auto refused = binding("Bots", "labelers");
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(message(refused).find(
                "create policybindings.authorization.openshift.io \"hammer\" there first"),
            std::string::npos)
      << message(refused);
}

TEST_F(PolicyObjects, SpellingsOfOldAreReadAndComeBackCanonical) {
  make_containers();
  auto made = server.send("POST", at("hammer/roles"),
                          R"({"kind":"role","name":"fatFingeredEditor","namespace":"hammer",
      "rule":[{"Deny":"true","Verbs":["Delete"],"ResourceKinds":["DeploymentConfig"],
        "AttributeRestrictions":{"labelsContain":["protected"]}}]})");
  ASSERT_EQ(made.status, 201) << message(made);
  EXPECT_EQ(made.body["metadata"]["name"].as_string(), "fatFingeredEditor");
  EXPECT_EQ(json::print(made.body["rules"]),
            R"([{"attributeRestrictions":{"labelsContain":["protected"]},"deny":true,)"
            R"("resourceKinds":["deploymentconfig"],"verbs":["delete"]}])");
  EXPECT_EQ(json::print(server.get(at("hammer/roles/fatFingeredEditor"))["rules"]),
            json::print(made.body["rules"]));
  auto global = server.send(
      "POST", at("hammer/rolebindings"),
      R"({"kind":"roleBinding","name":"Editors","referencesGlobalRole":true,"roleName":"edit",)"
      R"("userNames":["Edgar"]})");
  ASSERT_EQ(global.status, 201) << message(global);
  EXPECT_EQ(json::print(global.body["roleRef"]), R"({"name":"edit","namespace":"master"})");
  auto misspelled = server.send(
      "POST", at("hammer/roles"),
      R"({"name":"x","rules":[{"denny":true,"verbs":["get"],"resourceKinds":["pods"]}]})");
  EXPECT_EQ(misspelled.status, 422);
  EXPECT_NE(message(misspelled).find("rules[0].denny"), std::string::npos) << message(misspelled);
}

TEST_F(PolicyObjects, ElementsHaveIdentityAndConflictsOfTheirOwn) {
  make_containers();
  Value a = role("a").body, b = role("b").body;
  EXPECT_NE(a["metadata"]["uid"], b["metadata"]["uid"]);
  // A write of b does not change a.
  Value changed = b;
  changed.member("rules").item(0).set("verbs", Value::array({"list"}));
  ASSERT_EQ(server.send("PUT", at("hammer/roles/b"), json::print(changed)).status, 200);
  EXPECT_EQ(server.get(at("hammer/roles/a"))["metadata"]["resourceVersion"],
            a["metadata"]["resourceVersion"]);
  EXPECT_EQ(server.send("PUT", at("hammer/roles/b"), json::print(changed)).status, 409)
      << "it was changed since";
  ASSERT_EQ(server.send("PUT", at("hammer/roles/a"), json::print(a)).status, 200);
  EXPECT_EQ(server.get(at("hammer/roles/b"))["rules"][0]["verbs"][0].as_string(), "list");
  auto patched = server.send("PATCH", at("hammer/roles/a"),
                             R"({"rules":[{"verbs":["Watch"],"resourceKinds":["pods"]}]})",
                             "application/merge-patch+json");
  ASSERT_EQ(patched.status, 200) << message(patched);
  EXPECT_EQ(patched.body["rules"][0]["verbs"][0].as_string(), "watch");
  EXPECT_EQ(server.get(at("hammer/policies/default"))["roles"].size(), 2u);
  EXPECT_EQ(server.send("GET", at("hammer/roles?watch=true")).status, 405);
}

TEST_F(PolicyObjects, ABoundRoleStaysAndTellsWhoBindsIt) {
  make_containers();
  ASSERT_EQ(role("labelers").status, 201);
  ASSERT_EQ(binding("Bots", "labelers").status, 201);
  EXPECT_EQ(server.send("DELETE", at("hammer/roles/labelers?dryRun=All")).status, 409);
  EXPECT_EQ(server.send("DELETE", at("hammer/policies/default?dryRun=All")).status, 409);
  EXPECT_EQ(server.send("DELETE", at("hammer/rolebindings/Bots?dryRun=All")).status, 200);
  auto refused = server.send("DELETE", at("hammer/roles/labelers"));
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(message(refused).find("hammer/Bots"), std::string::npos) << message(refused);
  auto full = server.send("DELETE", at("hammer/policies/default"));
  EXPECT_EQ(full.status, 409);
  EXPECT_NE(message(full).find("it holds roles labelers"), std::string::npos) << message(full);
  EXPECT_EQ(server.send("DELETE", at("hammer/rolebindings/Bots")).status, 200);
  EXPECT_EQ(server.send("DELETE", at("hammer/roles/labelers")).status, 200);
  EXPECT_EQ(server.send("GET", at("hammer/roles/labelers")).status, 404);
  EXPECT_EQ(server.send("DELETE", at("hammer/policies/default")).status, 200);
  EXPECT_EQ(server.send("DELETE", at("hammer/policybindings/hammer")).status, 200);
  ASSERT_EQ(binding("Editors", "edit", "master").status, 201);
  auto master = server.send("DELETE", at("master/roles/edit"));
  EXPECT_EQ(master.status, 409);
  EXPECT_NE(message(master).find("hammer/Editors"), std::string::npos) << message(master);
}

TEST_F(PolicyObjects, ContainersAreMadeEmptyAndNotWritten) {
  auto full = server.send(
      "POST", at("hammer/policies"),
      R"({"kind":"Policy","roles":{"a":{"metadata":{"name":"a"},"rules":[]}}})");
  EXPECT_EQ(full.status, 422);
  EXPECT_NE(message(full).find("roles: Forbidden: a Policy is created empty"), std::string::npos)
      << message(full);
  EXPECT_EQ(
      server.send("POST", at("hammer/policies"), R"({"kind":"Policy","metadata":{"name":"other"}})")
          .status,
      422);
  EXPECT_EQ(server
                .send("POST", at("hammer/policybindings"),
                      R"({"kind":"PolicyBinding","metadata":{"name":"elsewhere"}})")
                .status,
            422);
  make_containers();
  EXPECT_EQ(server.send("POST", at("hammer/policies"), R"({"kind":"Policy"})").status, 409);
  EXPECT_EQ(server
                .send("PUT", at("hammer/policies/default"),
                      R"({"kind":"Policy","metadata":{"name":"default"}})")
                .status,
            422);
  EXPECT_EQ(
      server.send("PATCH", at("hammer/policybindings/hammer"), "{}", "application/merge-patch+json")
          .status,
      422);
}

TEST_F(PolicyObjects, TheNameOfABindingIsUniqueInItsNamespace) {
  make_containers();
  ASSERT_EQ(role("edit").status, 201);
  ASSERT_EQ(binding("Editors", "edit", "master").status, 201);
  EXPECT_EQ(binding("Editors", "edit", "hammer").status, 409);
  Value moved = server.get(at("hammer/rolebindings/Editors"));
  moved.member("roleRef").set("namespace", "hammer");
  auto refused = server.send("PUT", at("hammer/rolebindings/Editors"), json::print(moved));
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(message(refused).find("roleRef.namespace"), std::string::npos) << message(refused);
}

TEST_F(PolicyObjects, AThousandWritersOfOnePolicyLoseNothing) {
  make_containers();
  constexpr int kWriters = 1000;
  std::latch done(kWriters);
  std::atomic<int> made = 0;
  // All at the same time on the loop: each waits for its own write.
  server.loop().post([&] {
    for (int i = 0; i < kWriters; ++i) {
      Value object = Value::object(
          {{"kind", "Role"},
           {"metadata", Value::object({{"name", cat("r", i)}})},
           {"rules", Value::array({Value::object({{"verbs", Value::array({"get"})},
                                                  {"resourceKinds", Value::array({"pods"})}})})}});
      spawn(server.api().send("POST", at("hammer/roles"), object), [&](Loopback::Reply reply) {
        made += reply.status == 201;
        done.count_down();
      });
    }
  });
  done.wait();
  EXPECT_EQ(made, kWriters);
  EXPECT_EQ(server.get(at("hammer/roles"))["items"].size(), static_cast<std::size_t>(kWriters));
  EXPECT_EQ(server.get(at("hammer/policies/default"))["roles"].size(),
            static_cast<std::size_t>(kWriters));
}

TEST_F(PolicyObjects, AQuotaOfRolesIsChargedInTheSameWrite) {
  make_containers();
  constexpr std::string_view kCount = "count/roles.authorization.openshift.io";
  ASSERT_TRUE(
      server
          .send("POST", "/api/v1/namespaces/hammer/resourcequotas",
                cat(R"({"metadata":{"name":"q"},"spec":{"hard":{")", kCount, R"(":"20"}}})"))
          .ok());
  ASSERT_TRUE(server
                  .send("PATCH", "/api/v1/namespaces/hammer/resourcequotas/q/status",
                        cat(R"({"status":{"hard":{")", kCount, R"(":"20"},"used":{")", kCount,
                            R"(":"0"}}})"),
                        "application/merge-patch+json")
                  .ok());
  std::atomic<int> created = 0, refused = 0, other = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 5; ++i) {
          int status = role(cat("r", t, "-", i)).status;
          ++(status == 201 ? created : status == 403 ? refused : other);
        }
      });
  }
  EXPECT_EQ(created, 20);
  EXPECT_EQ(refused, 10);
  EXPECT_EQ(other, 0);
  EXPECT_EQ(server.get("/api/v1/namespaces/hammer/resourcequotas/q")["status"]["used"][kCount]
                .as_string(),
            "20");
  EXPECT_EQ(server.get(at("hammer/roles"))["items"].size(), 20u);
}

TEST_F(PolicyObjects, ABindingNeverOutlivesItsRoleHoweverTheyRace) {
  make_containers();
  constexpr int kRoles = 40;
  for (int i = 0; i < kRoles; ++i) ASSERT_EQ(role(cat("r", i)).status, 201);
  {
    std::jthread binds([&] {
      for (int i = 0; i < kRoles; ++i) binding(cat("b", i), cat("r", i));
    });
    std::jthread removes([&] {
      for (int i = kRoles - 1; i >= 0; --i) server.send("DELETE", at(cat("hammer/roles/r", i)));
    });
  }
  Value roles = server.get(at("hammer/policies/default"))["roles"],
        bindings = server.get(at("hammer/policybindings/hammer"))["roleBindings"];
  EXPECT_EQ(roles.size(), bindings.size()) << "each role was either bound or deleted";
  for (const json::Member& m : bindings.members())
    EXPECT_TRUE(roles.has(m.value["roleRef"]["name"].as_string())) << m.key();
}

TEST_F(PolicyObjects, PagesOfRolesShowEachOnce) {
  make_containers();
  for (int i = 0; i < 7; ++i) ASSERT_EQ(role(cat("r", i)).status, 201);
  std::string next;
  std::vector<std::string> seen;
  do {
    Value page = server.get(
        at(cat("hammer/roles?limit=3", next.empty() ? "" : "&continue=", next)));
    for (const Value& r : page["items"].items())
      seen.emplace_back(r["metadata"]["name"].as_string());
    next = page["metadata"]["continue"].as_string();
  } while (!next.empty());
  EXPECT_EQ(join(seen, " "), "r0 r1 r2 r3 r4 r5 r6");
  EXPECT_EQ(server.get("/apis/authorization.openshift.io/v1beta3/roles")["items"].size(), 11u);
}

TEST_F(PolicyObjects, DamagedContainersAreShownAndNotWrittenInto) {
  std::string key = policy_key("hammer");
  for (std::string_view text :
       {R"({"kind":"Policy","apiVersion":"authorization.openshift.io/v1beta3",)"
        R"("metadata":{"name":"default","namespace":"hammer"},"roles":["a"]})",
        R"({"kind":"Policy","apiVersion":"authorization.openshift.io/v1beta3",)"
        R"("metadata":{"name":"default","namespace":"hammer"},)"
        R"("roles":{"a":7,"b":{"metadata":"x"}}})"}) {
    store::RecordPtr present = server.store_below().get(key);
    ASSERT_TRUE(
        store::commit_sync(server.store_below(), {{{key, present ? present->mod_revision : 0}},
                                                  {store::Put{key, std::string(text)}}})
            .value()
            .succeeded);
    EXPECT_EQ(server.send("GET", at("hammer/roles")).status, 200);
    EXPECT_EQ(server.send("DELETE", at("hammer/policies/default")).status, 409);
  }
  EXPECT_EQ(server.get(at("hammer/roles/a"))["metadata"]["name"].as_string(), "a");
  EXPECT_EQ(server.send("DELETE", at("hammer/roles/a")).status, 200)
      << "what is wrong can be taken away";
}

TEST_F(PolicyObjects, NoDeletionWaitsForACollectorThatCannotSeeThem) {
  make_containers();
  for (std::string_view policy : {"Foreground", "Orphan", "Background"}) {
    ASSERT_EQ(role("labelers").status, 201);
    ASSERT_EQ(binding("Bots", "labelers").status, 201);
    EXPECT_EQ(
        server.send("DELETE", at(cat("hammer/roles/labelers?propagationPolicy=", policy))).status,
        409)
        << "it is bound";
    EXPECT_EQ(server.send("DELETE", at(cat("hammer/rolebindings/Bots?propagationPolicy=", policy)))
                  .status,
              200);
    EXPECT_EQ(server.send("GET", at("hammer/rolebindings/Bots")).status, 404) << policy;
    EXPECT_EQ(
        server.send("DELETE", at(cat("hammer/roles/labelers?propagationPolicy=", policy))).status,
        200);
    EXPECT_EQ(server.send("GET", at("hammer/roles/labelers")).status, 404) << policy;
  }
}

// Allows every user everything except denials.
class AllButDeny : public authz::Authorizer {
 public:
  std::string_view name() const override { return "all-but-deny"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    return a.verb == "deny" ? authz::Decision::no_opinion() : authz::Decision::allow("why not");
  }
};

TEST(PolicyDenials, AreLiftedOnlyByWhoMayDeny) {
  TestServer server{{}, {std::make_shared<AllButDeny>()}};
  Seeding seeding;
  ASSERT_TRUE(ensure_master_namespace(server.api(), "master", seeding).has_value());
  Loopback edgar(server.gateway(), server.loop(), {.name = "Edgar"}, "edgar");
  auto make = [&](std::string_view path, std::string_view body) {
    ASSERT_EQ(server.send("POST", std::string(path), body).status, 201) << path << body;
  };
  make("/api/v1/namespaces", R"({"metadata":{"name":"hammer"}})");
  make(at("hammer/policies"), R"({"kind":"Policy"})");
  make(at("hammer/policybindings"), R"({"kind":"PolicyBinding","name":"hammer"})");
  make(at("hammer/roles"), R"({"name":"hands-off","rules":[{"deny":true,"verbs":["get"],)"
                           R"("resourceKinds":["secrets"]}]})");
  make(at("hammer/roles"),
       R"({"name":"unbound","rules":[{"deny":true,"verbs":["get"],"resourceKinds":["secrets"]}]})");
  make(at("hammer/roles"),
       R"({"name":"harmless","rules":[{"verbs":["get"],"resourceKinds":["pods"]}]})");
  make(at("hammer/rolebindings"),
       R"({"name":"HandsOff","roleRef":{"namespace":"hammer","name":"hands-off"},)"
       R"("userNames":["Mallory","Vera"]})");
  make(at("hammer/rolebindings"),
       R"({"name":"Harmless","roleRef":{"namespace":"hammer","name":"harmless"},)"
       R"("userNames":["Mallory"]})");
  auto refused = [&](std::string method, std::string_view target, Value body = {},
                     std::string type = "application/json") {
    auto reply = edgar.send_and_wait(method, std::string(target), body, type);
    EXPECT_EQ(reply.status, 403) << method << target << json::print(reply.body);
    EXPECT_NE(reply.body["message"].as_string().find("\"deny\" on roles"), std::string_view::npos)
        << json::print(reply.body);
  };
  std::string binding = at("hammer/rolebindings/HandsOff"), merge = "application/merge-patch+json";
  refused("DELETE", binding);
  refused("DELETE", cat(binding, "?dryRun=All"));
  refused("DELETE", at("hammer/roles/unbound"));
  refused("PATCH", binding, Value::object({{"userNames", Value::array({"Vera"})}}), merge);
  refused("PATCH", binding, Value::object({{"roleRef", Value::object({{"name", "harmless"}})}}),
          merge);
  refused("PATCH", at("hammer/roles/hands-off"), Value::object({{"rules", Value::array()}}), merge);
  EXPECT_EQ(server.get(binding)["userNames"].size(), 2u);
  EXPECT_EQ(edgar
                .send_and_wait(
                    "PATCH", binding,
                    Value::object(
                        {{"metadata", Value::object({{"labels", Value::object({{"a", "b"}})}})}}),
                    merge)
                .status,
            200)
      << "nobody is freed by a label";
  EXPECT_EQ(edgar.send_and_wait("DELETE", at("hammer/rolebindings/Harmless")).status, 200);
  // A user who empties a terminating namespace needs no permission for denials.
  ASSERT_TRUE(server.send("DELETE", "/api/v1/namespaces/hammer").ok());
  EXPECT_EQ(edgar.send_and_wait("DELETE", binding).status, 200);
  EXPECT_EQ(edgar.send_and_wait("DELETE", at("hammer/roles/hands-off")).status, 200);
}

}  // namespace
}  // namespace cardea::rest::policy

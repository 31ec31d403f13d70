#include "rest/write/service_network.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"
#include "rest/testing/test_controllers.h"
#include "store/testing/memory_store.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr char kServices[] = "/api/v1/namespaces/default/services";
constexpr char kAddresses[] = "/apis/networking.k8s.io/v1/ipaddresses";
constexpr char kRanges[] = "/apis/networking.k8s.io/v1/servicecidrs";

std::string service(std::string_view name, std::string_view more) {
  return cat(R"({"metadata":{"name":")", name, R"("},"spec":{"ports":[{"port":80}])", more, "}}");
}

class ServiceAddresses : public testing::Test {
 protected:
  ServiceAddresses() { make_namespace(server, "default"); }
  int create(std::string_view name, std::string_view more = "") {
    return server.send("POST", kServices, service(name, more)).status;
  }
  // Who has the address.
  std::string holder(std::string_view address) {
    const Value found = server.get(cat(kAddresses, "/", address));
    return std::string(found["spec"]["parentRef"]["name"].as_string());
  }
  std::size_t held() { return server.get(kAddresses)["items"].size(); }

  TestServer server;
};

TEST_F(ServiceAddresses, AreHeldByObjectsThatComeAndGoWithTheService) {
  ASSERT_EQ(create("a", R"(,"clusterIP":"10.0.0.5")"), 201);
  const Value object = server.get(cat(kAddresses, "/10.0.0.5"));
  EXPECT_EQ(object["spec"]["parentRef"]["name"].as_string(), "a");
  EXPECT_EQ(object["metadata"]["labels"]["ipaddress.kubernetes.io/managed-by"].as_string(),
            "ipallocator.k8s.io");
  EXPECT_EQ(object["metadata"]["resourceVersion"],
            server.get(cat(kServices, "/a"))["metadata"]["resourceVersion"])
      << "one transaction";
  EXPECT_EQ(create("b", R"(,"clusterIP":"10.0.0.5")"), 422);
  ASSERT_TRUE(server.send("DELETE", cat(kServices, "/a")).ok());
  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(create("b", R"(,"clusterIP":"10.0.0.5")"), 201);
  EXPECT_EQ(holder("10.0.0.5"), "b");
}

TEST_F(ServiceAddresses, AreKeptWhileSomethingHoldsTheService) {
  ASSERT_EQ(create("a", R"(,"clusterIP":"10.0.0.5")"), 201);
  auto finalizers = [&](std::string_view list) {
    return server.send("PATCH", cat(kServices, "/a"),
                       cat(R"({"metadata":{"finalizers":)", list, "}}"),
                       "application/merge-patch+json");
  };
  ASSERT_TRUE(finalizers(R"(["example.com/wait"])").ok());
  ASSERT_TRUE(server.send("DELETE", cat(kServices, "/a")).ok());
  EXPECT_EQ(holder("10.0.0.5"), "a");
  ASSERT_TRUE(finalizers("[]").ok());
  EXPECT_EQ(server.send("GET", cat(kServices, "/a")).status, 404);
  EXPECT_EQ(held(), 0u);
}

TEST_F(ServiceAddresses, GoWithAChangeOfTypeAndComeBack) {
  ASSERT_EQ(create("a"), 201);
  EXPECT_EQ(held(), 1u);
  auto patch = [&](std::string_view spec) {
    return server
        .send("PATCH", cat(kServices, "/a"), cat(R"({"spec":)", spec, "}"),
              "application/merge-patch+json")
        .status;
  };
  ASSERT_EQ(patch(R"({"type":"ExternalName","externalName":"a.example.com"})"), 200);
  EXPECT_EQ(held(), 0u);
  ASSERT_EQ(patch(R"({"type":"ClusterIP","externalName":null})"), 200);
  EXPECT_EQ(held(), 1u);
}

TEST_F(ServiceAddresses, AnAddressThatAUserHoldsIsNotGivenAway) {
  ASSERT_EQ(server
                .send("POST", kAddresses,
                      R"({"metadata":{"name":"10.0.0.7"},"spec":{"parentRef":
                          {"resource":"services","namespace":"default","name":"mine"}}})")
                .status,
            201);
  EXPECT_EQ(create("a", R"(,"clusterIP":"10.0.0.7")"), 422);
  ASSERT_TRUE(server.send("DELETE", cat(kAddresses, "/10.0.0.7")).ok());
  EXPECT_EQ(create("a", R"(,"clusterIP":"10.0.0.7")"), 201);
}

TEST_F(ServiceAddresses, AStatusTakesNoAddress) {
  ASSERT_EQ(create("a", R"(,"clusterIP":"10.0.0.5")"), 201);
  Value object = server.get(cat(kServices, "/a"));
  object.member("spec").set("clusterIP", "10.0.0.6");
  object.member("spec").set("clusterIPs", Value::array({"10.0.0.6"}));
  ASSERT_EQ(server.api().send_and_wait("PUT", cat(kServices, "/a/status"), object).status, 200);
  EXPECT_EQ(create("b", R"(,"clusterIP":"10.0.0.6")"), 201);
}

TEST_F(ServiceAddresses, ObjectsThatAreMissingAreRestoredAndThoseOfNobodyGo) {
  ASSERT_EQ(create("a", R"(,"clusterIP":"10.0.0.5")"), 201);
  // As a server stored it that knew no IPAddresses.
  ASSERT_TRUE(
      store::commit_sync(server.store(), {{}, {store::Delete{"/registry/ipaddresses/10.0.0.5"}}}));
  EXPECT_EQ(create("b", R"(,"clusterIP":"10.0.0.5")"), 422) << "the service has the address";
  ASSERT_EQ(server
                .send("POST", kAddresses,
                      R"({"metadata":{"name":"10.0.0.9","labels":
                          {"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}},
                          "spec":{"parentRef":
                          {"resource":"services","namespace":"default","name":"gone"}}})")
                .status,
            201);
  RunningControllers controllers(server, {});
  EXPECT_TRUE(TestServer::eventually([&] { return holder("10.0.0.5") == "a"; }));
  EXPECT_TRUE(server.eventually_gone(cat(kAddresses, "/10.0.0.9")));
  ASSERT_TRUE(server.send("DELETE", cat(kAddresses, "/10.0.0.5")).ok());
  EXPECT_TRUE(TestServer::eventually([&] { return holder("10.0.0.5") == "a"; }));
}

TEST_F(ServiceAddresses, ARangeOfAUserWidensTheSupplyAndStaysWhileItIsNeeded) {
  EXPECT_EQ(create("a", R"(,"clusterIP":"10.9.0.5")"), 422);
  ASSERT_EQ(
      server
          .send("POST", kRanges, R"({"metadata":{"name":"more"},"spec":{"cidrs":["10.9.0.0/24"]}})")
          .status,
      201);
  RunningControllers controllers(server, {"service-cidr-controller"});
  const std::string path = cat(kRanges, "/more");
  auto ready = [&] {
    const Value conditions = server.get(path)["status"]["conditions"];
    return conditions.empty() ? std::string() : std::string(conditions[0]["status"].as_string());
  };
  ASSERT_TRUE(TestServer::eventually([&] { return ready() == "True"; }));
  ASSERT_EQ(create("a", R"(,"clusterIP":"10.9.0.5")"), 201);
  ASSERT_TRUE(server.send("DELETE", path).ok());
  EXPECT_EQ(create("b", R"(,"clusterIP":"10.9.0.6")"), 422) << "from the moment of its deletion";
  ASSERT_TRUE(TestServer::eventually([&] { return ready() == "False"; }));
  ASSERT_TRUE(server.send("DELETE", cat(kServices, "/a")).ok());
  EXPECT_TRUE(server.eventually_gone(path));
}

TEST_F(ServiceAddresses, ARangeWhoseAddressesAnotherHasCanGo) {
  RunningControllers controllers(server, {"service-cidr-controller"});
  for (const char* name : {"one", "two"})
    ASSERT_EQ(
        server
            .send("POST", kRanges,
                  cat(R"({"metadata":{"name":")", name, R"("},"spec":{"cidrs":["10.9.0.0/24"]}})"))
            .status,
        201);
  ASSERT_EQ(create("a", R"(,"clusterIP":"10.9.0.5")"), 201);
  ASSERT_TRUE(server.send("DELETE", cat(kRanges, "/one")).ok());
  EXPECT_TRUE(server.eventually_gone(cat(kRanges, "/one")));
  EXPECT_EQ(holder("10.9.0.5"), "a");
}

// Two servers on one store.
class TwoNetworks : public testing::Test {
 protected:
  std::unique_ptr<ServiceNetwork> network(const std::string& ranges = "10.0.0.0/24") {
    auto made = ServiceNetwork::make(*store, clock, random, ranges, "30000-32767");
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  Value asking_for(std::string_view name, std::string_view address) {
    return *json::parse(cat(R"({"metadata":{"namespace":"default","name":")", name,
                            R"("},"spec":{"type":"ClusterIP","clusterIP":")", address, R"("}})"));
  }
  bool commit(Claims claims) {
    auto done = store::commit_sync(*store, {std::move(claims.compares), std::move(claims.ops)});
    EXPECT_TRUE(done);
    return done->succeeded;
  }

  FakeClock clock{std::chrono::sys_days{std::chrono::year{2026} / 1 / 31}};
  SystemRandom random;
  std::unique_ptr<store::Store> store = store::make_memory_store(clock);
};

TEST_F(TwoNetworks, NeverGiveAwayOneAddressTwice) {
  auto first = network(), second = network();
  Value a = asking_for("a", "10.0.0.5"), b = asking_for("b", "10.0.0.5");
  auto one = first->allocate(a, nullptr, false), two = second->allocate(b, nullptr, false);
  ASSERT_TRUE(one && two) << "neither knows of the other";
  EXPECT_TRUE(commit(*first->claims(nullptr, &a)));
  EXPECT_FALSE(commit(*second->claims(nullptr, &b)));
  EXPECT_FALSE(second->allocate(b, nullptr, false)) << "the next try sees it";
}

TEST_F(TwoNetworks, NoAddressComesFromARangeThatIsOnItsWayOut) {
  const std::string key = "/registry/servicecidrs/more";
  auto put = [&](std::string_view meta) {
    return store::Op(store::Put{key, cat(R"({"kind":"ServiceCIDR","metadata":{"name":"more")", meta,
                                         R"(},"spec":{"cidrs":["10.9.0.0/24"]}})")});
  };
  ASSERT_TRUE(commit({{}, {put("")}}));
  auto server = network();
  Value a = asking_for("a", "10.9.0.5");
  auto reserved = server->allocate(a, nullptr, false);
  ASSERT_TRUE(reserved) << reserved.error().message;
  Claims claims = *server->claims(nullptr, &a);
  ASSERT_TRUE(commit({{}, {put(R"(,"deletionTimestamp":"2026-01-31T00:00:00Z")")}}));
  EXPECT_FALSE(commit(std::move(claims)));
  EXPECT_FALSE(server->claims(nullptr, &a));
}

TEST_F(TwoNetworks, AnAddressOfSomebodyElseIsNotReleased) {
  auto first = network();
  Value a = asking_for("a", "10.0.0.5"), b = asking_for("b", "10.0.0.5");
  auto reserved = first->allocate(a, nullptr, false);
  ASSERT_TRUE(reserved);
  ASSERT_TRUE(commit(*first->claims(nullptr, &a)));
  b.member("spec").set("clusterIPs", Value::array({"10.0.0.5"}));
  EXPECT_TRUE(first->claims(&b, nullptr)->ops.empty());
  EXPECT_EQ(first->claims(&a, nullptr)->ops.size(), 1u);
}

}  // namespace
}  // namespace cardea::rest

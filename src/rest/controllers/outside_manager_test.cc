#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
constexpr char
    kLease[] = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";
constexpr char kMerge[] = "application/merge-patch+json";
constexpr char kAccounts[] = "serviceaccount-controller";
constexpr char kRootCas[] = "root-ca-certificate-publisher-controller";
constexpr char kCollector[] = "garbage-collector-controller";

class OutsideManagerTest : public ::testing::Test {
 protected:
  OutsideManagerTest() {
    if (!server_.send("GET", "/api/v1/namespaces/kube-system").ok())
      make_namespace(server_, "kube-system");
  }
  void lease(int seconds) {
    auto reply = server_.send(
        "POST", kLeases,
        cat(R"({"metadata":{"name":"kube-controller-manager"},)",
            R"("spec":{"holderIdentity":"m","leaseDurationSeconds":)", seconds, "}}"));
    ASSERT_TRUE(reply.ok()) << reply.body["message"].as_string();
  }
  void release() {
    ASSERT_TRUE(server_.send("PATCH", kLease, R"({"spec":{"holderIdentity":""}})", kMerge).ok());
  }
  bool has_account(std::string_view space) {
    return server_.send("GET", cat("/api/v1/namespaces/", space, "/serviceaccounts/default")).ok();
  }
  // By then a controller that works has made the account too: it is the first of the two.
  bool gets_ca(std::string_view space) {
    return server_.eventually([&] {
      return server_.send("GET", cat("/api/v1/namespaces/", space, "/configmaps/kube-root-ca.crt"))
          .ok();
    });
  }
  bool gets_account(std::string_view space) {
    return server_.eventually([&] { return has_account(space); });
  }

  TestServer server_;
};

TEST_F(OutsideManagerTest, ControllersStepAsideWhileAManagerHoldsItsLease) {
  lease(3600);
  RunningControllers running(server_, {kAccounts, kRootCas}, {}, {kRootCas});
  make_namespace(server_, "a");
  ASSERT_TRUE(gets_ca("a")) << "the operator named this one";
  EXPECT_FALSE(has_account("a"));
  release();
  EXPECT_TRUE(gets_account("a")) << "what they missed is made up for";
}

TEST_F(OutsideManagerTest, ControllersStepAsideWhenAManagerComesLater) {
  RunningControllers running(server_, {kAccounts, kRootCas}, {}, {kRootCas});
  make_namespace(server_, "a");
  ASSERT_TRUE(gets_account("a"));
  lease(3600);
  make_namespace(server_, "b");
  ASSERT_TRUE(gets_ca("b"));
  EXPECT_FALSE(has_account("b"));
  ASSERT_TRUE(server_.send("DELETE", kLease).ok());
  EXPECT_TRUE(gets_account("b"));
}

TEST_F(OutsideManagerTest, ControllersWorkAgainWhenTheLeaseIsNotRenewed) {
  lease(1);
  RunningControllers running(server_, {kAccounts});
  make_namespace(server_, "a");
  EXPECT_TRUE(gets_account("a"));
}

TEST_F(OutsideManagerTest, ALeaseOfAnotherNameChangesNothing) {
  ASSERT_TRUE(server_
                  .send("POST", kLeases,
                        R"({"metadata":{"name":"kube-controller-manager-2"},
                            "spec":{"holderIdentity":"m","leaseDurationSeconds":3600}})")
                  .ok());
  RunningControllers running(server_, {kAccounts});
  make_namespace(server_, "a");
  EXPECT_TRUE(gets_account("a"));
}

TEST_F(OutsideManagerTest, TheCollectorFindsWhatLostItsOwnerMeanwhile) {
  RunningControllers running(server_, {kCollector, kRootCas}, {}, {kRootCas});
  make_namespace(server_, "a");
  constexpr char kMaps[] = "/api/v1/namespaces/a/configmaps";
  auto owner = server_.send("POST", kMaps, R"({"metadata":{"name":"owner"}})");
  ASSERT_TRUE(owner.ok());
  std::string uid(owner.body["metadata"]["uid"].as_string());
  ASSERT_TRUE(server_
                  .send("POST", kMaps,
                        cat(R"({"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"v1",)",
                            R"("kind":"ConfigMap","name":"owner","uid":")", uid, R"("}]}})"))
                  .ok());
  lease(3600);
  ASSERT_TRUE(server_.send("DELETE", cat(kMaps, "/owner")).ok());
  make_namespace(server_, "b");
  ASSERT_TRUE(gets_ca("b"));
  EXPECT_TRUE(server_.send("GET", cat(kMaps, "/owned")).ok());
  release();
  EXPECT_TRUE(server_.eventually_gone(cat(kMaps, "/owned")));
}

}  // namespace
}  // namespace cardea::rest

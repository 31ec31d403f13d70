#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr char kLeasePath[] = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

TEST(IdentityLease, ShowsThisServerAndRemovesThoseThatAreGone) {
  TestServer server;
  make_namespace(server, "kube-system");
  auto lease = [&](std::string_view name, std::string_view identity, std::string_view renewed) {
    return server
        .send("POST", kLeasePath,
              cat(R"({"metadata":{"name":")", name,
                  R"(","labels":{"apiserver.kubernetes.io/identity":")", identity,
                  R"("}},"spec":{"leaseDurationSeconds":3600,"renewTime":")", renewed, R"("}})"))
        .status;
  };
  // The clock of a TestServer stands at the beginning of 2026-01-31.
  ASSERT_EQ(lease("apiserver-gone", "kube-apiserver", "2026-01-30T22:59:59.000000Z"), 201);
  ASSERT_EQ(lease("apiserver-alive", "kube-apiserver", "2026-01-30T23:30:00.000000Z"), 201);
  ASSERT_EQ(lease("apiserver-other", "something-else", "2020-01-01T00:00:00.000000Z"), 201);
  RunningControllers controllers(server, {},
                                 {.name = "apiserver-me",
                                  .holder = "apiserver-me_1",
                                  .host_name = "host",
                                  .address = "10.1.2.3:6443"});
  ASSERT_TRUE(server.eventually_gone(cat(kLeasePath, "/apiserver-gone")));
  json::Value own = server.get(cat(kLeasePath, "/apiserver-me"));
  EXPECT_EQ(own["spec"]["holderIdentity"].as_string(), "apiserver-me_1");
  EXPECT_EQ(own["spec"]["leaseDurationSeconds"].as_int(), 3600);
  EXPECT_EQ(own["metadata"]["labels"]["kubernetes.io/hostname"].as_string(), "host");
  for (const char* kept : {"/apiserver-alive", "/apiserver-other"})
    EXPECT_EQ(server.send("GET", cat(kLeasePath, kept)).status, 200) << kept;
}

}  // namespace
}  // namespace cardea::rest

// Admission plugins in whole requests: the writes of a kubelet, and the effect of a LimitRange.
#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

std::vector<std::shared_ptr<const authz::Authorizer>> everything() {
  std::vector<std::shared_ptr<const authz::Authorizer>> list;
  list.push_back(authz::always_allow());
  return list;
}

// A kubelet on a server that allows everything: only NodeRestriction can refuse its requests.
class Kubelet {
 public:
  Kubelet() { make_namespace(server, "n"); }

  std::string refusal(std::string method, std::string target, std::string_view body,
                      std::string content_type = "application/json") {
    Loopback::Reply reply = kubelet_.send_and_wait(std::move(method), std::move(target),
                                                   *json::parse(body), std::move(content_type));
    return reply.ok() ? "" : std::string(reply.body["message"].as_string());
  }

  TestServer server{{}, everything()};

 private:
  Loopback kubelet_{server.gateway(),
                    server.loop(),
                    {.name = "system:node:n1", .groups = {"system:nodes"}},
                    "kubelet"};
};

TEST(NodeRestriction, ANodeWritesItsOwnNodeWithoutPrivilegedLabelsAndTaints) {
  Kubelet kubelet;
  EXPECT_EQ(kubelet.refusal("POST", "/api/v1/nodes", R"({"metadata":{"name":"n2"}})"),
            "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"");
  EXPECT_EQ(kubelet.refusal("POST", "/api/v1/nodes",
                            R"({"metadata":{"name":"n1","labels":{"k8s.io/b":"",)"
                            R"("node-restriction.kubernetes.io/a":"","ok":""}}})"),
            "nodes \"n1\" is forbidden: node \"n1\" is not allowed to set the following labels: "
            "k8s.io/b, node-restriction.kubernetes.io/a");
  EXPECT_EQ(
      kubelet.refusal(
          "POST", "/api/v1/nodes",
          R"({"metadata":{"name":"n1"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})"),
      "");
  EXPECT_EQ(kubelet.refusal("PATCH", "/api/v1/nodes/n1", R"({"spec":{"taints":[]}})",
                            "application/merge-patch+json"),
            "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints");
}

TEST(NodeRestriction, ANodeCannotGiveItselfASecretByAMirrorPod) {
  Kubelet kubelet;
  ASSERT_EQ(kubelet.refusal("POST", "/api/v1/nodes", R"({"metadata":{"name":"n1"}})"), "");
  std::string uid(kubelet.server.get("/api/v1/nodes/n1")["metadata"]["uid"].as_string());
  auto mirror = [&](std::string_view volumes) {
    return cat(
        R"({"metadata":{"name":"m","annotations":{"kubernetes.io/config.mirror":"x"},)"
        R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1",)"
        R"("controller":true,"uid":")",
        uid, R"("}]},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}],"volumes":[)",
        volumes, "]}}");
  };
  EXPECT_EQ(kubelet.refusal("POST", "/api/v1/namespaces/n/pods",
                            mirror(R"({"name":"v","secret":{"secretName":"s"}})")),
            "pods \"m\" is forbidden: node \"n1\" can not create pods that reference secrets");
  EXPECT_EQ(kubelet.refusal("POST", "/api/v1/namespaces/n/pods", mirror("")), "");
}

TEST(NodeRestriction, ANodeTouchesOnlyPodsThatRunOnIt) {
  Kubelet kubelet;
  ASSERT_TRUE(kubelet.server
                  .send("POST", "/api/v1/namespaces/n/pods",
                        R"({"metadata":{"name":"p"},"spec":{"nodeName":"n2",)"
                        R"("containers":[{"name":"c","image":"i"}]}})")
                  .ok());
  EXPECT_EQ(kubelet.refusal("PATCH", "/api/v1/namespaces/n/pods/p/status",
                            R"({"status":{"phase":"Running"}})", "application/merge-patch+json"),
            "pods \"p\" is forbidden: node \"n1\" can only update pod status for pods with "
            "spec.nodeName set to itself");
  EXPECT_EQ(
      kubelet.refusal("POST", "/api/v1/namespaces/n/pods/p/eviction",
                      R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})"),
      "pods \"p\" is forbidden: node n1 can only evict pods with spec.nodeName set to itself");
}

TEST(LimitRanger, FillsWhatContainersLeaveOpenAndSaysSo) {
  TestServer server;
  make_namespace(server, "n");
  ASSERT_TRUE(
      server
          .send("POST", "/api/v1/namespaces/n/limitranges",
                R"({"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container",)"
                R"("default":{"cpu":"500m"},"defaultRequest":{"cpu":"100m"},"max":{"cpu":"1"}}]}})")
          .ok());
  Loopback::Reply made = server.send(
      "POST", "/api/v1/namespaces/n/pods",
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(made.status, 201);
  EXPECT_EQ(made.body["spec"]["containers"][0]["resources"]["requests"]["cpu"].as_string(), "100m");
  EXPECT_EQ(made.body["metadata"]["annotations"]["kubernetes.io/limit-ranger"].as_string(),
            "LimitRanger plugin set: cpu request for container c; cpu limit for container c");
  Loopback::Reply refused = server.send(
      "POST", "/api/v1/namespaces/n/pods",
      R"({"metadata":{"name":"q"},"spec":{"containers":[{"name":"c","image":"i",)"
      R"("resources":{"limits":{"cpu":"2"}}}]}})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body["message"].as_string(),
            "pods \"q\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
}

}  // namespace
}  // namespace cardea::rest

#include <gtest/gtest.h>

#include "base/strings.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

// Bodies that are JSON and nothing that Kubernetes expects.
constexpr std::string_view kBodies[] = {
    "5",
    "[]",
    R"("text")",
    "true",
    "[5]",
    "{}",
    R"({"metadata": 5})",
    R"({"metadata": []})",
    R"({"metadata": {"name": 5}})",
    R"({"metadata": {"labels": 5, "ownerReferences": 5, "managedFields": 5}})",
    R"({"metadata": {"ownerReferences": [5], "managedFields": [5], "finalizers": [5]}})",
    R"({"spec": 5, "status": 5, "data": 5, "rules": 5, "subjects": 5, "target": 5})",
    R"({"spec": [], "status": [], "data": [], "rules": {}, "subjects": {}, "target": []})",
    R"({"kind": 5, "apiVersion": 5})",
    R"([{"op": "replace", "path": "", "value": 5}])",
    R"([{"op": "replace", "path": "", "value": []}])",
    R"([{"op": "replace", "path": "", "value": null}])",
    R"([{"op": "replace", "path": "/metadata", "value": 5}])",
    R"([{"op": "replace", "path": "/spec", "value": 5}])",
    R"([{"op": "remove", "path": "/metadata"}])",
    R"([{"op": "add", "path": "/metadata/managedFields", "value": 5}])",
};

struct Target {
  std::string_view method, path;
};
constexpr Target kTargets[] = {
    {"POST", "/api/v1/namespaces/default/configmaps"},
    {"POST", "/api/v1/namespaces"},
    {"POST", "/api/v1/namespaces/default/bindings"},
    {"POST", "/api/v1/namespaces/default/pods/p/binding"},
    {"POST", "/api/v1/namespaces/default/pods/p/eviction"},
    {"POST", "/api/v1/namespaces/default/serviceaccounts/a/token"},
    {"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
    {"POST", "/apis/authentication.k8s.io/v1/tokenreviews"},
    {"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews"},
    {"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"},
    {"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"},
    {"POST", "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"},
    {"POST", "/apis/access.cardea.dev/v1alpha1/batchsubjectaccessreviews"},
    {"POST", "/apis/access.cardea.dev/v1alpha1/resourceaccessreviews"},
    {"POST", "/apis/authorization.openshift.io/v1beta3/namespaces/default/subjectaccessreviews"},
    {"POST", "/apis/authorization.openshift.io/v1beta3/namespaces/default/roles"},
    {"PUT", "/api/v1/namespaces/default"},
    {"PUT", "/api/v1/namespaces/default/finalize"},
    {"PUT", "/api/v1/namespaces/default/pods/p"},
    {"PUT", "/api/v1/namespaces/default/pods/p/status"},
    {"PUT", "/api/v1/namespaces/default/pods/p/ephemeralcontainers"},
    {"PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale"},
    {"PATCH", "/api/v1/namespaces/default/pods/p"},
    {"PATCH", "/api/v1/namespaces/default/pods/p/status"},
    {"PATCH", "/api/v1/namespaces/default/pods/p/ephemeralcontainers"},
    {"PATCH", "/apis/apps/v1/namespaces/default/deployments/d"},
    {"PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale"},
    {"PATCH", "/apis/example.com/v1/namespaces/default/things/t"},
    {"PATCH", "/apis/example.com/v1/namespaces/default/things/t/scale"},
    {"PATCH", "/apis/example.com/v1/namespaces/default/things/t/status"},
    {"PUT", "/apis/example.com/v1/namespaces/default/things/t/scale"},
    {"DELETE", "/api/v1/namespaces/default/configmaps/none"},
    {"DELETE", "/api/v1/namespaces/default/configmaps"},
};
constexpr const char* kPatches[] = {"application/json-patch+json", "application/merge-patch+json",
                                    "application/strategic-merge-patch+json",
                                    "application/apply-patch+yaml"};

constexpr char kDefinition[] = R"({
  "metadata": {"name": "things.example.com"},
  "spec": {
    "group": "example.com",
    "scope": "Namespaced",
    "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
    "versions": [{
      "name": "v1",
      "served": true,
      "storage": true,
      "schema": {"openAPIV3Schema": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true}},
      "subresources": {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas",
                  "statusReplicasPath": ".status.replicas"}}}]}})";

// Every answer is one, and the next request is served: an abort would end the test.
TEST(Body, NothingThatIsJsonStopsTheServer) {
  TestServer server;
  auto make = [&server](std::string path, std::string_view body) {
    auto reply = server.send("POST", std::move(path), body);
    ASSERT_TRUE(reply.ok()) << reply.body["message"].as_string();
  };
  make("/api/v1/namespaces", R"({"metadata": {"name": "default"}})");
  make("/api/v1/namespaces/default/serviceaccounts", R"({"metadata": {"name": "a"}})");
  make("/api/v1/namespaces/default/pods",
       R"({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})");
  make("/apis/apps/v1/namespaces/default/deployments",
       R"({"metadata": {"name": "d"},
           "spec": {"selector": {"matchLabels": {"a": "b"}},
                    "template": {"metadata": {"labels": {"a": "b"}},
                                 "spec": {"containers": [{"name": "c", "image": "i"}]}}}})");
  make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kDefinition);
  ASSERT_TRUE(server.eventually([&] {
    return server
        .send("POST", "/apis/example.com/v1/namespaces/default/things",
              R"({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"},
                  "spec": {"replicas": 1}})")
        .ok();
  }));
  for (const Target& target : kTargets)
    for (std::string_view body : kBodies) {
      auto send = [&](const std::string& type, const std::string& query) {
        auto reply = server.send(std::string(target.method), cat(target.path, query), body, type);
        EXPECT_GE(reply.status, 200) << target.path << " " << body;
        EXPECT_NE(reply.status, 500) << target.method << " " << target.path << " " << body << " "
                                     << type << ": " << reply.body["message"].as_string();
      };
      if (target.method != "PATCH") {
        send("application/json", "?dryRun=All");
        continue;
      }
      for (const char* type : kPatches)
        send(type, type == kPatches[3] ? "?dryRun=All&fieldManager=m&force=true" : "?dryRun=All");
    }
}

}  // namespace
}  // namespace cardea::rest

#include "rest/write/write.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/strings.h"
#include "rest/testing/test_server.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

constexpr std::string_view
    kConfigMap = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})";

// Runs between admission and the store, and makes one write of another client there.
class Interloper : public admission::Plugin {
 public:
  std::string_view name() const override { return "Interloper"; }
  bool handles(const admission::Review& r) const override {
    return r.resource.name == "configmaps" && (*act_ != nullptr);
  }
  Task<Result<void>> validate(const admission::Review&) const override {
    ++*seen_;
    if (auto act = std::exchange(*act_, nullptr)) std::jthread(act).join();
    co_return Result<void>();
  }

  std::shared_ptr<std::function<void()>> act_ = std::make_shared<std::function<void()>>();
  std::shared_ptr<int> seen_ = std::make_shared<int>(0);
};

struct Between {
  std::shared_ptr<std::function<void()>> act;
  std::shared_ptr<int> seen;
  std::vector<std::unique_ptr<admission::Plugin>> plugins;

  Between() {
    auto plugin = std::make_unique<Interloper>();
    act = plugin->act_;
    seen = plugin->seen_;
    plugins.push_back(std::move(plugin));
  }
};

void set_phase(store::Store& store, const std::string& key, std::string_view phase) {
  store::RecordPtr record = store.get(key);
  json::Value object = parse_stored(*record);
  object.member("status").set("phase", phase);
  ASSERT_TRUE(store::commit_sync(
                  store, {{{key, record->mod_revision}}, {store::Put{key, stored_bytes(object)}}})
                  ->succeeded);
}

TEST(WriteNew, NothingIsWrittenIntoANamespaceThatBeganToTerminateMeanwhile) {
  Between between;
  TestServer server(std::move(between.plugins));
  ASSERT_EQ(server
                .send("POST", "/api/v1/namespaces",
                      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})")
                .status,
            201);
  *between.act = [&] { set_phase(server.store(), "/registry/namespaces/n", "Terminating"); };
  Loopback::Reply reply = server.send("POST", "/api/v1/namespaces/n/configmaps", kConfigMap);
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.body["details"]["causes"][0]["reason"].as_string(), "NamespaceTerminating");
  EXPECT_EQ(server.send("GET", "/api/v1/namespaces/n/configmaps/a").status, 404);
}

TEST(WriteNew, AnotherChangeOfTheNamespaceOnlyMeansASecondTry) {
  Between between;
  TestServer server(std::move(between.plugins));
  ASSERT_EQ(server
                .send("POST", "/api/v1/namespaces",
                      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})")
                .status,
            201);
  *between.act = [&] { set_phase(server.store(), "/registry/namespaces/n", "Active "); };
  EXPECT_EQ(server.send("POST", "/api/v1/namespaces/n/configmaps", kConfigMap).status, 201);
}

TEST(WriteNew, WhoeverIsFirstKeepsTheName) {
  Between between;
  TestServer server(std::move(between.plugins));
  ASSERT_EQ(server
                .send("POST", "/api/v1/namespaces",
                      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})")
                .status,
            201);
  *between.act = [&] {
    store::Put put{
        "/registry/configmaps/n/a",
        R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n"}})"};
    ASSERT_TRUE(store::commit_sync(server.store(), {{}, {std::move(put)}})->succeeded);
  };
  EXPECT_EQ(server.send("POST", "/api/v1/namespaces/n/configmaps", kConfigMap).status, 409);
}

TEST(WriteNew, AdminAccessToDevicesNeedsTheNamespacesLabel) {
  TestServer server;
  auto make_namespace = [&](std::string_view labels, std::string name) {
    ASSERT_EQ(server
                  .send("POST", "/api/v1/namespaces",
                        cat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", name,
                            R"(","labels":{)", labels, "}}}"))
                  .status,
              201);
  };
  make_namespace("", "plain");
  make_namespace(R"("resource.kubernetes.io/admin-access":"true")", "marked");
  auto claim =
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c"},
    "spec":{"devices":{"requests":[
    {"name":"r","exactly":{"deviceClassName":"gpu","adminAccess":true}}]}}})";
  EXPECT_EQ(
      server.send("POST", "/apis/resource.k8s.io/v1/namespaces/plain/resourceclaims", claim).status,
      422);
  EXPECT_EQ(server.send("POST", "/apis/resource.k8s.io/v1/namespaces/marked/resourceclaims", claim)
                .status,
            201);
}

TEST(WriteChange, WhatIsMeantForAnObjectThatIsGoneMakesNoOther) {
  TestServer server;
  Loopback::Reply applied = server.send(
      "PATCH", "/api/v1/namespaces/default/configmaps/a?fieldManager=me",
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u"}})",
      "application/apply-patch+yaml");
  EXPECT_EQ(applied.status, 409);
  EXPECT_EQ(applied.body["message"].as_string(),
            "Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object "
            "specified uid u, and no existing object was found");
  Loopback::Reply put = server.send("PUT",
                                    "/apis/coordination.k8s.io/v1/namespaces/default/leases/a",
                                    R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease",)"
                                    R"("metadata":{"name":"a","uid":"u"}})");
  EXPECT_EQ(put.status, 409);
  EXPECT_TRUE(put.body["message"].as_string().ends_with(
      "Precondition failed: UID in precondition: u, UID in object meta: "));
}

TEST(WriteChange, APatchThatLeavesNoObjectIsRefused) {
  TestServer server;
  ASSERT_EQ(server
                .send("POST", "/api/v1/namespaces",
                      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})")
                .status,
            201);
  Loopback::Reply emptied = server.send("PATCH", "/api/v1/namespaces/n",
                                        R"([{"op":"replace","path":"","value":{}}])",
                                        "application/json-patch+json");
  EXPECT_EQ(emptied.status, 400);
  EXPECT_EQ(emptied.body["message"].as_string(),
            "the name of the object (n based on URL) was undeterminable: name must be provided");
}

TEST(Names, ThatNoObjectCanHaveAreBadRequests) {
  TestServer server;
  for (std::string name : {".", "..", "%25", "a%25b"}) {
    Loopback::Reply reply = server.send("GET", "/api/v1/namespaces/default/configmaps/" + name);
    EXPECT_EQ(reply.status, 400) << name;
    EXPECT_TRUE(reply.body["message"].as_string().starts_with("Name parameter invalid: ")) << name;
  }
}

TEST(Refusals, OfCustomResourcesNameTheVerb) {
  TestServer server;
  ASSERT_EQ(server
                .send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"doors.example.com"},
      "spec":{"group":"example.com","scope":"Cluster","names":{"plural":"doors","kind":"Door"},
        "versions":[{"name":"v1","served":true,"storage":true,
        "subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object"}}}]}})")
                .status,
            201);
  ASSERT_TRUE(server.eventually(
      [&] { return server.send("GET", "/apis/example.com/v1/doors").status == 200; }));
  ASSERT_EQ(server
                .send("POST", "/apis/example.com/v1/doors",
                      R"({"apiVersion":"example.com/v1","kind":"Door","metadata":{"name":"a"}})")
                .status,
            201);
  Loopback::Reply reply = server.send("DELETE", "/apis/example.com/v1/doors/a/status");
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.body["message"].as_string(),
            "delete is not supported on resources of kind \"doors.example.com\"");
}

// Allows one verb on everything.
class OneVerb : public authz::Authorizer {
 public:
  std::string_view name() const override { return "one-verb"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    return a.verb == verb ? authz::Decision::allow() : authz::Decision::no_opinion();
  }
  std::string verb;
};

TEST(Connect, TakesCreateWhateverTheMethodIs) {
  auto role = std::make_shared<OneVerb>();
  TestServer server({}, {role});
  Loopback jane{server.gateway(), server.loop(), {.name = "jane"}, "jane"};
  ASSERT_EQ(server
                .send("POST", "/api/v1/namespaces",
                      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})")
                .status,
            201);
  ASSERT_EQ(server
                .send("POST", "/api/v1/namespaces/default/pods",
                      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},)"
                      R"("spec":{"containers":[{"name":"c","image":"i"}]}})")
                .status,
            201);
  for (std::string sub : {"exec", "attach", "portforward"}) {
    const std::string target = cat("/api/v1/namespaces/default/pods/p/", sub);
    role->verb = "get";
    Loopback::Reply reply = jane.send_and_wait("GET", target);
    EXPECT_EQ(reply.status, 403) << sub;
    EXPECT_EQ(reply.body["message"].as_string(),
              cat("pods \"p\" is forbidden: User \"jane\" cannot create resource \"pods/", sub,
                  "\" in API group \"\" in the namespace \"default\""));
    role->verb = "create";
    EXPECT_EQ(jane.send_and_wait("GET", target).status, 403) << "its own verb is needed too";
    EXPECT_EQ(jane.send_and_wait("POST", target).status, 400) << "there is no node to talk to";
  }
  for (std::string target :
       {"/api/v1/namespaces/default/pods/p/proxy/x",
        "/api/v1/namespaces/default/services/s/proxy/x", "/api/v1/nodes/n/proxy/x"}) {
    for (auto [method, verb] : {std::pair{"GET", "get"}, {"PUT", "update"}, {"DELETE", "delete"}}) {
      role->verb = verb;
      Loopback::Reply reply = jane.send_and_wait(method, target);
      EXPECT_EQ(reply.status, 403) << method << " " << target;
      EXPECT_NE(reply.body["message"].as_string().find("cannot create resource"),
                std::string_view::npos);
    }
    role->verb = "create";
    EXPECT_NE(jane.send_and_wait("POST", target).status, 403) << target;
  }
  role->verb = "get";
  EXPECT_EQ(jane.send_and_wait("GET", "/api/v1/namespaces/default/pods/p/log").status, 204)
      << "reading logs is reading";
}

TEST(Connect, SaysWhatIsKnownOfWhomItCannotReach) {
  TestServer server;
  const std::string pods = "/api/v1/namespaces/default/pods",
                    services = "/api/v1/namespaces/default/services";
  ASSERT_EQ(server
                .send("POST", "/api/v1/namespaces",
                      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})")
                .status,
            201);
  ASSERT_EQ(server
                .send("POST", "/api/v1/nodes",
                      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"near"}})")
                .status,
            201);
  for (std::string node : {"near", "gone"})
    ASSERT_EQ(server
                  .send("POST", pods,
                        cat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"on-)", node,
                            R"("},"spec":{"nodeName":")", node,
                            R"(","containers":[{"name":"c","image":"i"}]}})"))
                  .status,
              201);
  ASSERT_EQ(server
                .send("POST", services,
                      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},)"
                      R"("spec":{"ports":[{"name":"web","port":80}]}})")
                .status,
            201);
  auto said = [&](const std::string& target) {
    Loopback::Reply reply = server.send("GET", target);
    return cat(std::to_string(reply.status), " ", reply.body["message"].as_string());
  };
  EXPECT_EQ(said(pods + "/on-near/log"), "500 no preferred addresses found; known addresses: []");
  EXPECT_EQ(said(pods + "/on-gone/log"), "404 pods \"gone\" not found");
  EXPECT_EQ(said(pods + "/https:on-near:443/proxy/x"), "400 address not allowed");
  EXPECT_EQ(said(pods + "/http:nobody:80/proxy/x"), "404 pods \"nobody\" not found");
  EXPECT_EQ(said(pods + "/ftp:on-near:80/proxy/x"), "400 invalid pod request \"ftp:on-near:80\"");
  EXPECT_EQ(said(services + "/s:web/proxy/x"), "404 services \"s\" not found") << "no Endpoints";
  EXPECT_EQ(said(services + "/http:s:80/proxy/x"), "404 services \"s\" not found");
  EXPECT_EQ(said(services + "/s:81/proxy/x"), "503 no service port 81 found for service \"s\"");
  EXPECT_EQ(said(services + "/a:b:c:d/proxy/x"), "400 invalid service request \"a:b:c:d\"");
  EXPECT_EQ(said(pods + "/nobody/log?tailLines=-1&limitBytes=0"),
            "422 PodLogOptions \"nobody\" is invalid: [tailLines: Invalid value: -1: must be "
            "greater than or equal to 0, "
            "limitBytes: Invalid value: 0: must be greater than 0]");
  EXPECT_EQ(said(pods + "/on-near/log?sinceSeconds=x"),
            "400 strconv.ParseInt: parsing \"x\": invalid syntax");
  EXPECT_EQ(said(pods + "/on-near/log?sinceSeconds=5&sinceTime=2020-01-01T00:00:00Z"),
            "422 PodLogOptions \"on-near\" is invalid: []: Forbidden: at most one of `sinceTime` "
            "or `sinceSeconds` may be specified");
  EXPECT_EQ(said(pods + "/on-near/log?sinceTime=bogus"),
            "400 parsing time \"bogus\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"bogus\" "
            "as \"2006\"");
}

}  // namespace
}  // namespace cardea::rest

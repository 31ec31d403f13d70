#include <gtest/gtest.h>

#include "base/strings.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

using authz::Condition;
using authz::Decision;

// Allows everything on one condition, and gives the condition the outcome of the test.
class Scripted : public authz::Authorizer {
 public:
  std::string_view name() const override { return "scripted"; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    if (a.verb == "list" || a.verb == "get") return Decision::allow();
    authz::Conditions::Set set{
        .conditions = {
            {.effect = Condition::Effect::kAllow, .id = "only-if", .description = "told so"}}};
    if (may_deny) set.conditions.push_back({.effect = Condition::Effect::kDeny, .id = "not-if"});
    return authz::conditional_on(std::move(set));
  }
  Task<Decision> evaluate(std::shared_ptr<const authz::Conditions> conditions,
                          const authz::ConditionData& data) const override {
    ++evaluations;
    seen_operation = data.operation;
    seen_object = data.object ? *data.object : json::Value();
    seen_old = data.old_object ? *data.old_object : json::Value();
    seen_changes.clear();
    if (data.changed)
      data.changed->leaves().for_each([this](const schema::FieldPath& path) {
        seen_changes += schema::field_text(path) + " ";
      });
    if (refuses_size && seen_old["spec"].has("size")) co_return Decision::no_opinion();
    if (answers_conditionally) co_return Decision::conditional(conditions);
    co_return outcome;
  }
  Decision outcome;
  bool may_deny = false, answers_conditionally = false, refuses_size = false;
  mutable int evaluations = 0;
  mutable std::string seen_operation, seen_changes;
  mutable json::Value seen_object, seen_old;
};

class Conditional : public ::testing::Test {
 protected:
  static constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
  static constexpr std::string_view
      kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

  Conditional() {
    make(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})",
         "/api/v1/namespaces");
    make(map("there"), std::string(kMaps));
  }
  void make(const std::string& text, const std::string& path) {
    EXPECT_EQ(server_.send("POST", path, text).status, 201) << path;
  }
  static std::string map(std::string_view name, std::string_view value = "1") {
    return cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name,
               R"("},"data":{"a":")", value, R"("}})");
  }

  struct Request {
    const char* method;
    std::string path, body, type = "application/json";
  };
  std::vector<Request> requests() const {
    std::string maps(kMaps), leases(kLeases);
    return {
        {"POST", maps, map("new")},
        {"PUT", maps + "/there", map("there", "2")},
        {"PATCH", maps + "/there", R"({"data":{"a":"2"}})", "application/merge-patch+json"},
        {"PATCH", maps + "/there", R"([{"op":"replace","path":"/data/a","value":"2"}])",
         "application/json-patch+json"},
        {"PATCH", maps + "/there?fieldManager=m&force=true", map("there", "2"),
         "application/apply-patch+yaml"},
        {"PATCH", maps + "/applied?fieldManager=m", map("applied"), "application/apply-patch+yaml"},
        {"PUT", leases + "/made",
         R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"made"},)"
         R"("spec":{}})"},
        {"DELETE", maps + "/there", ""},
        {"DELETE", maps, ""},
        {"POST", maps + "?dryRun=All", map("new")}};
  }
  Loopback::Reply send(const Request& r) {
    json::Value body;
    if (!r.body.empty()) body = *json::parse(r.body);
    return jane_.send_and_wait(r.method, r.path, body, r.type);
  }

  std::shared_ptr<Scripted> scripted_ = std::make_shared<Scripted>();
  TestServer server_{{}, {scripted_}, true};
  Loopback jane_{server_.gateway(), server_.loop(), {.name = "jane"}, "jane"};
};

TEST_F(Conditional, NothingIsWrittenUnlessTheConditionsAllow) {
  auto refuses = [&](const char* what) {
    for (const Request& r : requests()) {
      store::Revision before = server_.store().current_revision();
      Loopback::Reply reply = send(r);
      EXPECT_EQ(reply.status, 403) << what << " " << r.method << " " << r.path;
      EXPECT_EQ(server_.store().current_revision(), before)
          << what << " " << r.method << " " << r.path;
    }
  };
  scripted_->outcome = Decision::no_opinion();
  refuses("no opinion");
  scripted_->outcome = Decision::no_opinion({}, "timed out");
  refuses("an error");
  scripted_->outcome = Decision::deny("impossible");
  refuses("an impossible answer");
  scripted_->answers_conditionally = true;
  refuses("another condition");
  scripted_->answers_conditionally = false;
  scripted_->may_deny = true;
  scripted_->outcome = Decision::deny("no");
  refuses("a denial");
  EXPECT_GT(scripted_->evaluations, 0);
}

TEST_F(Conditional, WhatTheConditionsAllowIsWritten) {
  scripted_->outcome = Decision::allow("yes");
  for (const Request& r : requests()) EXPECT_LT(send(r).status, 300) << r.method << " " << r.path;
}

TEST_F(Conditional, ARefusalIsWordedLikeAnyOther) {
  scripted_->outcome = Decision::no_opinion("because");
  Loopback::Reply reply = send(requests()[0]);
  EXPECT_EQ(reply.body["message"].as_string(),
            "configmaps \"new\" is forbidden: User \"jane\" cannot create resource \"configmaps\" "
            "in API group \"\" in the namespace \"default\": "
            "scripted: because");
}

TEST_F(Conditional, AnErrorOfAnEvaluationIsNotA500) {
  scripted_->outcome = Decision::no_opinion({}, "boom");
  EXPECT_EQ(send(requests()[0]).status, 403);
}

TEST_F(Conditional, AnUpdateThatCreatesIsSettledAsACreate) {
  scripted_->outcome = Decision::allow();
  EXPECT_EQ(send(requests()[6]).status, 201);
  EXPECT_EQ(scripted_->seen_operation, "CREATE");
  EXPECT_EQ(scripted_->evaluations, 2);
}

TEST_F(Conditional, ABodyOfAnotherKindDoesNotStandInForTheObject) {
  make(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"team":"b"}},)"
       R"("spec":{"containers":[{"name":"c","image":"i"}]}})",
       "/api/v1/namespaces/default/pods");
  make(
      R"({"apiVersion":"v1","kind":"ReplicationController",
          "metadata":{"name":"r","labels":{"team":"b"}},
          "spec":{"replicas":1,"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},
          "spec":{"containers":[{"name":"c","image":"i"}]}}}})",
      "/api/v1/namespaces/default/replicationcontrollers");
  const std::string space = "/api/v1/namespaces/default", forged = R"("labels":{"team":"mine"})";
  scripted_->outcome = Decision::no_opinion();
  for (const Request& r :
       {Request{"POST", space + "/pods/p/eviction",
                cat(R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p",)",
                    forged, "}}")},
        Request{"POST", space + "/pods/p/binding",
                cat(R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p",)", forged,
                    R"(},"target":{"name":"n"}})")},
        Request{"POST", space + "/bindings",
                cat(R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p",)", forged,
                    R"(},"target":{"name":"n"}})")},
        Request{"PUT", space + "/replicationcontrollers/r/scale",
                cat(R"({"apiVersion":"autoscaling/v1","kind":"Scale",)"
                    R"("metadata":{"name":"r","namespace":"default",)",
                    forged, R"(},"spec":{"replicas":2}})")}}) {
    scripted_->seen_object = scripted_->seen_old = {};
    EXPECT_EQ(send(r).status, 403) << r.path;
    EXPECT_EQ(scripted_->seen_object["metadata"]["labels"]["team"].as_string(), "b") << r.path;
    EXPECT_EQ(scripted_->seen_old["metadata"]["labels"]["team"].as_string(), "b") << r.path;
  }
  EXPECT_EQ(scripted_->seen_object["spec"]["replicas"].as_int(), 2);
  EXPECT_EQ(scripted_->seen_old["spec"]["replicas"].as_int(), 1);
}

TEST_F(Conditional, SeeTheStoredObjectWhereTheVersionOfTheRequestDoesNotShowAll) {
  make(
      R"({"metadata":{"name":"things.example.com"},"spec":{"group":"example.com",
      "scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[
      {"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object",
        "properties":{"spec":{"type":"object"}}}}},
      {"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
        "properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}})",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
  const std::string things = "/apis/example.com/v2/namespaces/default/things",
                    older = "/apis/example.com/v1/namespaces/default/things";
  ASSERT_TRUE(TestServer::eventually([&] {
    return server_.send("GET", things).status == 200 && server_.send("GET", older).status == 200;
  }));
  make(
      R"({"apiVersion":"example.com/v2","kind":"Thing","metadata":{"name":"t"},"spec":{"size":7}})",
      things);
  scripted_->outcome = Decision::allow();
  auto label = [&](const std::string& path) {
    return send({"PATCH", path + "/t?dryRun=All", R"({"metadata":{"labels":{"a":"b"}}})",
                 "application/merge-patch+json"})
        .status;
  };
  EXPECT_EQ(label(things), 200);
  EXPECT_EQ(std::exchange(scripted_->evaluations, 0), 1);
  EXPECT_EQ(scripted_->seen_changes, "metadata.labels.a ");
  EXPECT_EQ(label(older), 200);
  EXPECT_EQ(std::exchange(scripted_->evaluations, 0), 2)
      << "in the version of the request, and as it is stored";
  EXPECT_EQ(scripted_->seen_old["spec"]["size"].as_int(), 7);
  EXPECT_FALSE(scripted_->seen_object["spec"].has("size"))
      << "writing through v1 takes it away, and conditions see that";
  EXPECT_EQ(scripted_->seen_changes, "metadata.labels.a spec.size ");
  EXPECT_EQ(send({"DELETE", older + "/t?dryRun=All", ""}).status, 200);
  EXPECT_EQ(scripted_->evaluations, 2);
  EXPECT_EQ(scripted_->seen_old["spec"]["size"].as_int(), 7);
  scripted_->refuses_size = true;
  EXPECT_EQ(label(older), 403);
  EXPECT_EQ(send({"DELETE", older + "/t", ""}).status, 403);
  EXPECT_EQ(server_.send("GET", things + "/t").body["spec"]["size"].as_int(), 7);
}

TEST_F(Conditional, ConnectionsAreSettledOnTheirOptions) {
  const std::string target = "/api/v1/namespaces/default/pods/x/exec?command=ls&container=c";
  for (const char* method : {"POST", "GET"}) {
    const int before = scripted_->evaluations;
    scripted_->outcome = Decision::allow();
    EXPECT_EQ(jane_.send_and_wait(method, target).status, 404) << "allowed, and not there";
    EXPECT_EQ(scripted_->evaluations, before + 1) << method << ": the permission to create";
    EXPECT_EQ(scripted_->seen_operation, "CONNECT");
    EXPECT_EQ(scripted_->seen_object["kind"].as_string(), "PodExecOptions");
    EXPECT_EQ(scripted_->seen_object["command"].items()[0].as_string(), "ls");
    EXPECT_TRUE(scripted_->seen_old.is_null());
    scripted_->outcome = Decision::no_opinion();
    EXPECT_EQ(jane_.send_and_wait(method, target).status, 403) << method;
    scripted_->outcome = Decision::deny("no");
    EXPECT_EQ(jane_.send_and_wait(method, target).status, 403) << method;
  }
  const int before = scripted_->evaluations;
  EXPECT_EQ(jane_.send_and_wait("GET", "/api/v1/namespaces/default/pods/x/log").status, 404);
  EXPECT_EQ(scripted_->evaluations, before) << "a log is a read";
}

}  // namespace
}  // namespace cardea::rest

#include "rest/write/field_permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/strings.h"
#include "json/print.h"
#include "rest/testing/test_server.h"
#include "rest/write/object_rules.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::rest {
namespace {

using authz::Decision;
using json::Value;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Gives the answer of the test, at once or later.
class Scripted : public authz::Authorizer {
 public:
  std::string_view name() const override { return "scripted"; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    if (waits) return std::nullopt;
    return answer(a.verb);
  }
  Task<Decision> authorize_waiting(authz::Attributes a) const override { co_return answer(a.verb); }
  Task<Decision> evaluate(std::shared_ptr<const authz::Conditions>,
                          const authz::ConditionData& data) const override {
    saw_changes = data.changed
                      ? schema::field_text({}) + std::to_string(data.changed->leaves().size())
                      : "none";
    co_return settled;
  }
  Decision answer(std::string_view verb) const {
    asked.emplace_back(verb);
    if (verb == "get" && !is_blind) return Decision::allow();
    if (verb == conditional)
      return authz::conditional_on(
          {.conditions = {
               {.effect = authz::Condition::Effect::kAllow, .id = "only-if", .description = {}}}});
    for (const std::string& a : allowed)
      if (a == verb) return Decision::allow();
    for (const std::string& d : denied)
      if (d == verb) return Decision::deny("told so");
    return verb == error ? Decision::no_opinion({}, "broken") : Decision::no_opinion();
  }

  std::vector<std::string> allowed, denied;
  std::string conditional, error;
  Decision settled = Decision::no_opinion();
  bool waits = false;
  bool is_blind = false;
  mutable std::vector<std::string> asked;
  mutable std::string saw_changes;
};

class FieldsOfRequests : public ::testing::Test {
 protected:
  static constexpr const char* kMap = "/api/v1/namespaces/default/configmaps/there";

  FieldsOfRequests() {
    EXPECT_EQ(server_
                  .send("POST", "/api/v1/namespaces",
                        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})")
                  .status,
              201);
    EXPECT_EQ(server_
                  .send("POST", "/api/v1/namespaces/default/configmaps",
                        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"there"},)"
                        R"("data":{"a":"1"}})")
                  .status,
              201);
    scripted_->asked.clear();
  }
  Loopback::Reply patch(std::string_view text) {
    return jane_.send_and_wait("PATCH", kMap, *json::parse(text), "application/merge-patch+json");
  }
  std::uint64_t comparisons() {
    return server_.metrics().registry().counter({"cardea_field_comparisons_total", ""}).value();
  }

  std::shared_ptr<Scripted> scripted_ = std::make_shared<Scripted>();
  TestServer server_{{}, {scripted_}, true};
  Loopback jane_{server_.gateway(), server_.loop(), {.name = "jane"}, "jane"};
};

TEST_F(FieldsOfRequests, NothingIsComparedForWhoHasTheVerb) {
  scripted_->allowed = {"patch"};
  EXPECT_EQ(patch(R"({"data":{"a":"2"}})").status, 200);
  EXPECT_EQ(comparisons(), 0u);
  EXPECT_EQ(scripted_->asked, std::vector<std::string>{"patch"});
}

TEST_F(FieldsOfRequests, WhoHasGranularChangesWhatIsCovered) {
  scripted_->allowed = {"granular", "granular:label(mine)"};
  for (bool waits : {false, true}) {
    scripted_->waits = waits;
    EXPECT_EQ(
        patch(cat(R"({"metadata":{"labels":{"mine/a":")", waits ? "1" : "2", R"("}}})")).status,
        200);
    Loopback::Reply refused = patch(R"({"data":{"a":"2"}})");
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body["message"].as_string(),
                HasSubstr("cannot granular:data resource \"configmaps\""));
    EXPECT_EQ(refused.body["details"]["causes"][0]["field"].as_string(), "data.a");
  }
}

TEST_F(FieldsOfRequests, OwnersAreNotForWhoHasGranularToRewrite) {
  auto owners = [this] {
    std::string out;
    Value entries = server_.send("GET", kMap).body["metadata"]["managedFields"];
    for (const Value& e : entries.items())
      out += cat(e["manager"].as_string(), "=", json::print(e["fieldsV1"]), ";");
    return out;
  };
  const std::string before = owners();
  constexpr std::string_view kForged =
      R"({"metadata":{"generateName":"g","managedFields":[{"manager":"gitops","operation":"Apply",)"
      R"("apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}]}})";
  scripted_->allowed = {"granular", "granular:label(mine)"};
  auto leaves_owners = [&] {
    for (std::string_view body : {kForged, std::string_view(R"({"metadata":{"managedFields":[]}})"),
                                  std::string_view(R"({"metadata":{"managedFields":[{}]}})"),
                                  std::string_view(R"({"metadata":{"managedFields":null}})")}) {
      Loopback::Reply done = patch(body);
      EXPECT_EQ(done.status, 200) << json::print(done.body);
      EXPECT_FALSE(done.body["metadata"].has("generateName"));
      EXPECT_EQ(owners(), before) << body;
    }
  };
  leaves_owners();
  scripted_->conditional = "patch";  // which ends without an opinion, after owners have been worked
                                     // out
  leaves_owners();
  scripted_->conditional.clear();
  Value whole = server_.send("GET", kMap).body;
  whole.member("metadata")
      .set("managedFields", (*json::parse(kForged))["metadata"]["managedFields"]);
  whole.member("metadata").set("labels", Value::object({{"mine/a", "1"}}));
  EXPECT_EQ(jane_.send_and_wait("PUT", kMap, whole, "application/json").status, 200);
  EXPECT_THAT(owners(), HasSubstr(before));
  EXPECT_THAT(owners(), HasSubstr("mine"));
  EXPECT_THAT(owners(), ::testing::Not(HasSubstr("gitops")));
  scripted_->allowed = {"patch"};
  EXPECT_EQ(patch(kForged).status, 200);
  EXPECT_THAT(owners(), HasSubstr("gitops"));
}

// Whether the caller is known to continue with `granular` before its apply is merged, or only after
// conditions had no opinion.
TEST_F(FieldsOfRequests, AnApplyOfTheSameValueTakesNoOwnershipOfWhatIsNotPermitted) {
  auto applied = [this](std::string_view manager, std::string_view label) {
    const std::string body = cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":)",
                                 R"("there","generateName":"g","labels":{"mine/)", label,
                                 R"(":"1"}},)", R"("data":{"a":"1"}})");
    const int status = jane_
                           .send_and_wait("PATCH", cat(kMap, "?fieldManager=", manager),
                                          *json::parse(body), "application/apply-patch+yaml")
                           .status;
    EXPECT_EQ(status, 200) << manager;
    const Value meta = server_.send("GET", kMap).body["metadata"];
    EXPECT_EQ(meta.has("generateName"), manager == "whole");
    const Value& entries = meta["managedFields"];
    std::string owned;
    for (const Value& e : entries.items())
      if (e["manager"].as_string() == manager) owned += json::print(e["fieldsV1"]);
    return owned;
  };
  scripted_->allowed = {"granular", "granular:label(mine)"};
  const std::string at_once = applied("at-once", "x");
  EXPECT_THAT(at_once, HasSubstr("f:mine/x"));
  EXPECT_THAT(at_once, ::testing::Not(HasSubstr("f:data")));
  scripted_->conditional = "patch";
  const std::string later = applied("later", "y");
  EXPECT_THAT(later, HasSubstr("f:mine/y"));
  EXPECT_THAT(later, ::testing::Not(HasSubstr("f:data")));
  // Nobody loses a field either that the caller may not write.
  EXPECT_THAT(json::print(server_.send("GET", kMap).body["metadata"]["managedFields"]),
              HasSubstr("f:data"));
  scripted_->settled = Decision::allow();
  EXPECT_THAT(applied("whole", "z"), HasSubstr("f:data"));
}

TEST_F(FieldsOfRequests, AreCountedOnceForARequest) {
  auto count = [this](const char* result) {
    return server_.metrics()
        .registry()
        .counter({"cardea_field_permission_results_total", ""}, {{"result", result}})
        .value();
  };
  scripted_->allowed = {"granular", "granular:label(mine)"};
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"mine/a":"1"}}})").status, 200);
  EXPECT_EQ(count("covered"), 1u);
  scripted_->conditional = "patch";  // the fields are judged after admission
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"mine/a":"2"}}})").status, 200);
  EXPECT_EQ(count("covered"), 2u);
  scripted_->conditional.clear();
  scripted_->is_blind = true;  // the fields are judged before the object is read, and after
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"mine/a":"3"}}})").status, 200);
  EXPECT_EQ(count("covered"), 3u);
  EXPECT_EQ(count("refused"), 0u);
  EXPECT_EQ(patch(R"({"data":{"a":"3"}})").status, 403);
  EXPECT_EQ(count("covered"), 3u);
  EXPECT_EQ(count("refused"), 1u);
  scripted_->allowed = {"patch"};
  EXPECT_EQ(patch(R"({"data":{"a":"3"}})").status, 200);
  EXPECT_EQ(count("covered"), 3u) << "nothing was judged";
}

TEST_F(FieldsOfRequests, ADenyHasNoWayAround) {
  scripted_->allowed = {"granular", "granular:data"};
  scripted_->denied = {"patch"};
  EXPECT_EQ(patch(R"({"data":{"a":"2"}})").status, 403);
  EXPECT_EQ(scripted_->asked, std::vector<std::string>{"patch"});
}

TEST_F(FieldsOfRequests, AnErrorIsNeverAnAllow) {
  scripted_->allowed = {"granular", "granular:data"};
  scripted_->error = "patch";
  EXPECT_EQ(patch(R"({"data":{"a":"2"}})").status, 500);
  scripted_->error = "granular:data";
  scripted_->allowed = {"granular"};
  EXPECT_EQ(patch(R"({"data":{"a":"2"}})").status, 403);
  scripted_->error = "granular";
  scripted_->allowed = {"granular:data"};
  EXPECT_EQ(patch(R"({"data":{"a":"2"}})").status, 403);
}

TEST_F(FieldsOfRequests, ConditionalAnswersAreSettledWithWhatIsAtHand) {
  scripted_->allowed = {"granular"};
  scripted_->conditional = "granular:data";
  EXPECT_EQ(patch(R"({"data":{"a":"2"}})").status, 403);
  scripted_->settled = Decision::allow();
  EXPECT_EQ(patch(R"({"data":{"a":"2"}})").status, 200);
}

TEST_F(FieldsOfRequests, ConditionsThatEndWithoutAnOpinionLeaveItToTheFields) {
  scripted_->conditional = "patch";
  EXPECT_EQ(patch(R"({"data":{"a":"2"}})").status, 403);
  EXPECT_EQ(scripted_->saw_changes, "1");
  scripted_->allowed = {"granular", "granular:labels"};
  Loopback::Reply refused = patch(R"({"data":{"a":"2"}})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body["message"].as_string(), HasSubstr("field data.a"));
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"x":"1"}}})").status, 200);
  scripted_->settled = Decision::deny("no");
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"x":"2"}}})").status, 403);
}

TEST_F(FieldsOfRequests, WhatIsExcludedIsDemandedOfWhoHasTheVerb) {
  EXPECT_EQ(server_
                .send("POST", "/apis/permissionconfig.k8s.io/v1/uncoveredpermissionsets",
                      R"json({"apiVersion":"permissionconfig.k8s.io/v1",)json"
                      R"json("kind":"UncoveredPermissionSet","metadata":{"name":"s"},)json"
                      R"json("spec":{"uncoveredPermissions":["granular:label(a)"]}})json")
                .status,
            201);
  scripted_->allowed = {"patch"};
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"a/b":"1"}}})").status, 403);
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"b":"1"}}})").status, 200);
  EXPECT_EQ(patch(R"({"data":{"a":"3"}})").status, 200);
  scripted_->allowed.push_back("granular:label(a)");
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"a/b":"1"}}})").status, 200);
}

TEST_F(FieldsOfRequests, AScaleIsJudgedAlikeWhenConditionsHadNoOpinion) {
  EXPECT_EQ(server_
                .send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                      R"({"metadata":{"name":"things.example.com"},"spec":{
      "group":"example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
      "versions":[{"name":"v1","served":true,"storage":true,
      "subresources":{"scale":{"specReplicasPath":".spec.size",
        "statusReplicasPath":".status.size"}},"schema":{"openAPIV3Schema":{"type":"object",
        "properties":{
        "spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}})")
                .status,
            201);
  const std::string things = "/apis/example.com/v1/namespaces/default/things";
  ASSERT_TRUE(TestServer::eventually([&] { return server_.send("GET", things).status == 200; }));
  EXPECT_EQ(server_
                .send("POST", things,
                      R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},)"
                      R"("spec":{"size":1}})")
                .status,
            201);
  auto scale = [&](int replicas) {
    Value patch = Value::object({{"spec", Value::object({{"replicas", replicas}})}});
    return jane_.send_and_wait("PATCH", things + "/t/scale", patch, "application/merge-patch+json")
        .status;
  };
  for (std::string conditional : {"", "patch"}) {
    scripted_->conditional = conditional;
    scripted_->allowed = {"granular", "granular:labels"};
    EXPECT_EQ(scale(2), 403) << conditional;
    scripted_->allowed = {"granular", "granular:replicaCount"};
    EXPECT_EQ(scale(2), 200) << conditional;
    EXPECT_EQ(scale(1), 200) << conditional;
  }
}

TEST_F(FieldsOfRequests, AreJudgedInTheStoredVersionToo) {
  EXPECT_EQ(server_
                .send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                      R"({"metadata":{"name":"things.example.com"},"spec":{
      "group":"example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
      "versions":[
      {"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object",
        "properties":{"spec":{"type":"object"}}}}},
      {"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
        "properties":{
        "spec":{"type":"object","x-kubernetes-permission-verb":"specification",
          "properties":{"size":{"type":"integer"}}}}}}}]}})")
                .status,
            201);
  const std::string things = "/apis/example.com/v2/namespaces/default/things",
                    older = "/apis/example.com/v1/namespaces/default/things/t";
  ASSERT_TRUE(TestServer::eventually([&] {
    return server_.send("GET", things).status == 200 && server_.send("GET", older).status == 404;
  }));
  EXPECT_EQ(server_
                .send("POST", things,
                      R"({"apiVersion":"example.com/v2","kind":"Thing","metadata":{"name":"t"},)"
                      R"("spec":{"size":1}})")
                .status,
            201);
  auto label = [&](std::string value) {
    return jane_.send_and_wait(
        "PATCH", older, *json::parse(cat(R"({"metadata":{"labels":{"a":")", value, R"("}}})")),
        "application/merge-patch+json");
  };
  scripted_->allowed = {"granular", "granular:labels"};
  Loopback::Reply refused = label("1");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body["message"].as_string(),
              HasSubstr("field spec.size: not covered by granular:specification"));
  EXPECT_EQ(server_.send("GET", things + "/t").body["spec"]["size"].as_int(), 1);
  scripted_->conditional = "patch";  // which ends without an opinion
  EXPECT_EQ(label("1").status, 403);
  scripted_->conditional.clear();
  scripted_->allowed.push_back("granular:specification");
  EXPECT_EQ(label("1").status, 200);
  EXPECT_FALSE(server_.send("GET", things + "/t").body["spec"].has("size"));
}

TEST_F(FieldsOfRequests, WhatAVersionDoesNotShowOutlivesSubresourcesAndDeletions) {
  auto version = [](std::string_view name, bool is_stored, std::string_view spec,
                    std::string_view status) {
    return cat(R"({"name":")", name, R"(","served":true,"storage":)", is_stored ? "true" : "false",
               R"(,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.count",
            "statusReplicasPath":".status.count"}},"schema":{"openAPIV3Schema":{"type":"object",
            "properties":{
            "spec":{"type":"object","properties":{"count":{"type":"integer"})",
               spec, R"(}},"status":{"type":"object","properties":{"note":{"type":"string"})",
               status, "}}}}}}");
  };
  EXPECT_EQ(server_
                .send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                      cat(R"({"metadata":{"name":"things.example.com"},)"
                          R"("spec":{"group":"example.com","scope":"Namespaced",)"
                          R"("names":{"plural":"things","kind":"Thing"},"versions":[)",
                          version("v1", true, R"(,"size":{"type":"integer"})",
                                  R"(,"hid":{"type":"string"})"),
                          ",", version("v2", false, "", ""), "]}}"))
                .status,
            201);
  const std::string things = "/apis/example.com/v1/namespaces/default/things",
                    other = "/apis/example.com/v2/namespaces/default/things/t";
  ASSERT_TRUE(TestServer::eventually([&] {
    return server_.send("GET", things).status == 200 && server_.send("GET", other).status == 404;
  }));
  ASSERT_EQ(
      server_
          .send("POST", things,
                R"({"apiVersion":"example.com/v1","kind":"Thing",)"
                R"("metadata":{"name":"t","finalizers":["a.b/c"]},"spec":{"size":7,"count":1}})")
          .status,
      201);
  ASSERT_EQ(server_
                .send("PATCH", things + "/t/status", R"({"status":{"hid":"x","note":"a"}})",
                      "application/merge-patch+json")
                .status,
            200);
  auto whole = [&] {
    Value now = server_.send("GET", things + "/t").body;
    return cat(json::print(now["spec"]), " ", json::print(now["status"]));
  };
  constexpr const char* kMergePatch = "application/merge-patch+json";
  EXPECT_EQ(
      server_.send("PATCH", other + "/scale", R"({"spec":{"replicas":2}})", kMergePatch).status,
      200);
  EXPECT_EQ(whole(), R"({"count":2,"size":7} {"hid":"x","note":"a"})");
  EXPECT_EQ(
      server_.send("PATCH", other + "/status", R"({"status":{"note":"b"}})", kMergePatch).status,
      200);
  EXPECT_EQ(whole(), R"({"count":2,"size":7} {"hid":"x","note":"b"})");
  scripted_->allowed = {"granular", "granular:replicaCount"};
  EXPECT_EQ(jane_
                .send_and_wait("PATCH", other + "/scale",
                               *json::parse(R"({"spec":{"replicas":3}})"), kMergePatch)
                .status,
            200);
  EXPECT_EQ(whole(), R"({"count":3,"size":7} {"hid":"x","note":"b"})");
  EXPECT_EQ(server_.send("DELETE", other).status, 200);
  EXPECT_EQ(whole(), R"({"count":3,"size":7} {"hid":"x","note":"b"})") << "held by its finalizer";
  EXPECT_EQ(
      server_.send("PATCH", other, R"({"metadata":{"labels":{"a":"b"}}})", kMergePatch).status,
      200);
  EXPECT_EQ(whole(), R"({"count":3} {"hid":"x","note":"b"})")
      << "a write of the object itself, by who may, takes away what its version lacks";
}

TEST_F(FieldsOfRequests, AnotherOrderIsAChangeOfTheList) {
  const std::string pods = "/api/v1/namespaces/default/podtemplates";
  auto with_order = [](std::string_view first, std::string_view second,
                       std::string_view image = "i") {
    return cat(R"({"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"t"},)"
               R"("template":{"spec":{"initContainers":[{"name":")",
               first, R"(","image":"i"},{"name":")", second,
               R"(","image":"i"}],"containers":[{"name":"c","image":")", image, R"("}]}}})");
  };
  EXPECT_EQ(server_.send("POST", pods, with_order("a", "b")).status, 201);
  scripted_->allowed = {"granular", "granular:labels", "granular:computeResources"};
  Loopback::Reply refused = jane_.send_and_wait(
      "PUT", pods + "/t", *json::parse(with_order("b", "a")), "application/json");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body["message"].as_string(),
              HasSubstr("field template.spec.initContainers:"));
  EXPECT_EQ(
      jane_
          .send_and_wait("PUT", pods + "/t", *json::parse(with_order("a", "b")), "application/json")
          .status,
      200);
}

// A scalar inside an object, to see whether a written value is stored.
const schema::Property* probe_of(const schema::Schema& part) {
  for (const schema::Property& p : part.properties)
    if (p.schema->type == schema::Schema::Type::kString && p.schema->format.empty()) return &p;
  for (const schema::Property& p : part.properties)
    if (p.schema->type == schema::Schema::Type::kInteger) return &p;
  return nullptr;
}

// A value for the end of a path; null: only the server writes there.
Value mark_at(const catalog::Resource& r, const schema::FieldPath& path,
              std::vector<std::string>& at) {
  for (const std::string& element : path) at.push_back(element.substr(2));
  if (at.size() == 1) {
    const schema::Property* whole = r.schema->property(at[0]);
    const schema::Property* probe = whole ? probe_of(*whole->schema) : nullptr;
    if (!probe) return {};
    at.push_back(probe->name);
    return probe->schema->type == schema::Schema::Type::kString ? Value("probe") : Value(4242);
  }
  if (at.back() == "labels" || at.back() == "annotations") return Value::object({{"probe", "1"}});
  if (at.back() == "finalizers") return Value::array({Value("probe.io/x")});
  if (at.back() == "ownerReferences")
    return Value::array(
        {Value::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "n"}, {"uid", "1"}})});
  if (at.back() == "conditions")
    return Value::array({Value::object({{"type", "Probe"}, {"status", "True"}})});
  return at[0] == "status" ? Value("probe") : Value();
}

TEST(KeptFields, WhatCountsAsUnchangedIsReallyPutBack) {
  TestServer server;
  auto catalog = server.catalog().get();
  std::vector<std::string> changed;
  std::size_t tried = 0;
  auto survives = [&](const catalog::Resource& r, const schema::FieldPath& path,
                      std::string_view subresource, bool is_create) {
    std::vector<std::string> at;
    Value mark = mark_at(r, path, at);
    if (mark.is_null()) return;
    ++tried;
    Value old = Value::object({{"apiVersion", r.api_version()},
                               {"kind", r.kind},
                               {"metadata", Value::object({{"name", "x"}})},
                               {"spec", Value::object()},
                               {"status", Value::object()}});
    Value next = old;
    next.member(at[0]).set(at[1], mark);
    catalog::StrategyContext context{.group = r.group,
                                     .version = r.version,
                                     .resource = r.name,
                                     .subresource = subresource,
                                     .now = "2026-01-01T00:00:00Z"};
    if (is_create)
      prepare_for_create(next, r, context);
    else
      prepare_for_update(next, old, r, context);
    if (next[at[0]][at[1]] == mark)
      changed.push_back(cat(r.kind, " ", at[0], ".", at[1],
                            is_create ? " on create" : cat(" on update of ", subresource)));
  };
  for (const catalog::Group& group : catalog->groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources) {
        if (r->storage_prefix.empty() || !r->subresource("status")) continue;
        if (r->kind != "Node") survives(*r, {"f:status"}, "", true);
        for (std::string_view subresource : {"", "status", "approval"}) {
          if (!subresource.empty() && !r->subresource(subresource)) continue;
          schema::kept_fields(r->group, r->kind, subresource, r->is_custom, true)
              .for_each([&](const schema::FieldPath& path) {
                if (path != schema::FieldPath{"f:metadata"})
                  return survives(*r, path, subresource, false);
                for (std::string_view part :
                     {"labels", "annotations", "finalizers", "ownerReferences"})
                  survives(*r, {"f:metadata", schema::field_element(part)}, subresource, false);
              });
        }
      }
  EXPECT_THAT(changed, IsEmpty());
  EXPECT_GT(tried, 80u);
}

}  // namespace
}  // namespace cardea::rest

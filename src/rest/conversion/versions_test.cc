// Access to objects through a version that a webhook serves.
#include "rest/conversion/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "catalog/conversion.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

using authz::Decision;
using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A webhook in the same process. What v1, the stored version, calls `size` is `width` in v2.
class FakeWebhook : public catalog::WebhookConversion {
 public:
  Task<Result<std::vector<Value>>> convert(std::vector<Value> objects, const catalog::Resource& to,
                                           const catalog::Catalog&) const override {
    bool asks = false;
    for (Value& o : objects) {
      if (o["apiVersion"].as_string() == to.api_version()) continue;
      asks = true;
      o.set("apiVersion", to.api_version());
      if (to.version == "v1" && calls >= notes_after) o.member("spec").set("note", "unasked");
      if (o["metadata"]["name"].as_string() == fails_for)
        co_return fail(internal_error(cat("the webhook cannot convert ", fails_for)));
      rename(o, to.version == "v1" ? "width" : "size", to.version == "v1" ? "size" : "width");
    }
    calls += asks;
    if (asks && fails) co_return fail(internal_error("the webhook is broken"));
    co_return objects;
  }

  bool fails = false;
  std::string fails_for;   // the name of an object
  int notes_after = 1000;  // after so many calls, stored objects get a note
  int grows = 0;           // by how much more the stored size is, each time
  mutable int calls = 0;

 private:
  void rename(Value& o, std::string_view from, std::string_view to) const {
    const Value* found = o["spec"].find(from);
    if (!found) return;
    const std::int64_t value = found->as_int() + (to == "size" ? grows * (calls + 1) : 0);
    o.member("spec").erase(from);
    o.member("spec").set(to, value);
  }
};

// Allows the verbs of the test; under conditions it refuses what is too large in the stored
// version.
class Scripted : public authz::Authorizer {
 public:
  std::string_view name() const override { return "scripted"; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    if (is_conditional && a.verb != "get" && a.verb != "list" && a.verb != "granular")
      return authz::conditional_on({.conditions = {{.effect = authz::Condition::Effect::kAllow,
                                                    .id = "not-large",
                                                    .description = {}}}});
    for (const std::string& verb : allowed)
      if (verb == a.verb) return Decision::allow();
    return Decision::no_opinion();
  }
  Task<Decision> evaluate(std::shared_ptr<const authz::Conditions>,
                          const authz::ConditionData& data) const override {
    bool is_large = false;
    const authz::ConditionData* shown = data.parent ? data.parent : &data;
    for (const Value* o : {shown->object, shown->old_object}) {
      if (!o || (*o)["spec"]["size"].is_null()) continue;
      sizes.push_back((*o)["spec"]["size"].as_int());
      is_large = is_large || sizes.back() > 10;
    }
    std::string changes;
    if (data.changed)
      data.changed->leaves().for_each(
          [&](const schema::FieldPath& path) { changes += schema::field_text(path) + " "; });
    changed.push_back(changes);
    co_return is_large ? Decision::deny("too large") : Decision::allow();
  }
  std::vector<std::string> allowed;
  bool is_conditional = false;
  mutable std::vector<std::int64_t> sizes;
  mutable std::vector<std::string> changed;
};

class VersionsOfAWebhook : public ::testing::Test {
 protected:
  static constexpr const char* kMerge = "application/merge-patch+json";

  void SetUp() override {
    server_.services().conversion = &webhook_;
    auto version = [](std::string_view name, std::string_view field, std::string_view tag) {
      return cat(R"({"name":")", name, R"(","served":true,"storage":)",
                 name == "v1" ? "true" : "false",
                 R"(,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.)", field,
                 R"(","statusReplicasPath":".status.n"}},"schema":{"openAPIV3Schema":)",
                 R"({"type":"object","properties":{"spec":{"type":"object","properties":{")", field,
                 R"(":{"type":"integer")", tag, R"(},"note":{"type":"string"}}},)",
                 R"("status":{"type":"object","properties":{"n":{"type":"integer"}}}}}}})");
    };
    post("/api/v1/namespaces",
         R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
    post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
         cat(R"({"metadata":{"name":"things.example.com"},"spec":{"group":"example.com",)",
             R"("scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"conversion":)",
             R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],)",
             R"("clientConfig":{"url":"https://127.0.0.1:1/"}}},"versions":[)",
             version("v1", "size", R"(,"x-kubernetes-permission-verb":"example.com/sizes")"), ",",
             version("v2", "width", R"(,"x-kubernetes-permission-verb":"example.com/widths")"),
             "]}}"));
    ASSERT_TRUE(
        TestServer::eventually([&] { return server_.send("GET", path("v2")).status == 200; }));
    post(path("v1"), thing("v1", "t", R"("size":7)"));
  }

  static std::string path(std::string_view version, std::string_view name = "") {
    return cat("/apis/example.com/", version, "/namespaces/default/things", name.empty() ? "" : "/",
               name);
  }
  static std::string thing(std::string_view version, std::string_view name, std::string_view spec) {
    return cat(R"({"apiVersion":"example.com/)", version,
               R"(","kind":"Thing","metadata":{"name":")", name, R"("},"spec":{)", spec, "}}");
  }
  void post(const std::string& where, const std::string& what) {
    Loopback::Reply reply = server_.send("POST", where, what);
    EXPECT_EQ(reply.status, 201) << where << ": " << json::print(reply.body);
  }
  Loopback::Reply jane(std::string method, std::string where, std::string_view body = "",
                       std::string type = "application/json") {
    Value document = body.empty() ? Value() : *json::parse(body);
    return jane_.send_and_wait(std::move(method), std::move(where), std::move(document),
                               std::move(type));
  }
  std::int64_t stored_size() {
    return server_.send("GET", path("v1", "t")).body["spec"]["size"].as_int();
  }

  FakeWebhook webhook_;
  std::shared_ptr<Scripted> scripted_ = std::make_shared<Scripted>();
  TestServer server_{{}, {scripted_}, true};
  Loopback jane_{server_.gateway(), server_.loop(), {.name = "jane"}, "jane"};
};

TEST_F(VersionsOfAWebhook, AreServed) {
  Loopback::Reply got = server_.send("GET", path("v2", "t"));
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(json::print(got.body["spec"]), R"({"width":7})");
  EXPECT_EQ(server_.send("PATCH", path("v2", "t"), R"({"spec":{"width":8}})", kMerge).status, 200);
  EXPECT_EQ(stored_size(), 8);
}

TEST_F(VersionsOfAWebhook, DoNotGetAroundConditionsOnTheStoredObject) {
  scripted_->is_conditional = true;
  scripted_->allowed = {"get"};
  EXPECT_EQ(jane("POST", path("v2"), thing("v2", "small", R"("width":5)")).status, 201);
  EXPECT_EQ(jane("POST", path("v2"), thing("v2", "large", R"("width":11)")).status, 403);
  EXPECT_EQ(server_.send("GET", path("v1", "large")).status, 404);
  EXPECT_EQ(jane("PATCH", path("v2", "t"), R"({"spec":{"width":11}})", kMerge).status, 403);
  EXPECT_EQ(jane("PATCH", path("v2", "t/scale"), R"({"spec":{"replicas":11}})", kMerge).status,
            403);
  EXPECT_EQ(stored_size(), 7);
  EXPECT_EQ(jane("PATCH", path("v2", "t/scale"), R"({"spec":{"replicas":9}})", kMerge).status, 200);
  EXPECT_EQ(stored_size(), 9);
  EXPECT_EQ(server_.send("PATCH", path("v1", "t"), R"({"spec":{"size":11}})", kMerge).status, 200);
  EXPECT_EQ(jane("PATCH", path("v2", "t/status"), R"({"status":{"n":1}})", kMerge).status, 403);
  EXPECT_EQ(jane("DELETE", path("v2", "t")).status, 403);
  EXPECT_EQ(stored_size(), 11);
}

TEST_F(VersionsOfAWebhook, ShowConditionsTheChangedFieldsOfEachForm) {
  scripted_->is_conditional = true;
  EXPECT_EQ(jane("PATCH", path("v2", "t"), R"({"spec":{"width":8}})", kMerge).status, 200);
  EXPECT_THAT(scripted_->changed, ElementsAre("spec.width ", "spec.size "));
}

TEST_F(VersionsOfAWebhook, StoreWhatWasJudged) {
  webhook_.grows = 1;  // each answer is another one
  scripted_->is_conditional = true;
  EXPECT_EQ(jane("PATCH", path("v2", "t"), R"({"spec":{"width":2}})", kMerge).status, 200);
  ASSERT_FALSE(scripted_->sizes.empty());
  webhook_.grows = 0;
  EXPECT_EQ(stored_size(), scripted_->sizes.front());
}

TEST_F(VersionsOfAWebhook, ThatAreOthersTheSecondTimeAreJudgedOrNotStored) {
  scripted_->allowed = {"granular", "granular:example.com/sizes", "granular:example.com/widths",
                        "granular:identity", "get"};
  for (int lies_from : {0, 1, 2, 3}) {
    webhook_.calls = 0;
    webhook_.notes_after = lies_from;
    const std::string name = cat("n", lies_from);
    Loopback::Reply made = jane("POST", path("v2"), thing("v2", name, R"("width":1)"));
    const Value stored = server_.get(path("v1", name));
    EXPECT_FALSE(stored["spec"].has("note")) << lies_from << ": nobody may write it";
    EXPECT_EQ(made.status == 201, stored["spec"]["size"].as_int() == 1) << lies_from;
    webhook_.calls = 0;
    Loopback::Reply changed = jane("PATCH", path("v2", "t"), R"({"spec":{"width":8}})", kMerge);
    EXPECT_FALSE(server_.get(path("v1", "t"))["spec"].has("note")) << lies_from;
  }
  webhook_.notes_after = 1000;
  Loopback::Reply honest = jane("POST", path("v2"), thing("v2", "honest", R"("width":1)"));
  EXPECT_EQ(honest.status, 201) << json::print(honest.body);
}

TEST_F(VersionsOfAWebhook, OfOneNameDoNotDependOnOtherObjects) {
  post(path("v1"), thing("v1", "bad", R"("size":1)"));
  webhook_.fails_for = "bad";
  EXPECT_EQ(server_.send("GET", path("v2")).status, 500);
  Loopback::Reply one = server_.send("GET", cat(path("v2"), "?fieldSelector=metadata.name%3Dt"));
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(one.body["items"].size(), 1u);
  EXPECT_EQ(server_.send("GET", "/apis/example.com/v2/things?fieldSelector=metadata.name%3Dt")
                .body["items"]
                .size(),
            1u)
      << "in all namespaces";
  EXPECT_EQ(server_.send("GET", cat(path("v2"), "?fieldSelector=metadata.name%3Dbad")).status, 500);
}

TEST_F(VersionsOfAWebhook, DoNotGetAroundPermissionsOnFields) {
  auto widen = [&] { return jane("PATCH", path("v2", "t"), R"({"spec":{"width":8}})", kMerge); };
  scripted_->allowed = {"granular", "granular:example.com/widths", "get"};
  Loopback::Reply refused = widen();
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body["message"].as_string(),
              HasSubstr("field spec.size: not covered by granular:example.com/sizes"));
  EXPECT_EQ(stored_size(), 7);
  scripted_->allowed = {"granular", "granular:example.com/sizes", "get"};
  EXPECT_THAT(widen().body["message"].as_string(),
              HasSubstr("field spec.width: not covered by granular:example.com/widths"));
  EXPECT_EQ(jane("POST", path("v2"), thing("v2", "n", R"("width":1)")).status, 403);
  scripted_->allowed = {"granular", "granular:example.com/sizes", "granular:example.com/widths",
                        "get"};
  EXPECT_EQ(widen().status, 200);
  EXPECT_EQ(stored_size(), 8);
}

TEST_F(VersionsOfAWebhook, AnErrorIsNeverAnAllow) {
  for (bool is_conditional : {true, false}) {
    scripted_->is_conditional = is_conditional;
    scripted_->allowed = {
        "granular", "granular:example.com/sizes", "granular:example.com/widths", "get", "list",
        "delete"};
    webhook_.fails = true;
    EXPECT_EQ(jane("GET", path("v2", "t")).status, 500);
    EXPECT_EQ(jane("GET", path("v2")).status, 500);
    EXPECT_EQ(jane("GET", path("v2", "t/scale")).status, is_conditional ? 500 : 500);
    EXPECT_EQ(jane("POST", path("v2"), thing("v2", "n", R"("width":1)")).status, 500);
    EXPECT_EQ(jane("PATCH", path("v2", "t"), R"({"spec":{"width":8}})", kMerge).status, 500);
    EXPECT_EQ(jane("PATCH", path("v2", "t/status"), R"({"status":{"n":1}})", kMerge).status, 500);
    EXPECT_EQ(jane("PATCH", path("v2", "t/scale"), R"({"spec":{"replicas":1}})", kMerge).status,
              500);
    EXPECT_EQ(jane("DELETE", path("v2", "t")).status, 500);
    webhook_.fails = false;
    EXPECT_EQ(stored_size(), 7);
    EXPECT_EQ(server_.send("GET", path("v1", "n")).status, 404);
  }
}

TEST_F(VersionsOfAWebhook, OfAListAreAskedForTogether) {
  for (int i = 0; i < 20; ++i) post(path("v1"), thing("v1", cat("t", i), R"("size":1)"));
  webhook_.calls = 0;
  EXPECT_EQ(server_.send("GET", path("v2")).body["items"].size(), 21u);
  EXPECT_EQ(webhook_.calls, 1);
  EXPECT_EQ(server_.send("GET", path("v1")).body["items"].size(), 21u);
  EXPECT_EQ(webhook_.calls, 1) << "objects that are in this version already are not sent";
}

TEST_F(VersionsOfAWebhook, ThatFailsLeaveNothingHalfDone) {
  // The stored form is made, and reading it back fails.
  class HalfBroken : public FakeWebhook {
   public:
    Task<Result<std::vector<Value>>> convert(std::vector<Value> objects,
                                             const catalog::Resource& to,
                                             const catalog::Catalog& catalog) const override {
      const bool back = to.version == "v2" && !objects.empty() &&
                        objects[0]["spec"]["size"].as_int() == 8;
      if (back) co_return fail(internal_error("the webhook is broken"));
      Result<std::vector<Value>> out = co_await FakeWebhook::convert(std::move(objects), to,
                                                                     catalog);
      co_return out;
    }
  } half_broken;
  server_.services().conversion = &half_broken;
  EXPECT_EQ(server_.send("PATCH", path("v2", "t"), R"({"spec":{"width":8}})", kMerge).status, 500);
  EXPECT_EQ(stored_size(), 7);
}

}  // namespace
}  // namespace cardea::rest

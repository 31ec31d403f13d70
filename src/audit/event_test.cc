#include "audit/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::audit {
namespace {

using json::Value;
using testing::HasSubstr;
using testing::Not;

struct Sample {
  std::shared_ptr<Arrival> arrival = std::make_shared<Arrival>();
  Event event;

  explicit Sample(Level level) {
    arrival->level = level;
    arrival->audit_id = "id-1";
    arrival->uri = "/api/v1/namespaces/a/configmaps/x";
    arrival->verb = "update";
    arrival->user_agent = "test/1";
    arrival->user = {.name = "jane", .uid = "u", .groups = {"dev"}, .extra = {{"k", {"v1", "v2"}}}};
    arrival->source_ips = {"10.0.0.1"};
    arrival->has_object = true;
    arrival->object.resource = "configmaps";
    arrival->object.namespace_name = "a";
    arrival->object.name = "x";
    arrival->object.api_version = "v1";
    event.arrival = arrival;
    event.stage = Stage::kResponseComplete;
    event.code = 200;
    event.has_request_object = true;
    event.request_object = *json::parse(
        R"({"kind":"ConfigMap","metadata":{"name":"x","managedFields":[{"manager":"m"}]}})");
  }
  void answer(AnswerBody::Kind kind, std::string text) {
    event.answer = {kind, false, http::Body(std::move(text))};
  }
  Value printed() const {
    std::string line = print_json(event);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    auto parsed = json::parse(line);
    EXPECT_TRUE(parsed.has_value()) << line;
    return *parsed;
  }
};

TEST(Event, TellsAsMuchAsItsLevelSays) {
  Sample metadata(Level::kMetadata), request(Level::kRequest), both(Level::kRequestResponse);
  for (Sample* s : {&metadata, &request, &both})
    s->answer(AnswerBody::Kind::kObject, "{\"kind\":\"ConfigMap\"}\n");
  EXPECT_FALSE(metadata.printed().has("requestObject"));
  EXPECT_FALSE(metadata.printed().has("responseObject"));
  EXPECT_EQ(request.printed()["requestObject"], request.event.request_object);
  EXPECT_FALSE(request.printed().has("responseObject"));
  EXPECT_EQ(json::print(both.printed()["responseObject"]), R"({"kind":"ConfigMap"})");
  EXPECT_EQ(json::print(both.printed()["responseStatus"]), R"({"code":200,"metadata":{}})");
  EXPECT_EQ(json::print(both.printed()["user"]),
            R"({"extra":{"k":["v1","v2"]},"groups":["dev"],"uid":"u","username":"jane"})");
}

TEST(Event, AStatusThatWasAnsweredIsShownByEveryLevel) {
  Sample s(Level::kMetadata);
  s.event.code = 404;
  s.answer(AnswerBody::Kind::kStatus,
           R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no",)"
           R"("reason":"NotFound","details":{"name":"x"},"code":404})");
  EXPECT_EQ(
      json::print(s.printed()["responseStatus"]),
      R"({"code":404,"details":{"name":"x"},"message":"no","metadata":{},"reason":"NotFound",)"
      R"("status":"Failure"})");
  EXPECT_FALSE(s.printed().has("responseObject"));
}

TEST(Event, AnAnswerOfSeveralLinesIsPrintedOnOne) {
  Sample s(Level::kRequestResponse);
  s.answer(AnswerBody::Kind::kObject, "{\n  \"kind\": \"ConfigMap\"\n}\n");
  EXPECT_EQ(json::print(s.printed()["responseObject"]), R"({"kind":"ConfigMap"})");
  s.answer(AnswerBody::Kind::kObject, "kind: ConfigMap\n");
  s.event.answer.is_yaml = true;
  EXPECT_EQ(json::print(s.printed()["responseObject"]), R"({"kind":"ConfigMap"})");
}

TEST(Event, OwnersOfFieldsCanBeLeftOutOfObjectsListsAndTables) {
  Sample s(Level::kRequestResponse);
  s.arrival->omit_managed_fields = true;
  s.answer(AnswerBody::Kind::kObject, R"({"kind":"Table","metadata":{"managedFields":1},)"
                                      R"("items":[{"metadata":{"managedFields":[]}}],)"
                                      R"("rows":[{"object":{"metadata":{"managedFields":[]}}}]})");
  EXPECT_THAT(print_json(s.event), Not(HasSubstr("managedFields")));
  EXPECT_EQ(json::print(s.printed()["requestObject"]),
            R"({"kind":"ConfigMap","metadata":{"name":"x"}})");
}

TEST(Event, NothingAClientSendsLeavesItsString) {
  Sample s(Level::kMetadata);
  s.arrival->user_agent = "a\n{\"kind\":\"Event\"}\x01\x7f\xff\xfe";
  s.arrival->object
      .name = "x\",\"annotations\":{\"authorization.k8s.io/decision\":\"allow\"},\"y\":\"";
  s.arrival->uri = "/\r\n\"";
  Value printed = s.printed();
  EXPECT_FALSE(printed.has("annotations"));
  EXPECT_EQ(printed["objectRef"]["name"].as_string(), s.arrival->object.name);
  EXPECT_EQ(printed["userAgent"].as_string(),
            "a\n{\"kind\":\"Event\"}\x01\x7f\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Event, AStatusThatIsNoJsonIsNotShown) {
  Sample s(Level::kRequestResponse);
  s.answer(AnswerBody::Kind::kStatus, "1,\"annotations\":{\"a\":\"b\"}");
  EXPECT_FALSE(s.printed().has("responseObject"));
  EXPECT_FALSE(s.printed().has("annotations"));
}

TEST(Event, TheConstraintOfAnImpersonationIsInBothPlaces) {
  Sample s(Level::kMetadata);
  s.event.impersonated = std::make_shared<authz::User>(authz::User{.name = "bob"});
  EXPECT_EQ(json::print(s.printed()["impersonatedUser"]), R"({"username":"bob"})");
  EXPECT_FALSE(s.printed().has("authenticationMetadata"));
  s.event.impersonation_constraint = "impersonate:user-info";
  EXPECT_EQ(json::print(s.printed()["impersonatedUser"]),
            R"({"impersonationConstraint":"impersonate:user-info","username":"bob"})");
  EXPECT_EQ(json::print(s.printed()["authenticationMetadata"]),
            R"({"impersonationConstraint":"impersonate:user-info"})");
}

TEST(Event, OfAnnotationsWithOneKeyTheFirstIsShown) {
  Sample s(Level::kMetadata);
  s.event.annotations = {{"b", "1"}, {"a", "2"}, {"b", "3"}};
  EXPECT_EQ(json::print(s.printed()["annotations"]), R"({"a":"2","b":"1"})");
}

TEST(Event, ABareOneSaysThatItWasTruncated) {
  Sample s(Level::kRequestResponse);
  s.answer(AnswerBody::Kind::kObject, "{\"kind\":\"ConfigMap\"}\n");
  Value bare = *json::parse(print_json(s.event, true));
  EXPECT_FALSE(bare.has("requestObject"));
  EXPECT_FALSE(bare.has("responseObject"));
  EXPECT_EQ(bare["annotations"]["audit.k8s.io/truncated"].as_string(), "true");
}

TEST(Event, TheOldFormatIsOneLineOfText) {
  Sample s(Level::kMetadata);
  s.arrival->user_agent = "a\nb";
  EXPECT_EQ(print_legacy(s.event),
            "1970-01-01T00:00:00Z AUDIT: id=\"id-1\" stage=\"ResponseComplete\" ip=\"10.0.0.1\" "
            "method=\"update\" user=\"jane\" groups=\"\\\"dev\\\"\" "
            "as=\"<self>\" asgroups=\"<lookup>\" user-agent=\"a\\nb\" namespace=\"a\" "
            "uri=\"/api/v1/namespaces/a/configmaps/x\" response=\"200\"");
}

}  // namespace
}  // namespace cardea::audit

#include "rest/reviews/batch_fast_path.h"

#include <gtest/gtest.h>

#include "authz/access_review.h"
#include "authz/user_info.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::rest {
namespace {

std::string batch(std::string_view spec) {
  return cat(R"({"kind":"BatchSubjectAccessReview","apiVersion":"access.cardea.dev/v1alpha1",)"
             R"("metadata":{},"spec":)",
             spec, "}");
}
bool is_plain(std::string_view spec) {
  return FastBatch::read(batch(spec), 3).has_value();
}

std::string shown(const authz::Attributes& a) {
  std::string out = cat(a.user.name, "|", a.user.uid, "|", join(a.user.groups, ","), "|",
                        a.is_resource_request ? "r" : "p");
  for (std::string_view part : {a.verb, a.api_group, a.api_version, a.namespace_name, a.resource,
                                a.subresource, a.name, a.path})
    out += cat("|", part);
  return out;
}

TEST(FastBatch, MeansWhatTheOrdinaryReadingMeans) {
  const std::string text = batch(R"( { "user" : "jane", "uid":"7", "groups":["a","b c"], "items":[
      {"resourceAttributes":{"namespace":"ns","verb":"get","group":"apps","version":"v1",
        "resource":"deployments","subresource":"scale","name":"x"}},
      {"resourceAttributes":{}},
      {"nonResourceAttributes":{"path":"/x?","verb":"get"}} ] } )");
  auto plain = FastBatch::read(text, 3);
  ASSERT_TRUE(plain);
  json::Value spec = json::parse(text).value()["spec"];
  authz::User user = authz::read_subject(spec);
  ASSERT_EQ(plain->size(), spec["items"].size());
  for (std::size_t i = 0; i < plain->size(); ++i) {
    authz::Question question(spec["items"][i]);
    EXPECT_EQ(shown(plain->attributes(i)), shown(question.attributes(user)));
  }
}

TEST(FastBatch, WhatIsNotPlainIsLeftToTheOrdinaryReading) {
  const std::string item = R"({"resourceAttributes":{"verb":"get"}})";
  EXPECT_TRUE(is_plain(cat(R"({"user":"u","items":[)", item, "]}")));
  for (std::string spec :
       {std::string(R"({"user":"u","items":[]})"), std::string(R"({"user":"u"})"),
        cat(R"({"items":[)", item, "]}"), cat(R"({"user":"u","user":"v","items":[)", item, "]}"),
        cat(R"({"user":"u","extra":{},"items":[)", item, "]}"),
        cat(R"({"user":"u\n","items":[)", item, "]}"),
        cat("{\"user\":\"\xc3\xa9\",\"items\":[", item, "]}"),
        cat(R"({"user":7,"items":[)", item, "]}"), cat(R"({"user":null,"items":[)", item, "]}"),
        cat(R"({"user":"u","items":[)", item, ",", item, ",", item, ",", item, "]}"),
        std::string(R"({"user":"u","items":[{}]})"),
        std::string(R"({"user":"u","items":[{"user":"v","resourceAttributes":{}}]})"),
        std::string(
            R"({"user":"u","items":[{"resourceAttributes":{},"nonResourceAttributes":{}}]})"),
        std::string(R"({"user":"u","items":[{"resourceAttributes":{"verb":"a","verb":"b"}}]})"),
        std::string(R"({"user":"u","items":[{"resourceAttributes":{"fieldSelector":{}}}]})"),
        std::string(R"({"user":"u","items":[{"resourceAttributes":{"verb":"a"})"),
        std::string(R"({"user":"u","items":[{"resourceAttributes":{"verb":"a"}}]} x)")})
    EXPECT_FALSE(is_plain(spec)) << spec;
  EXPECT_FALSE(FastBatch::read(
      R"({"kind":"Pod","spec":{"user":"u","items":[{"resourceAttributes":{}}]}})", 3));
}

}  // namespace
}  // namespace cardea::rest

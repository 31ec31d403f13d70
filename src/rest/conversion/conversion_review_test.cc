#include "rest/conversion/conversion_review.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::rest {
namespace {

using json::Value;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : Value();
}

Value door(std::string_view name, std::string_view version = "v1") {
  return parsed(cat(R"({"kind":"Door","apiVersion":"example.com/)", version,
                    R"(","metadata":{"name":")", name,
                    R"(","namespace":"default","uid":"u-1","labels":{"a":"b"},"generation":3},)",
                    R"("spec":{"size":1}})"));
}

// One question and the ways to answer it.
struct Conversation {
  std::vector<Value> sent = {door("front")};
  std::string version = "v1";

  Value answer() const {
    Value objects = Value::array();
    for (const Value& o : sent) {
      Value converted = o;
      converted.set("apiVersion", "example.com/v2");
      objects.push_back(std::move(converted));
    }
    return Value::object({{"kind", "ConversionReview"},
                          {"apiVersion", cat("apiextensions.k8s.io/", version)},
                          {"response", Value::object({{"uid", "question"},
                                                      {"result", parsed(R"({"status":"Success"})")},
                                                      {"convertedObjects", objects}})}});
  }

  std::expected<std::vector<Value>, ConversionFailure> read(const Value& review) const {
    http::Answer answer;
    answer.status = 200;
    answer.body = json::print(review);
    return read_conversion(answer, {version, "question", "example.com/v2", sent});
  }

  std::string refusal(const Value& review) const {
    auto found = read(review);
    EXPECT_FALSE(found.has_value());
    return found ? "" : found.error().message;
  }

  // With one object changed.
  template <typename Change>
  Value lie(Change change, std::size_t index = 0) const {
    Value review = answer();
    change(review.member("response").member("convertedObjects").item(index));
    return review;
  }
};

constexpr std::string_view kFor = "conversion webhook for example.com/v1, Kind=Door ";

TEST(ConversionReview, NamesTheVersionAndTheObjects) {
  const Value review = conversion_review("v1", "question", "example.com/v2", {door("front")});
  EXPECT_EQ(review["kind"].as_string(), "ConversionReview");
  EXPECT_EQ(review["apiVersion"].as_string(), "apiextensions.k8s.io/v1");
  EXPECT_EQ(review["request"]["uid"].as_string(), "question");
  EXPECT_EQ(review["request"]["desiredAPIVersion"].as_string(), "example.com/v2");
  EXPECT_EQ(review["request"]["objects"], Value::array({door("front")}));
}

TEST(ConversionReview, IsInTheFirstVersionOfTheListThatIsKnown) {
  EXPECT_EQ(review_version(parsed(R"(["v7","v1beta1","v1"])")), "v1beta1");
  EXPECT_EQ(review_version(parsed(R"(["v1","v1beta1"])")), "v1");
  EXPECT_EQ(review_version(parsed(R"(["v7"])")), "");
}

TEST(ConversionAnswer, OfAnHonestWebhookIsTaken) {
  const Conversation c{.sent = {door("front"), door("back")}};
  auto found = c.read(c.answer());
  ASSERT_TRUE(found.has_value()) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[1]["metadata"]["name"].as_string(), "back");
  EXPECT_EQ((*found)[1]["apiVersion"].as_string(), "example.com/v2");
}

TEST(ConversionAnswer, KeepsAllMetadataButLabelsAndAnnotations) {
  const Conversation c;
  auto found = c.read(c.lie([](Value& o) {
    Value& meta = o.member("metadata");
    meta.set("generation", 99);
    meta.set("finalizers", Value::array({"a/b"}));
    meta.set("labels", parsed(R"({"c":"d"})"));
    meta.set("annotations", parsed(R"({"e":"f"})"));
  }));
  ASSERT_TRUE(found.has_value()) << found.error().message;
  const Value& meta = (*found)[0]["metadata"];
  EXPECT_EQ(meta["generation"].as_int(), 3);
  EXPECT_FALSE(meta.has("finalizers"));
  EXPECT_EQ(json::print(meta["labels"]), R"({"c":"d"})");
  EXPECT_EQ(json::print(meta["annotations"]), R"({"e":"f"})");
}

TEST(ConversionAnswer, WithoutLabelsTakesThemAway) {
  const Conversation c;
  auto found = c.read(c.lie([](Value& o) { o.member("metadata").erase("labels"); }));
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_FALSE((*found)[0]["metadata"].has("labels"));
}

TEST(ConversionAnswer, ToAnotherQuestionIsRefused) {
  const Conversation c;
  Value review = c.answer();
  review.member("response").set("uid", "other");
  EXPECT_EQ(c.refusal(review),
            cat(kFor, R"(failed: expected response.uid="question", got "other")"));
}

TEST(ConversionAnswer, OfTheOldReviewNeedNotNameTheQuestion) {
  const Conversation c{.version = "v1beta1"};
  Value review = c.answer();
  review.member("response").erase("uid");
  review.erase("kind");
  review.erase("apiVersion");
  EXPECT_TRUE(c.read(review).has_value());
}

TEST(ConversionAnswer, MustSaySuccess) {
  const Conversation c;
  Value review = c.answer();
  review.member("response").set("result", parsed(R"({"status":"Failure","message":"stuck"})"));
  EXPECT_EQ(c.refusal(review), cat(kFor, "failed: stuck"));
  review.member("response").set("result", parsed(R"({"status":"success"})"));
  EXPECT_EQ(c.refusal(review),
            cat(kFor, "failed: response.result.status was 'success', not 'Success'"));
  review.member("response").erase("result");
  EXPECT_EQ(c.refusal(review), cat(kFor, "failed: response.result.status was '', not 'Success'"));
  review.erase("response");
  EXPECT_EQ(c.refusal(review), cat(kFor, "failed: no response provided"));
}

TEST(ConversionAnswer, OfAnotherKindIsRefused) {
  const Conversation c;
  Value review = c.answer();
  review.erase("kind");
  EXPECT_EQ(c.refusal(review), cat(kFor,
                                   "failed: expected webhook response of apiextensions.k8s.io/v1, "
                                   "Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind="));
  review.set("kind", "AdmissionReview");
  EXPECT_TRUE(c.refusal(review).starts_with(
      cat(kFor, R"(failed: no kind "AdmissionReview" is registered for version)")));
}

TEST(ConversionAnswer, WithAnotherNumberOfObjectsIsRefused) {
  const Conversation c{.sent = {door("front"), door("back")}};
  Value review = c.answer();
  review.member("response").set("convertedObjects", Value::array({door("front", "v2")}));
  auto found = c.read(review);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message, cat(kFor, "returned 1 objects, expected 2"));
  EXPECT_EQ(found.error().type, "conversion_webhook_partial_response_failure");
}

TEST(ConversionAnswer, InAnotherOrderIsRefused) {
  const Conversation c{.sent = {door("front"), door("back")}};
  Value review = c.answer();
  review.member("response")
      .set("convertedObjects", Value::array({door("back", "v2"), door("front", "v2")}));
  EXPECT_EQ(c.refusal(review), cat(kFor,
                                   "returned invalid converted object at index 0: must have "
                                   "the same name: front != back"));
}

TEST(ConversionAnswer, WithAnObjectOfAnotherVersionOrKindIsRefused) {
  const Conversation one, two{.sent = {door("front"), door("back")}};
  auto other_version = [](Value& o) { o.set("apiVersion", "example.com/v3"); };
  EXPECT_EQ(one.refusal(one.lie(other_version)),
            cat(kFor,
                "returned invalid object at index 0: invalid groupVersion (expected "
                "example.com/v2, received example.com/v3)"));
  EXPECT_EQ(two.refusal(two.lie(other_version, 1)),
            cat(kFor,
                "returned invalid converted object at index 1: invalid groupVersion (expected "
                "example.com/v2, received example.com/v3)"));
  auto other_kind = [](Value& o) { o.set("kind", "Window"); };
  EXPECT_EQ(one.refusal(one.lie(other_kind)),
            cat(kFor,
                "returned invalid object at index 0: invalid kind (expected Door, received "
                "Window)"));
}

TEST(ConversionAnswer, WithAnotherIdentityIsRefused) {
  const Conversation c;
  struct Lie {
    std::string_view key, said;
  };
  for (const auto& [key, said] :
       {Lie{"name", "name: front != other"}, Lie{"namespace", "namespace: default != other"},
        Lie{"uid", "UID: u-1 != other"}})
    EXPECT_EQ(c.refusal(c.lie([&](Value& o) { o.member("metadata").set(key, "other"); })),
              cat(kFor, "returned invalid object: must have the same ", said));
}

TEST(ConversionAnswer, WithWrongMetadataIsRefused) {
  const Conversation c;
  auto with = [&](std::string_view key, std::string_view value) {
    return c.refusal(c.lie([&](Value& o) { o.member("metadata").set(key, parsed(value)); }));
  };
  EXPECT_EQ(with("labels", "[1]"), cat(kFor,
                                       "returned invalid metadata: invalid metadata.labels of "
                                       "type []interface {} in converted object"));
  EXPECT_EQ(with("labels", R"({"a":1})"),
            cat(kFor,
                "returned invalid metadata: metadata.labels[a] must be a string, but is int64 "
                "in converted object"));
  EXPECT_TRUE(with("labels", R"({"a b":"c"})")
                  .starts_with(cat(kFor,
                                   "returned invalid metadata: metadata.labels: Invalid value: "
                                   "\"a b\"")));
  EXPECT_TRUE(with("annotations", R"({"a b":"c"})")
                  .starts_with(cat(kFor,
                                   "returned invalid metadata: metadata.annotation: Invalid "
                                   "value: \"a b\"")));
}

// Labels that are not valid any more are no reason to refuse what did not change them.
TEST(ConversionAnswer, WithTheInvalidLabelsThatWereSentIsTaken) {
  Conversation c;
  c.sent[0].member("metadata").set("labels", parsed(R"({"a b":"c"})"));
  EXPECT_TRUE(c.read(c.answer()).has_value());
}

TEST(ConversionAnswer, ThatIsNoReviewIsRefused) {
  const Conversation c;
  for (std::string_view body : {"", "{]", "[]", "7", R"({"response":7})"}) {
    http::Answer answer;
    answer.status = 200;
    answer.body = body;
    auto found = read_conversion(answer, {"v1", "question", "example.com/v2", c.sent});
    ASSERT_FALSE(found.has_value()) << body;
    EXPECT_TRUE(found.error().message.starts_with(cat(kFor, "failed: "))) << body;
    EXPECT_EQ(found.error().type, "conversion_webhook_call_failure") << body;
  }
  http::Answer answer;
  answer.status = 503;
  auto found = read_conversion(answer, {"v1", "question", "example.com/v2", c.sent});
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message,
            cat(kFor, "failed: the server is currently unable to handle the request"));
}

}  // namespace
}  // namespace cardea::rest

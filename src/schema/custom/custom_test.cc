// Custom resources: schemas built from OpenAPI, defaults, pruning, validation and ratcheting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/custom/defaults.h"
#include "schema/custom/prune.h"
#include "schema/custom/structural.h"
#include "schema/custom/validate.h"

namespace cardea::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

json::Value parsed(std::string_view text) {
  return json::parse(text).value();
}

class CustomTest : public ::testing::Test {
 protected:
  const Schema& make(std::string_view text) {
    return *build_structural(set_, parsed(text), nullptr);
  }

  static std::vector<std::string> messages(const json::FieldErrors& errors) {
    std::vector<std::string> out;
    for (const auto& e : errors) out.push_back(e.message());
    return out;
  }
  std::vector<std::string> wrong(const Schema& s, std::string_view value) {
    return messages(validate_value(s, parsed(value)).errors);
  }
  std::vector<std::string> wrong(const Schema& s, std::string_view value, std::string_view old) {
    json::Value before = parsed(old);
    return messages(validate_value(s, parsed(value), &before).errors);
  }

  SchemaSet set_;
};

TEST_F(CustomTest, BoundsAreWordedAsKubernetesWordsThem) {
  const Schema& s = make(
      R"({"type":"object","properties":{"n":{"type":"integer","minimum":2,"exclusiveMaximum":true,
    "maximum":5,"multipleOf":2},"f":{"type":"number","minimum":0.5}}})");
  EXPECT_THAT(wrong(s, R"({"n":1})"),
              ElementsAre("n: Invalid value: 1: n in body should be a multiple of 2",
                          "n: Invalid value: 1: n in body should be greater than or equal to 2"));
  EXPECT_THAT(wrong(s, R"({"n":6})"),
              ElementsAre("n: Invalid value: 6: n in body should be less than 5"));
  EXPECT_THAT(
      wrong(s, R"({"f":0.25})"),
      ElementsAre("f: Invalid value: 0.25: f in body should be greater than or equal to 0.5"));
  EXPECT_THAT(wrong(s, R"({"n":4.0})"), IsEmpty());
}

TEST_F(CustomTest, FormatsOfNumbersNameTheFormat) {
  const Schema& s = make(
      R"({"type":"object","properties":{"i":{"type":"integer","format":"int32"}}})");
  EXPECT_THAT(wrong(s, R"({"i":3000000000})"),
              ElementsAre("<nil>: Invalid value: \"\": Checked value must be of type integer with "
                          "format int32 in i"));
  EXPECT_THAT(wrong(s, R"({"i":true})"),
              ElementsAre("i: Invalid value: \"\": i in body must be of type int32: \"\""));
}

TEST_F(CustomTest, ForbiddenPropertiesAndStatusBaseAreNamed) {
  const Schema& s = make(
      R"({"type":"object","properties":{"m":{"type":"object","additionalProperties":false}}})");
  json::Value v = parsed(R"({"m":{"x":1}})");
  EXPECT_THAT(messages(validate_value(s, v, nullptr, "status").errors),
              ElementsAre("status.m: Invalid value: \"x\": m.x in body is a forbidden property"));
}

TEST_F(CustomTest, AnUnchangedValueMayStayWrong) {
  const Schema& s = make(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
    "a":{"type":"string","maxLength":2},"l":{"type":"array",
      "items":{"type":"integer","maximum":1}}}}}})");
  EXPECT_THAT(
      wrong(s, R"({"spec":{"a":"long","l":[5]}})", R"({"spec":{"a":"long","l":[5],"b":1}})"),
      IsEmpty());
  EXPECT_THAT(wrong(s, R"({"spec":{"a":"longer"}})", R"({"spec":{"a":"long"}})"),
              ElementsAre("spec.a: Too long: may not be more than 2 bytes"));
  EXPECT_THAT(wrong(s, R"({"spec":{"l":[5,6]}})", R"({"spec":{"l":[5]}})").size(), 2u);
  json::Value old = parsed(R"({"spec":{"a":"long","b":1}})");
  EXPECT_EQ(validate_value(s, parsed(R"({"spec":{"a":"long"}})"), &old).ratcheted.size(), 1u);
}

TEST_F(CustomTest, ItemsOfMapListsAreComparedByKey) {
  const Schema& s = make(
      R"({"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map",
    "x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],
    "properties":{"k":{"type":"string"},"v":{"type":"integer","maximum":1}}}}}})");
  EXPECT_THAT(wrong(s, R"({"l":[{"k":"b","v":0},{"k":"a","v":9}]})", R"({"l":[{"k":"a","v":9}]})"),
              IsEmpty());
  EXPECT_THAT(wrong(s, R"({"l":[{"k":"b","v":9}]})", R"({"l":[{"k":"a","v":9}]})").size(), 1u);
}

TEST_F(CustomTest, ListsOfTypeSetAndMapHoldNothingTwice) {
  const Schema& s = make(
      R"({"type":"object","properties":{"s":{"type":"array","x-kubernetes-list-type":"set",
    "items":{"type":"string"}},"m":{"type":"object","additionalProperties":{"type":"array",
    "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],
    "items":{"type":"object"}}}}})");
  json::Value v = parsed(
      R"({"s":["x","y","x","x"],"m":{"q":[{"a":1,"b":2},{"a":1,"b":3},{"a":1,"b":2,"c":4}]}})");
  EXPECT_THAT(
      messages(validate_lists(s, v)),
      ElementsAre("m[q][2]: Duplicate value: {\"a\":1,\"b\":2}", "s[2]: Duplicate value: \"x\""));
}

TEST_F(CustomTest, DefaultsReachListsAndMapsAndReplaceForbiddenNulls) {
  const Schema& s = make(R"({"type":"object","properties":{"a":{"type":"string","default":"x"},
    "n":{"type":"integer","nullable":true,"default":3},
    "l":{"type":"array","items":{"type":"object",
      "properties":{"k":{"type":"string","default":"v"}}}},
    "m":{"type":"object","additionalProperties":{"type":"object",
      "properties":{"q":{"type":"integer","default":1}}}}}})");
  EXPECT_TRUE(has_defaults(s));
  auto filled = [&](std::string_view v) { return json::print(apply_defaults(s, parsed(v))); };
  EXPECT_EQ(filled(R"({"a":null,"n":null,"l":[{}],"m":{"o":{}}})"),
            R"({"a":"x","l":[{"k":"v"}],"m":{"o":{"q":1}},"n":null})");
  EXPECT_EQ(filled("{}"), R"({"a":"x","n":3})");
  json::Value complete = parsed(R"({"a":"b","n":1})");
  EXPECT_TRUE(apply_defaults(s, complete).same(complete));
}

TEST_F(CustomTest, PruningNamesWhatItDropsAndSharesTheRest) {
  const Schema& s = make(
      R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},
    "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,
      "properties":{"t":{"type":"object","properties":{"z":{"type":"string"}}}}}}})");
  json::Value v = parsed(R"({"kind":"K","metadata":{"x":1},"a":{"b":"1","c":2},)"
                         R"("free":{"any":[{"q":1}],"t":{"z":"1","y":2}},"d":1})");
  Pruned p = prune(s, v, true);
  EXPECT_THAT(p.unknown, ElementsAre("a.c", "d", "free.t.y"));
  EXPECT_EQ(
      json::print(p.value),
      R"({"a":{"b":"1"},"free":{"any":[{"q":1}],"t":{"z":"1"}},"kind":"K","metadata":{"x":1}})");
  EXPECT_TRUE(p.value["metadata"].same(v["metadata"]));
  EXPECT_TRUE(prune(s, p.value, true).value.same(p.value));
}

TEST_F(CustomTest, NullsGoWhereTheSchemaAllowsNone) {
  const Schema& s = make(
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","nullable":true},
    "c":{"type":"string","default":"x"}}})");
  EXPECT_EQ(json::print(prune_nulls(s, parsed(R"({"a":null,"b":null,"c":null,"d":null})"))),
            R"({"b":null,"c":null,"d":null})");
}

// With a walk over the object for every key this would take minutes.
TEST_F(CustomTest, DropsManyMembersInOneWalk) {
  const Schema& s = make(R"({"type":"object","properties":{
    "map":{"type":"object","additionalProperties":{"type":"string"}},
    "known":{"type":"object","properties":{"x":{"type":"string"}}}}})");
  std::vector<json::Member> nulls, strangers;
  for (int i = 0; i < 200'000; ++i) {
    nulls.push_back({"k" + std::to_string(i), json::Value()});
    strangers.push_back({"k" + std::to_string(i), 1});
  }
  const json::Value value = json::Value::object(
      {{"map", json::Value::object(nulls)}, {"known", json::Value::object(strangers)}});
  Pruned pruned = prune(s, value, true);
  EXPECT_TRUE(pruned.value["known"].empty());
  EXPECT_FALSE(pruned.unknown.empty());
  EXPECT_TRUE(prune_nulls(s, pruned.value)["map"].empty());
}

// A key of a megabyte stands in the path of each error below it.
TEST_F(CustomTest, StopsWhenThereAreMoreErrorsThanCanBeNamed) {
  const Schema& s = make(R"({"type":"object","additionalProperties":{"type":"object",
    "additionalProperties":{"type":"string"}}})");
  std::vector<json::Member> wrong;
  for (int i = 0; i < 100'000; ++i) wrong.push_back({"k" + std::to_string(i), 1});
  const json::Value value = json::Value::object(
      {{std::string(1 << 20, 'k'), json::Value::object(std::move(wrong))}});
  auto errors = validate_value(s, value).errors;
  std::size_t bytes = 0;
  for (const auto& error : errors) bytes += error.field.size();
  EXPECT_FALSE(errors.empty());
  EXPECT_LT(bytes, 16u << 20);
}

}  // namespace
}  // namespace cardea::schema

#include "json/patch.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::json {
namespace {

Value read(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

std::string patched(std::string_view document, std::string_view patch) {
  auto result = apply_json_patch(read(document), read(patch));
  return result ? print(*result)
                : std::to_string(http_status(result.error().reason)) + " " + result.error().message;
}

std::string merged(std::string_view document, std::string_view patch) {
  auto result = apply_merge_patch(read(document), read(patch));
  return result ? print(*result) : result.error().message;
}

const std::string kRefused = "422 the server rejected our request due to an error in our request";

TEST(JsonPatch, AddsToObjectsAndArrays) {
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])"), R"({"a":1,"b":2})");
  EXPECT_EQ(patched(R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])"),
            R"({"a":[1,2,3]})");
  EXPECT_EQ(patched(R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])"), R"({"a":[1,2]})");
  EXPECT_EQ(patched(R"({"a":[1]})", R"([{"op":"add","path":"/a/-1","value":2}])"),
            R"({"a":[1,2]})");
  EXPECT_EQ(patched(R"({"a":[1]})", R"([{"op":"add","path":"/a/3","value":2}])"), kRefused);
  EXPECT_EQ(patched(R"({})", R"([{"op":"add","path":"/a/b","value":2}])"), kRefused);
}

TEST(JsonPatch, ReplaceOfAMissingMemberAddsIt) {
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])"),
            R"({"a":1,"b":2})");
  EXPECT_EQ(patched(R"({"a":[]})", R"([{"op":"replace","path":"/a/0","value":2}])"), kRefused);
}

TEST(JsonPatch, RemoveNeedsSomethingToRemove) {
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"remove","path":"/a"}])"), "{}");
  EXPECT_EQ(patched(R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/-2"}])"), R"({"a":[2]})");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"remove","path":"/b"}])"), kRefused);
}

TEST(JsonPatch, MovesAndCopies) {
  EXPECT_EQ(patched(R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])"),
            R"({"a":{},"c":1})");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/b"}])"),
            R"({"a":1,"b":1})");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"copy","from":"/x","path":"/b"}])"),
            R"({"a":1,"b":null})");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"move","from":"/x","path":"/b"}])"), kRefused);
}

TEST(JsonPatch, TestsValuesAndAbsence) {
  EXPECT_EQ(patched(R"({"a":{"b":[1]}})", R"([{"op":"test","path":"/a","value":{"b":[1]}}])"),
            R"({"a":{"b":[1]}})");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])"), R"({"a":1})");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"test","path":"/a","value":"1"}])"), kRefused);
}

TEST(JsonPatch, UnescapesTokens) {
  EXPECT_EQ(patched(R"({"a~b/c":1})", R"([{"op":"replace","path":"/a~0b~1c","value":2}])"),
            R"({"a~b/c":2})");
}

TEST(JsonPatch, RefusesWhatIsNoPatch) {
  EXPECT_EQ(patched("{}", R"({"op":"remove"})"),
            "400 error decoding patch: json: cannot unmarshal object into Go value of type "
            "[]handlers.jsonPatchOp");
  EXPECT_EQ(patched("{}", R"([{"op":"frob","path":"/a"}])"), kRefused);
  EXPECT_EQ(patched("{}", R"([{"op":"add","path":"","value":1}])"), kRefused);
  EXPECT_EQ(patched("{}", R"([{"path":"/a"}])"), kRefused);
  EXPECT_EQ(patched("{}", R"([{"op":"add","path":5}])"),
            "400 error decoding patch: json: cannot unmarshal number into Go struct field "
            "jsonPatchOp.path of type string");
}

TEST(JsonPatch, TakesAMissingValueForNullAndReplacesTheWholeDocument) {
  EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/a"}])"), R"({"a":null})");
  EXPECT_EQ(
      patched(R"({"a":1})",
              R"([{"op":"replace","path":"","value":{"b":2}},{"op":"add","path":"/c","value":3}])"),
      R"({"b":2,"c":3})");
}

TEST(JsonPatch, RefusesMoreThanTenThousandOperations) {
  Value patch = Value::array();
  for (int i = 0; i < 10001; ++i)
    patch.push_back(read(R"({"op":"test","path":"/a","value":null})"));
  auto result = apply_json_patch(read("{}"), patch);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, Reason::kRequestEntityTooLarge);
}

TEST(JsonPatch, StopsCopiesThatDoubleTheDocumentEachTime) {
  Value patch = Value::array();
  for (int i = 0; i < 64; ++i) patch.push_back(read(R"({"op":"copy","from":"/a","path":"/a/-"})"));
  EXPECT_FALSE(apply_json_patch(read(R"({"a":["some text"]})"), patch));
}

TEST(JsonPatch, NeverNestsDeeperThanTheParserWouldRead) {
  Value patch = Value::array();
  for (int i = 0; i < 2000; ++i) {
    patch.push_back(read(R"({"op":"move","from":"/a","path":"/b"})"));
    patch.push_back(read(R"({"op":"add","path":"/a","value":{}})"));
    patch.push_back(read(R"({"op":"move","from":"/b","path":"/a/a"})"));
  }
  EXPECT_FALSE(apply_json_patch(read(R"({"a":{}})"), patch));
}

TEST(MergePatch, FollowsTheExamplesOfTheRfc) {
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":null})"), "{}");
  EXPECT_EQ(merged(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(merged(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(merged(R"({"e":null})", R"({"a":1})"), R"({"a":1,"e":null})");
  EXPECT_EQ(merged(R"({})", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(MergePatch, RefusesWhatIsNoObject) {
  EXPECT_EQ(merged("{}", "[1]"),
            "error decoding patch: json: cannot unmarshal array into Go value of type "
            "map[string]interface {}");
  EXPECT_EQ(merged("{}", "null"), "Invalid JSON Patch");
}

// With a walk over the object for every key this would take minutes.
TEST(MergePatch, CostsTheSizeOfDocumentAndPatch) {
  constexpr int kMembers = 200'000;
  std::vector<Member> old, wanted;
  for (int i = 0; i < kMembers; ++i) {
    old.push_back({"old" + std::to_string(i), i});
    wanted.push_back({"new" + std::to_string(i), i});
    wanted.push_back({"old" + std::to_string(i), i % 2 ? Value() : Value("changed")});
  }
  auto result = apply_merge_patch(Value::object(std::move(old)), Value::object(std::move(wanted)));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->size(), kMembers * 3u / 2);
  EXPECT_EQ((*result)["old2"], Value("changed"));
  EXPECT_FALSE(result->has("old3"));
}

TEST(JsonPatch, StopsABodyThatMovesTooMuch) {
  std::vector<Value> items(150'000, Value(1)), operations;
  for (int i = 0; i < 10'000; ++i)
    operations.push_back(Value::object({{"op", "add"}, {"path", "/items/0"}, {"value", Value(i)}}));
  const Value document = Value::object({{"items", Value::array(std::move(items))}});
  EXPECT_FALSE(apply_json_patch(document, Value::array(operations)));
  operations.resize(500);
  EXPECT_TRUE(apply_json_patch(document, Value::array(operations)));
}

TEST(JsonPatch, TakesAsManyOperationsAsAreAllowedOnAnOrdinaryObject) {
  std::vector<Member> data;
  std::vector<Value> operations;
  for (int i = 0; i < 10'000; ++i) {
    data.push_back({"key" + std::to_string(i), "x"});
    operations.push_back(
        Value::object({{"op", "add"}, {"path", "/data/new" + std::to_string(i)}, {"value", "y"}}));
  }
  const Value document = Value::object({{"data", Value::object(std::move(data))}});
  auto result = apply_json_patch(document, Value::array(std::move(operations)));
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)["data"].size(), 20'000u);
}

}  // namespace
}  // namespace cardea::json

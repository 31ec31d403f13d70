#include "schema/ownership/strategic_merge.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::schema {
namespace {

json::Value read(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

// spec{containers[name]{env[name], ports[containerPort]}, strategy(retainKeys), names(merge),
// args(replace), selector(replace)}
class StrategicMerge : public ::testing::Test {
 protected:
  StrategicMerge() {
    Schema* text = make(Schema::Type::kString);
    Schema* item = make(Schema::Type::kObject);
    item->properties = {{"name", text}, {"value", text}};
    Schema* env = list(item, "merge", "name");
    Schema* ports = list(item, "merge", "containerPort");
    Schema* container = make(Schema::Type::kObject);
    container->properties = {{"env", env}, {"image", text}, {"name", text}, {"ports", ports}};
    Schema* map = make(Schema::Type::kObject);
    map->additional = text;
    Schema* strategy = make(Schema::Type::kObject);
    strategy->patch_strategy = "retainKeys";
    strategy->properties = {{"rolling", map}, {"type", text}};
    Schema* selector = make(Schema::Type::kObject);
    selector->patch_strategy = "replace";
    selector->additional = text;
    Schema* spec = make(Schema::Type::kObject);
    spec->properties = {{"args", list(text, "", "")},
                        {"containers", list(container, "merge", "name")},
                        {"labels", map},
                        {"names", list(text, "merge", "")},
                        {"selector", selector},
                        {"strategy", strategy}};
    root_ = spec;
  }

  Schema* make(Schema::Type type) {
    Schema* schema = set_.make();
    schema->type = type;
    return schema;
  }
  Schema* list(const Schema* item, std::string strategy, std::string key) {
    Schema* schema = make(Schema::Type::kArray);
    schema->items = item;
    schema->patch_strategy = std::move(strategy);
    schema->patch_merge_key = std::move(key);
    return schema;
  }
  std::string merged(std::string_view document, std::string_view patch) {
    auto result = apply_strategic_merge_patch(read(document), read(patch), *root_);
    return result ? json::print(*result) : result.error().message;
  }

  SchemaSet set_;
  const Schema* root_;
};

TEST_F(StrategicMerge, MergesListsByTheirKeyAndKeepsTheServersOrder) {
  EXPECT_EQ(merged(R"({"containers":[{"name":"a","image":"1"},{"name":"b"}]})",
                   R"({"containers":[{"name":"b","image":"2"},{"name":"c"}]})"),
            R"({"containers":[{"image":"1","name":"a"},{"image":"2","name":"b"},{"name":"c"}]})");
}

TEST_F(StrategicMerge, DeletesByKeyAndPutsNewItemsBeforeOnesTheServerAloneKnows) {
  EXPECT_EQ(
      merged(
          R"({"containers":[{"name":"x","env":[{"name":"A"},{"name":"B"}]}]})",
          R"({"containers":[{"name":"x","env":[{"name":"B","$patch":"delete"},{"name":"C"}]}]})"),
      R"({"containers":[{"env":[{"name":"C"},{"name":"A"}],"name":"x"}]})");
}

TEST_F(StrategicMerge, ReplacesAListThatSaysSo) {
  EXPECT_EQ(merged(R"({"containers":[{"name":"a"}]})",
                   R"({"containers":[{"$patch":"replace"},{"name":"n"}]})"),
            R"({"containers":[{"name":"n"}]})");
  EXPECT_EQ(merged(R"({"args":["a","b"]})", R"({"args":["c"]})"), R"({"args":["c"]})");
}

TEST_F(StrategicMerge, MergesAndDeletesPrimitives) {
  EXPECT_EQ(merged(R"({"names":["a","b"]})", R"({"names":["b","c"]})"),
            R"({"names":["a","b","c"]})");
  EXPECT_EQ(merged(R"({"names":["a","b"]})", R"({"$deleteFromPrimitiveList/names":["a"]})"),
            R"({"names":["b"]})");
  EXPECT_EQ(merged(R"({"names":["a"]})", R"({"$deleteFromPrimitiveList":["a"]})"),
            "invalid patch format of primitive list");
}

TEST_F(StrategicMerge, SetsTheOrderOfElements) {
  EXPECT_EQ(merged(R"({"containers":[{"name":"new"}]})",
                   R"({"$setElementOrder/containers":[{"name":"second"},{"name":"new"}],
                       "containers":[{"name":"second","image":"4"}]})"),
            R"({"containers":[{"image":"4","name":"second"},{"name":"new"}]})");
  EXPECT_EQ(merged(R"({"names":["a","b","c"]})", R"({"$setElementOrder/names":["c","a"]})"),
            R"({"names":["b","c","a"]})");
  EXPECT_NE(
      merged(R"({"names":["a"]})", R"({"$setElementOrder/names":["x","y"],"names":["y","x"]})")
          .find("doesn't match $setElementOrder list"),
      std::string::npos);
}

TEST_F(StrategicMerge, AnItemThatReplacesAnotherStandsWhereTheServersListEnds) {
  EXPECT_EQ(merged(R"({"containers":[{"name":"C"},{"name":"D"},{"name":"B"}]})",
                   R"({"$setElementOrder/containers":[{"name":"D"},{"name":"A"}],
                       "containers":[{"name":"C","$patch":"delete"},{"name":"A"}]})"),
            R"({"containers":[{"name":"D"},{"name":"B"},{"name":"A"}]})");
}

TEST_F(StrategicMerge, RetainsOnlyTheKeysThatAreListed) {
  EXPECT_EQ(merged(R"({"strategy":{"type":"Rolling","rolling":{"a":"1"}}})",
                   R"({"strategy":{"$retainKeys":["type"],"type":"Recreate"}})"),
            R"({"strategy":{"type":"Recreate"}})");
  EXPECT_EQ(merged(R"({"strategy":{"type":"x"}})",
                   R"({"strategy":{"$retainKeys":["type"],"type":"y","rolling":{"a":"1"}}})"),
            "invalid patch format of retainKeys");
}

TEST_F(StrategicMerge, HandlesDirectivesInObjects) {
  EXPECT_EQ(merged(R"({"labels":{"a":"1"}})", R"({"labels":{"$patch":"replace","b":"2"}})"),
            R"({"labels":{"b":"2"}})");
  EXPECT_EQ(merged(R"({"labels":{"a":"1"}})", R"({"labels":{"$patch":"delete"}})"),
            R"({"labels":{}})");
  EXPECT_EQ(merged(R"({})", R"({"labels":{"$patch":"replace","b":"2"}})"), R"({})");
  EXPECT_EQ(merged(R"({"selector":{"a":"1"}})", R"({"selector":{"b":"2"}})"),
            R"({"selector":{"b":"2"}})");
}

TEST_F(StrategicMerge, NullsRemoveAndAreNeverWritten) {
  EXPECT_EQ(merged(R"({"labels":{"a":"1","b":"2"}})", R"({"labels":{"a":null,"z":null}})"),
            R"({"labels":{"b":"2"}})");
  EXPECT_EQ(merged(R"({})", R"({"labels":{"a":null,"b":"1"}})"), R"({"labels":{"b":"1"}})");
}

TEST_F(StrategicMerge, SpeaksAsKubernetesDoesOfPatchesThatMakeNoSense) {
  EXPECT_EQ(merged(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"image":"i:5"}]})"),
            "map: map[image:i:5] does not contain declared merge key: name");
  EXPECT_EQ(merged(R"({"containers":[{"name":"new"}]})",
                   R"({"containers":[{"name":"new","$patch":"frobnicate"}]})"),
            "unknown patch type: frobnicate in map: map[$patch:frobnicate name:new]");
}

// With a walk over the object for every key this would take minutes.
TEST_F(StrategicMerge, CostsTheSizeOfDocumentAndPatch) {
  constexpr int kMembers = 100'000;
  std::vector<json::Member> old, wanted;
  for (int i = 0; i < kMembers; ++i) {
    old.push_back({"old" + std::to_string(i), "x"});
    wanted.push_back({"new" + std::to_string(i), "x"});
    wanted.push_back({"old" + std::to_string(i), i % 2 ? json::Value() : json::Value("y")});
  }
  auto result = apply_strategic_merge_patch(
      json::Value::object({{"labels", json::Value::object(std::move(old))}}),
      json::Value::object({{"labels", json::Value::object(std::move(wanted))}}), *root_);
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)["labels"].size(), kMembers * 3u / 2);
}

}  // namespace
}  // namespace cardea::schema

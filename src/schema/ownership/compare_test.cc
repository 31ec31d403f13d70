#include "schema/ownership/compare.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::schema {
namespace {

json::Value read(std::string_view text) {
  return *json::parse(text);
}

std::string changed(std::string_view before, std::string_view after, const Schema& schema) {
  auto found = compare(read(before), read(after), schema);
  return "+" + json::print(found.added.fields_v1()) + " ~" +
         json::print(found.modified.fields_v1()) + " -" + json::print(found.removed.fields_v1());
}

TEST(Compare, DeducesShapesWhereThereIsNoSchema) {
  Schema any;
  EXPECT_EQ(changed(R"({"a":{"b":1},"l":[1]})", R"({"a":{"b":2,"c":3},"l":[1,2]})", any),
            R"(+{"f:a":{"f:c":{}}} ~{"f:a":{"f:b":{}},"f:l":{}} -{})");
}

TEST(Compare, TakesWholeNumbersForWhatTheyAre) {
  Schema any;
  EXPECT_EQ(changed(R"({"a":1})", R"({"a":1.0})", any), "+{} ~{} -{}");
}

TEST(Compare, FindsItemsByKeyWhereverTheyStandInLongLists) {
  SchemaSet set;
  Schema* item = set.make();
  item->type = Schema::Type::kObject;
  item->additional = set.make();
  Schema* list = set.make();
  list->type = Schema::Type::kArray;
  list->items = item;
  list->list_type = Schema::ListType::kMap;
  list->map_keys = {"name"};
  Schema* root = set.make();
  root->type = Schema::Type::kObject;
  root->properties = {{"list", list}};
  json::Value before = json::Value::array(), after = json::Value::array();
  for (int i = 0; i < 100; ++i) {
    before.push_back(json::Value::object({{"name", "n" + std::to_string(i)}, {"v", i}}));
    after.push_back(json::Value::object(
        {{"name", "n" + std::to_string(99 - i)}, {"v", i == 50 ? -1 : 99 - i}}));
  }
  auto found = compare(json::Value::object({{"list", before}}),
                       json::Value::object({{"list", after}}), *root);
  EXPECT_TRUE(found.added.empty());
  EXPECT_TRUE(found.removed.empty());
  EXPECT_EQ(json::print(found.modified.fields_v1()),
            R"({"f:list":{"k:{\"name\":\"n49\"}":{"f:v":{}}}})");
}

TEST(Compare, SurvivesItemsWithoutIdentity) {
  SchemaSet set;
  Schema* list = set.make();
  list->type = Schema::Type::kArray;
  list->list_type = Schema::ListType::kMap;
  list->map_keys = {"name"};
  Schema* root = set.make();
  root->type = Schema::Type::kObject;
  root->properties = {{"list", list}};
  EXPECT_EQ(changed(R"({"list":[null]})", R"({"list":[null,1]})", *root),
            R"(+{} ~{"f:list":{}} -{})");
}

}  // namespace
}  // namespace cardea::schema

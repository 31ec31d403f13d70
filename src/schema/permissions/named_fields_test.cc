#include "schema/permissions/named_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"
#include "schema/ownership/list_order.h"
#include "schema/permissions/changed_fields.h"

namespace cardea::schema {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value parsed(std::string_view text) {
  return *json::parse(text);
}

// An object in Kubernetes' form: metadata, and a spec with a list of each type.
class Fields : public ::testing::Test {
 protected:
  Fields() {
    Schema& text = *set_.make();
    text.type = Schema::Type::kString;
    Schema& labels = *set_.make();
    labels.type = Schema::Type::kObject;
    labels.additional = &text;
    Schema& finalizers = *set_.make();
    finalizers.type = Schema::Type::kArray;
    finalizers.list_type = Schema::ListType::kSet;
    finalizers.items = &text;
    finalizers.patch_strategy = "merge";
    Schema& meta = *set_.make();
    meta.type = Schema::Type::kObject;
    meta.properties = {{"annotations", &labels},
                       {"finalizers", &finalizers},
                       {"labels", &labels},
                       {"name", &text}};
    Schema& item = *set_.make();
    item.type = Schema::Type::kObject;
    item.properties = {{"image", &text}, {"name", &text}};
    Schema& items = *set_.make();
    items.type = Schema::Type::kArray;
    items.list_type = Schema::ListType::kMap;
    items.map_keys = {"name"};
    items.items = &item;
    items.patch_strategy = "merge";
    items.patch_merge_key = "name";
    Schema& args = *set_.make();
    args.type = Schema::Type::kArray;
    args.items = &text;
    Schema& conditions = *set_.make();
    conditions = items;
    conditions.map_keys = {"type"};
    Schema& spec = *set_.make();
    spec.type = Schema::Type::kObject;
    spec.properties = {
        {"args", &args}, {"conditions", &conditions}, {"items", &items}, {"size", &text}};
    root_->type = Schema::Type::kObject;
    root_->properties = {{"metadata", &meta}, {"spec", &spec}, {"status", &spec}};
  }

  static std::vector<std::string> texts(const FieldSet& fields) {
    std::vector<std::string> out;
    fields.for_each([&](const FieldPath& path) { out.push_back(field_text(path)); });
    std::ranges::sort(out);
    return out;
  }
  std::vector<std::string> merge(std::string_view patch) const {
    return texts(named_by_merge_patch(parsed(patch), *root_).fields);
  }
  std::vector<std::string> strategic(std::string_view patch) const {
    return texts(named_by_strategic_merge_patch(parsed(patch), *root_).fields);
  }
  std::vector<std::string> operations(std::string_view patch) const {
    return texts(named_by_json_patch(parsed(patch), *root_).fields);
  }
  std::vector<std::string> reordered(std::string_view before, std::string_view after) const {
    return texts(reordered_lists(compare(parsed(before), parsed(after), *root_), *root_));
  }

  SchemaSet set_;
  Schema* root_ = set_.make();
};

TEST_F(Fields, OfAMergePatchAreItsLeavesAndWholeLists) {
  EXPECT_THAT(merge(R"({"metadata":{"labels":{"a":"1","b":null}},"spec":{"size":"2"}})"),
              ElementsAre("metadata.labels.a", "metadata.labels.b", "spec.size"));
  EXPECT_THAT(merge(R"({"spec":{"items":[{"name":"a"}],"args":["x"]}})"),
              ElementsAre("spec.args", "spec.items"));
  EXPECT_THAT(merge(R"({"metadata":{"labels":{}}})"), ElementsAre("metadata.labels"));
  EXPECT_THAT(merge(R"({"metadata":null})"),
              ElementsAre("metadata.annotations", "metadata.finalizers", "metadata.labels",
                          "metadata.ownerReferences"));
  EXPECT_THAT(merge(R"({"unknown":{"a":1}})"), ElementsAre("unknown.a"));
  EXPECT_THAT(merge("{}"), IsEmpty());
}

TEST_F(Fields, OfAStrategicMergePatchAreItemsByTheirKeys) {
  EXPECT_THAT(strategic(R"({"spec":{"items":[{"name":"a","image":"i"}]}})"),
              ElementsAre("spec.items[name=\"a\"].image", "spec.items[name=\"a\"].name"));
  EXPECT_THAT(strategic(R"({"spec":{"items":[{"name":"a","$patch":"delete"}]}})"),
              ElementsAre("spec.items[name=\"a\"]"));
  EXPECT_THAT(strategic(R"({"spec":{"items":[{"$patch":"replace"},{"name":"a"}]}})"),
              ElementsAre("spec.items"));
  EXPECT_THAT(strategic(R"({"spec":{"items":[{"image":"i"}]}})"), ElementsAre("spec.items"))
      << "which item is not said";
  EXPECT_THAT(strategic(R"({"spec":{"$setElementOrder/items":[{"name":"a"}]}})"),
              ElementsAre("spec.items"));
  EXPECT_THAT(strategic(R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"]}})"),
              ElementsAre("metadata.finalizers[\"a/b\"]"));
  EXPECT_THAT(strategic(R"({"metadata":{"finalizers":["a/b"]}})"),
              ElementsAre("metadata.finalizers[\"a/b\"]"));
  EXPECT_THAT(strategic(R"({"metadata":{"labels":{"$patch":"replace","a":"1"}}})"),
              ElementsAre("metadata.labels"));
  EXPECT_THAT(strategic(R"({"spec":{"$retainKeys":["size"],"size":"1"}})"), ElementsAre("spec"));
  EXPECT_THAT(strategic(R"({"spec":{"args":["x"]}})"), ElementsAre("spec.args"));
  EXPECT_THAT(strategic(R"({"$retainKeys":["spec"],"spec":{"size":"1"}})"),
              ElementsAre("metadata.annotations", "metadata.finalizers", "metadata.labels",
                          "metadata.ownerReferences", "spec", "status"));
  EXPECT_THAT(strategic(R"({"spec":{"items":[{"name":"a","$patch":"replace"}]}})"),
              ElementsAre("spec.items"));
}

TEST_F(Fields, OfAJsonPatchEndWhereAPlaceInAListBegins) {
  EXPECT_THAT(operations(R"([{"op":"add","path":"/metadata/labels/a~1b","value":"1"},)"
                         R"({"op":"remove","path":"/spec/size"}])"),
              ElementsAre("metadata.labels.a/b", "spec.size"));
  EXPECT_THAT(operations(R"([{"op":"replace","path":"/spec/items/0/image","value":"1"}])"),
              ElementsAre("spec.items"));
  EXPECT_THAT(operations(R"([{"op":"add","path":"/spec/items/-","value":{"name":"a"}}])"),
              ElementsAre("spec.items[name=\"a\"]"));
  EXPECT_THAT(operations(R"([{"op":"add","path":"/metadata/finalizers/-","value":"a/b"}])"),
              ElementsAre("metadata.finalizers[\"a/b\"]"));
  EXPECT_THAT(operations(R"([{"op":"remove","path":"/metadata/finalizers/0"}])"),
              ElementsAre("metadata.finalizers"));
  EXPECT_THAT(operations(R"([{"op":"add","path":"/spec/args/0","value":"x"}])"),
              ElementsAre("spec.args"));
  EXPECT_THAT(operations(R"([{"op":"replace","path":"","value":{}}])"),
              ElementsAre("metadata.annotations", "metadata.finalizers", "metadata.labels",
                          "metadata.ownerReferences", "spec", "status"));
  EXPECT_THAT(operations(R"([{"op":"add","path":"/metadata/labels","value":{"a":"1"}}])"),
              ElementsAre("metadata.labels"));
  EXPECT_FALSE(
      named_by_json_patch(parsed(R"([{"op":"add","path":"/spec/size","value":"1"}])"), *root_)
          .reads_object);
  for (auto op : {"test", "copy", "move", "unheard-of"})
    EXPECT_TRUE(
        named_by_json_patch(Value::array({Value::object(
                                {{"op", op}, {"path", "/spec/size"}, {"from", "/spec/args"}})}),
                            *root_)
            .reads_object)
        << op;
}

TEST_F(Fields, ThatWereSentStandInTheirPlaces) {
  auto sent = [&](std::string_view patch) {
    return json::print(named_by_json_patch(parsed(patch), *root_).sent);
  };
  EXPECT_EQ(sent(R"([{"op":"add","path":"/metadata/labels/a","value":"1"},)"
                 R"({"op":"add","path":"/spec/items/-","value":{"name":"a"}},)"
                 R"({"op":"remove","path":"/spec/size"}])"),
            R"({"metadata":{"labels":{"a":"1"}}})");
  EXPECT_EQ(
      json::print(
          named_by_strategic_merge_patch(
              parsed(R"({"spec":{"size":null,"args":["x"],"$setElementOrder/items":[]}})"), *root_)
              .sent),
      R"({"spec":{"args":["x"]}})");
}

TEST_F(Fields, OfAnUpdateAreAll) {
  EXPECT_THAT(texts(named_by_update(parsed(R"({"spec":{"size":"1"},"more":1})"), *root_).fields),
              ElementsAre("metadata.annotations", "metadata.finalizers", "metadata.labels",
                          "metadata.ownerReferences", "more", "spec", "status"));
}

TEST_F(Fields, AreReorderedWhereItemsThatStayChangePlaces) {
  constexpr std::string_view
      kBefore = R"({"spec":{"items":[{"name":"a"},{"name":"b"},{"name":"c"}]}})";
  EXPECT_THAT(reordered(kBefore, R"({"spec":{"items":[{"name":"b"},{"name":"a"},{"name":"c"}]}})"),
              ElementsAre("spec.items"));
  EXPECT_THAT(
      reordered(kBefore, R"({"spec":{"items":[{"name":"c"},{"name":"new"},{"name":"a"}]}})"),
      ElementsAre("spec.items"));
  EXPECT_THAT(
      reordered(kBefore,
                R"({"spec":{"items":[{"name":"new"},{"name":"a"},{"name":"c","image":"i"}]}})"),
      IsEmpty())
      << "items that come and go";
  EXPECT_THAT(reordered(R"({"status":{"conditions":[{"type":"a"},{"type":"b"}]}})",
                        R"({"status":{"conditions":[{"type":"b"},{"type":"a"}]}})"),
              IsEmpty());
  EXPECT_THAT(reordered(R"({"spec":{"conditions":[{"type":"a"},{"type":"b"}]}})",
                        R"({"spec":{"conditions":[{"type":"b"},{"type":"a"}]}})"),
              ElementsAre("spec.conditions"));
  EXPECT_THAT(reordered(R"({"spec":{"items":[{"name":"p"},{"name":"p"},{"name":"b"}]}})",
                        R"({"spec":{"items":[{"name":"p"},{"name":"b"},{"name":"p"}]}})"),
              ElementsAre("spec.items"))
      << "several of one name";
  EXPECT_THAT(reordered(R"({"metadata":{"finalizers":["a","b"]}})",
                        R"({"metadata":{"finalizers":["b","a"]}})"),
              IsEmpty());
  EXPECT_THAT(reordered(R"({"spec":{"args":["a","b"]}})", R"({"spec":{"args":["b","a"]}})"),
              IsEmpty())
      << "compared as one value";
  EXPECT_THAT(reordered("null", kBefore), IsEmpty());
}

TEST_F(Fields, OfAChangeHoldReorderedListsBesideTheirItems) {
  ChangedFields changes(parsed(R"({"spec":{"items":[{"name":"a","image":"1"},{"name":"b"}]}})"),
                        parsed(R"({"spec":{"items":[{"name":"b"},{"name":"a","image":"2"}]}})"),
                        *root_, {});
  EXPECT_THAT(texts(changes.leaves()), ElementsAre("spec.items", "spec.items[name=\"a\"].image"));
  EXPECT_THAT(texts(changes.compared()), ElementsAre("spec.items[name=\"a\"].image"));
}

}  // namespace
}  // namespace cardea::schema

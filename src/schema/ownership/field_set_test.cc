#include "schema/ownership/field_set.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::schema {
namespace {

FieldSet set_of(std::string_view text) {
  auto value = json::parse(text);
  auto set = FieldSet::parse(value ? *value : json::Value());
  EXPECT_TRUE(set) << text;
  return set ? *set : FieldSet();
}

std::string text(const FieldSet& set) {
  return json::print(set.fields_v1());
}

const char* const kPods =
    R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}},"f:nodeName":{}}})";

TEST(FieldSet, ReadsAndWritesFieldsV1) {
  EXPECT_EQ(text(set_of(kPods)), kPods);
  EXPECT_EQ(text(set_of("{}")), "{}");
  EXPECT_TRUE(set_of("{}").empty());
  EXPECT_EQ(set_of(kPods).size(), 3u);
}

TEST(FieldSet, BringsKeysIntoCanonicalForm) {
  EXPECT_EQ(text(set_of(R"({"f:l":{"k:{\"b\":1, \"a\":\"x\"}":{".":{}}}})")),
            R"({"f:l":{"k:{\"a\":\"x\",\"b\":1}":{}}})");
}

TEST(FieldSet, RefusesWhatIsNoPathElement) {
  for (const char* bad :
       {R"({"x:bad":{}})", R"({"spec":{}})", R"({"f:a":1})", R"({"k:1":{}})", R"({"i:x":{}})"})
    EXPECT_FALSE(FieldSet::parse(*json::parse(bad))) << bad;
}

TEST(FieldSet, KnowsWhichPathsItHas) {
  FieldSet set = set_of(kPods);
  EXPECT_TRUE(set.has({"f:spec", "f:nodeName"}));
  EXPECT_TRUE(set.has({"f:spec", "f:containers", R"(k:{"name":"c"})"}));
  EXPECT_FALSE(set.has({"f:spec", "f:containers"}));
  EXPECT_FALSE(set.has({"f:spec"}));
  EXPECT_FALSE(set.has({}));
}

TEST(FieldSet, UnitesAndIntersects) {
  FieldSet a = set_of(R"({"f:a":{"f:b":{}},"f:c":{}})"),
           b = set_of(R"({"f:a":{},"f:c":{"f:d":{}}})");
  EXPECT_EQ(text(a.union_with(b)), R"({"f:a":{".":{},"f:b":{}},"f:c":{".":{},"f:d":{}}})");
  EXPECT_EQ(text(a.intersection(b)), "{}");
  EXPECT_EQ(text(a.union_with(b).intersection(a)), text(a));
}

TEST(FieldSet, DifferenceLeavesLongerPathsAndTheRecursiveOneTakesThem) {
  FieldSet a = set_of(R"({"f:a":{".":{},"f:b":{}},"f:c":{}})"), b = set_of(R"({"f:a":{}})");
  EXPECT_EQ(text(a.difference(b)), R"({"f:a":{"f:b":{}},"f:c":{}})");
  EXPECT_EQ(text(a.recursive_difference(b)), R"({"f:c":{}})");
  EXPECT_EQ(text(a.difference(a)), "{}");
}

TEST(FieldSet, PrintsPathsAsMessagesShowThem) {
  EXPECT_EQ(path_text({"f:spec", "f:ports", R"(k:{"port":80,"protocol":"TCP"})", "f:name"}),
            R"(.spec.ports[port=80,protocol="TCP"].name)");
  EXPECT_EQ(path_text({"f:set", R"(v:"d")"}), R"(.set[="d"])");
  EXPECT_EQ(path_text({"f:list", "i:3"}), ".list[3]");
}

TEST(FieldSet, BecomesCoarserWhenTheSchemaTurnsAtomic) {
  SchemaSet schemas;
  Schema* text_schema = schemas.make();
  text_schema->type = Schema::Type::kString;
  Schema* map = schemas.make();
  map->type = Schema::Type::kObject;
  map->additional = text_schema;
  map->map_type = Schema::MapType::kAtomic;
  Schema* root = schemas.make();
  root->type = Schema::Type::kObject;
  root->properties = {{"m", map}, {"n", text_schema}};
  EXPECT_EQ(text(set_of(R"({"f:m":{"f:a":{}},"f:n":{}})").fitted_to(*root)),
            R"({"f:m":{},"f:n":{}})");
}

TEST(FieldSet, VisitsWhatEndsBeforeWhatGoesDeeperAndNumbersAsNumbers) {
  std::vector<std::string> seen;
  auto note = [&](const FieldPath& path) { seen.push_back(path_text(path)); };
  set_of(kPods).for_each(note);
  EXPECT_EQ(seen, (std::vector<std::string>{".spec.nodeName", R"(.spec.containers[name="c"])",
                                            R"(.spec.containers[name="c"].image)"}));
  seen.clear();
  set_of(R"({"f:p":{"k:{\"port\":443}":{},"k:{\"port\":53}":{},"v:7":{}}})").for_each(note);
  EXPECT_EQ(seen, (std::vector<std::string>{".p[port=53]", ".p[port=443]", ".p[=7]"}));
}

}  // namespace
}  // namespace cardea::schema

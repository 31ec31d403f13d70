#include "schema/permissions/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"
#include "schema/custom/structural.h"
#include "schema/permissions/check_permissions.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::schema {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Value parse(std::string_view text) {
  return *json::parse(text);
}

constexpr std::string_view kWidget = R"({"type":"object","properties":{
  "spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{
    "size":{"type":"integer"},
    "selfDestruct":{"type":"boolean","x-kubernetes-permission-verb":"example.com/selfDestruct",
      "x-kubernetes-permission-excluded":true},
    "rules":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
      "items":{"type":"object","required":["name"],
      "x-kubernetes-permission-verb":"example.com/rule",
      "x-kubernetes-permission-parameter":"value:kind",
      "properties":{"name":{"type":"string"},"kind":{"type":"string"},"port":{"type":"integer"}}}},
    "tags":{"type":"object","additionalProperties":{"type":"string",
      "x-kubernetes-permission-verb":"example.com/tag",
      "x-kubernetes-permission-parameter":"mapKey",
      "x-kubernetes-permission-parameter-cel":"self.split('-')[1]"}}}},
  "data":{"type":"object","additionalProperties":{"type":"string"}}}})";

class Widgets : public ::testing::Test {
 protected:
  const Schema& schema() { return *schema_; }
  std::vector<std::string> asked(std::string_view before, std::string_view after,
                                 const ExcludedVerbs& excluded = {}) {
    ChangedFields changes(parse(before), parse(after), *schema_,
                          {IgnoredFields::of_server(false), {}});
    Demands demands = demands_of(changes, *tree_, excluded);
    std::vector<std::string> out;
    for (const Demand& d : demands.fields) {
      std::string line = cat(field_text(d.field), ":");
      for (const std::string& v : demands.chain_of(d)) line += " " + v;
      for (auto e : d.excluded) line += cat(" !", demands.verbs[e]);
      for (auto e : d.inside) line += cat(" !!", demands.verbs[e]);
      if (!d.unnamed.empty()) line += cat(" ?", d.unnamed);
      out.push_back(line);
    }
    return out;
  }

  SchemaSet set_;
  const Schema* schema_ = build_structural(set_, parse(kWidget), nullptr);
  std::shared_ptr<const PermissionTree> tree_ = PermissionTree::of_custom(*schema_);
};

TEST(PermissionVerb, NoTextMakesTheVerbOfAnotherPermission) {
  Permission label{.name = "label",
                   .source = Permission::Source::kMapKey,
                   .treatment = Permission::Treatment::kSlashPrefix};
  EXPECT_EQ(permission_verb(label, "super.safe.com/a"), "granular:label(super.safe.com)");
  EXPECT_EQ(permission_verb(label, "app"), "granular:label(app)");
  EXPECT_EQ(permission_verb(label, "a)b"), "granular:label(a%29b)");
  EXPECT_EQ(permission_verb(label, "x),granular:labels"),
            "granular:label(x%29%2Cgranular%3Alabels)");
  EXPECT_EQ(permission_verb(label, "\"\\%\n\x7f\xc3\xa9"), "granular:label(%22%5C%25%0A%7F%C3%A9)");
  EXPECT_EQ(permission_verb(label, "/a"), "granular:label()");
  EXPECT_EQ(permission_verb(label, std::string(253, 'a')),
            cat("granular:label(", std::string(253, 'a'), ")"));
  EXPECT_EQ(permission_verb(label, std::string(254, 'a')), std::nullopt);
  EXPECT_EQ(permission_verb(label, std::string(100, '(')), std::nullopt);  // 300 bytes once it is
                                                                           // spelled
}

TEST_F(Widgets, FieldsAreGuardedByEverythingAboveThem) {
  EXPECT_THAT(asked("{}", R"({"spec":{"size":1}})"),
              ElementsAre("spec.size: granular:specification"));
  EXPECT_THAT(asked("{}", R"({"data":{"k":"v"}})"), ElementsAre("data.k:"));
  EXPECT_THAT(asked("{}", "{}"), IsEmpty());
}

TEST_F(Widgets, FieldsThatAreGuardedAlikeAreOneDemand) {
  EXPECT_THAT(asked("{}", R"({"data":{"a":"1","b":"2"}})"), ElementsAre("data.a:"));
}

TEST_F(Widgets, AnExcludedPermissionIsDemandedItself) {
  EXPECT_THAT(asked("{}", R"({"spec":{"selfDestruct":true}})"),
              ElementsAre("spec.selfDestruct: granular:specification "
                          "granular:example.com/selfDestruct !granular:example.com/selfDestruct"));
  EXPECT_THAT(asked(R"({"spec":{"selfDestruct":true}})", R"({})"),
              ElementsAre("spec.selfDestruct: granular:specification "
                          "granular:example.com/selfDestruct !granular:example.com/selfDestruct"));
}

TEST_F(Widgets, ConfigurationExcludesByTheExactVerb) {
  ExcludedVerbs excluded;
  excluded.add("granular:specification");
  EXPECT_TRUE(excluded.concern(*tree_));
  EXPECT_THAT(asked("{}", R"({"spec":{"size":1}})", excluded),
              ElementsAre("spec.size: granular:specification !granular:specification"));
  ExcludedVerbs other;
  other.add("granular:nodeAssignment");
  EXPECT_FALSE(other.concern(*tree_));
}

TEST(PermissionTree, ConfigurationExcludesOneKeyOfAPrefix) {
  constexpr std::string_view kText =
      R"({"type":"object","properties":{"marks":{"type":"object",
    "additionalProperties":{"type":"string",
    "x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameter":"mapKey",
    "x-kubernetes-permission-parameter-treatment":"slash-delimited-prefix"}}}})";
  SchemaSet set;
  const Schema* schema = build_structural(set, parse(kText), nullptr);
  auto tree = PermissionTree::of_custom(*schema);
  ExcludedVerbs excluded;
  excluded.add("granular:label(a.com/x)");
  excluded.add("granular:label(bare)");
  auto excluded_for = [&](std::string_view before, std::string_view after) {
    ChangedFields changes(parse(before), parse(after), *schema, {});
    Demands demands = demands_of(changes, *tree, excluded);
    std::vector<std::string> out;
    for (const Demand& d : demands.fields)
      for (auto e : d.excluded) out.push_back(demands.verbs[e]);
    return out;
  };
  EXPECT_THAT(excluded_for("{}", R"({"marks":{"a.com/x":"1","a.com/y":"1"}})"),
              ElementsAre("granular:label(a.com/x)"));
  EXPECT_THAT(excluded_for(R"({"marks":{"a.com/x":"1"}})", "{}"),
              ElementsAre("granular:label(a.com/x)"));
  EXPECT_THAT(excluded_for("{}", R"({"marks":{"a.com/y":"1","a.com":"1"}})"), IsEmpty());
  EXPECT_THAT(excluded_for("{}", R"({"marks":{"bare":"1"}})"), ElementsAre("granular:label(bare)"));
}

TEST_F(Widgets, AParameterFromAValueIsDemandedAsItWasAndAsItBecomes) {
  EXPECT_THAT(
      asked(R"({"spec":{"rules":[{"name":"a","kind":"X"}]}})",
            R"({"spec":{"rules":[{"name":"a","kind":"Y"}]}})"),
      ElementsAre(
          "spec.rules[name=\"a\"].kind: granular:specification granular:example.com/rule(X)",
          "spec.rules[name=\"a\"].kind: granular:specification granular:example.com/rule(Y)"));
  EXPECT_THAT(
      asked("{}", R"({"spec":{"rules":[{"name":"a","kind":"Y"}]}})"),
      ElementsAre(
          "spec.rules[name=\"a\"].kind: granular:specification granular:example.com/rule(Y)"));
  EXPECT_THAT(asked("{}", R"({"spec":{"rules":[{"name":"a"}]}})"),
              ElementsAre("spec.rules[name=\"a\"].name: granular:specification"));
}

// A search through the lists for each changed item would exceed the time limit of the test.
TEST_F(Widgets, ManyChangedItemsAreFoundInOneGoThroughTheirLists) {
  std::string before = R"({"spec":{"rules":[)", after = before;
  for (int i = 0; i < 100'000; ++i) {
    before += cat(i ? "," : "", R"({"name":")", i / 2, R"(","kind":"a","port":1})");  // each name
                                                                                      // twice
    after += cat(i ? "," : "", R"({"name":")", i / 2, R"(","kind":"b","port":)", i % 2, "}");
  }
  EXPECT_THAT(
      asked(before + "]}}", after + "]}}"),
      ElementsAre("spec.rules[name=\"0\"]: granular:specification granular:example.com/rule(a)",
                  "spec.rules[name=\"0\"]: granular:specification granular:example.com/rule(b)"));
}

TEST_F(Widgets, AnExpressionThatErrsCoversNothing) {
  EXPECT_THAT(asked("{}", R"({"spec":{"tags":{"a-b":"1"}}})"),
              ElementsAre("spec.tags.a-b: granular:specification granular:example.com/tag(b)"));
  EXPECT_THAT(asked("{}", R"({"spec":{"tags":{"a":"1"}}})"),
              ElementsAre("spec.tags.a: granular:specification"));
}

TEST(PermissionTree, AnAtomicListMayHaveAKeyForPermissionsAlone) {
  constexpr std::string_view kText =
      R"({"type":"object","properties":{"status":{"type":"object",
    "properties":{"conditions":{"type":"array","items":{"type":"object",
    "x-kubernetes-permission-verb":"condition","x-kubernetes-permission-parameter":"listKey:type",
    "properties":{"type":{"type":"string"},"status":{"type":"string"}}}}}}}})";
  EXPECT_THAT(check_permissions(parse(kText), "schema"), IsEmpty());
  SchemaSet set;
  const Schema* schema = build_structural(set, parse(kText), nullptr);
  auto tree = PermissionTree::of_custom(*schema);
  ASSERT_NE(tree->compared(), nullptr);
  ChangedFields changes(
      parse(R"({"status":{"conditions":[{"type":"A","status":"x"},{"type":"B","status":"x"}]}})"),
      parse(R"({"status":{"conditions":[{"type":"B","status":"y"},{"type":"A","status":"x"}]}})"),
      *tree->compared(), {});
  Demands demands = demands_of(changes, *tree, {});
  ASSERT_EQ(demands.fields.size(), 1u);
  EXPECT_EQ(field_text(demands.fields[0].field), "status.conditions[type=\"B\"].status");
  EXPECT_THAT(demands.chain_of(demands.fields[0]), ElementsAre("granular:condition(B)"));
}

TEST_F(Widgets, ListsEveryPermissionWithItsFields) {
  std::vector<std::string> lines;
  for (const auto& listed : tree_->list())
    lines.push_back(cat(verb_pattern(*listed.permission), " ", listed.fields[0].field, " ",
                        listed.fields[0].enclosing.size()));
  EXPECT_THAT(lines,
              ::testing::IsSupersetOf({"granular:example.com/selfDestruct spec.selfDestruct 1",
                                       "granular:specification spec 0",
                                       "granular:example.com/rule(<kind>) spec.rules[*] 1"}));
}

std::string problem(std::string_view spec_properties) {
  Value schema = parse(
      cat(R"({"type":"object","properties":{"spec":{"type":"object","properties":)",
          spec_properties, "}}}"));
  auto errors = check_permissions(schema, "schema");
  std::string out;
  for (const auto& e : errors) out += cat(out.empty() ? "" : "; ", e.message());
  return out;
}

TEST(PermissionTags, AreCheckedWithClearPaths) {
  EXPECT_EQ(
      problem(R"({"a":{"type":"string","x-kubernetes-permission-verb":"example.com/thing"}})"), "");
  EXPECT_EQ(problem(R"({"a":{"type":"string","x-kubernetes-permission-verb":"replicaCount"}})"),
            "");
  EXPECT_THAT(problem(R"({"a":{"type":"string","x-kubernetes-permission-verb":"thing"}})"),
              HasSubstr("schema.properties[spec].properties[a].x-kubernetes-permission-verb: "
                        "Invalid value: \"thing\": must have a prefix (example.com"));
  EXPECT_THAT(
      problem(R"({"a":{"type":"string","x-kubernetes-permission-verb":"example.com/Thing"}})"),
      HasSubstr("lowerCamelCase"));
  EXPECT_THAT(problem(R"({"a":{"type":"string","x-kubernetes-permission-verb":"a)b/x(y"}})"),
              HasSubstr("lowerCamelCase"));
  EXPECT_THAT(
      problem(R"({"a":{"type":"string","x-kubernetes-permission-verb":"apps.k8s.io/thing"}})"),
      HasSubstr("reserved"));
  EXPECT_THAT(problem(R"({"a":{"type":"string","x-kubernetes-permission-excluded":true}})"),
              HasSubstr("x-kubernetes-permission-verb: Required value"));
  EXPECT_THAT(problem(R"({"a":{"type":"string","x-kubernetes-permission-verb":"label",)"
                      R"("x-kubernetes-permission-parameter":"mapKey"}})"),
              HasSubstr("additionalProperties of a map"));
  EXPECT_THAT(
      problem(
          R"({"a":{"type":"object","additionalProperties":{"type":"string",)"
          R"("x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameter":"key"}}})"),
      HasSubstr("Unsupported value: \"key\""));
  EXPECT_THAT(
      problem(
          R"({"a":{"type":"array","items":{"type":"object","x-kubernetes-permission-verb":"label",)"
          R"("properties":{"b":{"type":"string"}}}}})"),
      HasSubstr("inside a list of type atomic"));
  EXPECT_THAT(problem(R"({"a":{"type":"array","x-kubernetes-list-type":"map",)"
                      R"("x-kubernetes-list-map-keys":["b"],"items":{"type":"object",)"
                      R"("x-kubernetes-permission-verb":"condition",)"
                      R"("x-kubernetes-permission-parameter":"listKey:c",)"
                      R"("properties":{"b":{"type":"string"}}}}})"),
              HasSubstr("x-kubernetes-list-map-keys"));
  EXPECT_THAT(
      problem(
          R"({"a":{"type":"object","additionalProperties":{"type":"string",)"
          R"("x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameter":"mapKey",)"
          R"("x-kubernetes-permission-parameter-cel":"self +"}}})"),
      HasSubstr("compilation failed"));
  EXPECT_THAT(
      problem(
          R"({"a":{"type":"object","additionalProperties":{"type":"string",)"
          R"("x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameter":"mapKey",)"
          R"("x-kubernetes-permission-parameter-cel":"1"}}})"),
      HasSubstr("must evaluate to a string"));
  EXPECT_THAT(
      problem(
          R"({"a":{"type":"object","additionalProperties":{"type":"string",)"
          R"("x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameter":"mapKey",)"
          R"("x-kubernetes-permission-parameter-treatment":"upper"}}})"),
      HasSubstr("slash-delimited-prefix"));
}

TEST(PermissionTags, ThousandsOfThemAreOneError) {
  std::string many = "{";
  for (int i = 0; i < 5000; ++i)
    many += cat(i ? "," : "", "\"f", i,
                R"(":{"type":"string","x-kubernetes-permission-verb":"bad name"})");
  EXPECT_EQ(problem(many + "}"), "schema: Too many: 5000: must have at most 64 items");
}

TEST(PermissionTags, MetadataIsNotForADefinitionToTag) {
  auto errors = check_permissions(
      parse(R"({"type":"object","x-kubernetes-permission-verb":"metadata",)"
            R"("properties":{"metadata":{"type":"object","properties":{"name":{"type":"string",)"
            R"("x-kubernetes-permission-verb":"identity"}}}}})"),
      "schema");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].field, "schema.x-kubernetes-permission-verb");
  EXPECT_EQ(errors[1].field,
            "schema.properties[metadata].properties[name].x-kubernetes-permission-verb");
}

}  // namespace
}  // namespace cardea::schema

#include "schema/permissions/added_permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"
#include "schema/custom/structural.h"

namespace cardea::schema {
namespace {

using json::Value;
using ::testing::HasSubstr;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

class AddedPermissions : public ::testing::Test {
 protected:
  const Schema& shape() { return *schema_; }
  std::shared_ptr<const PermissionTree> tree(std::vector<AddedPermission> added = {}) {
    return PermissionTree::of_custom(shape(), added);
  }
  static AddedPermission added(std::string_view entry, std::string_view map = "m") {
    auto out = added_permission(parsed(entry), map);
    EXPECT_TRUE(out) << entry;
    return out.value_or(AddedPermission());
  }
  std::string why_not(std::string_view entry) {
    auto wrong = misfit(added(entry), shape(), *tree());
    return wrong ? wrong->why : "";
  }

  SchemaSet set_;
  const Schema* schema_ = build_structural(set_, parsed(R"({"type":"object","properties":{
        "spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{
          "on":{"type":"boolean"},
          "slots":{"type":"object","additionalProperties":{"type":"object","properties":{
            "owner":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}}}},
          "ports":{"type":"array","x-kubernetes-list-type":"map",
            "x-kubernetes-list-map-keys":["name"],
            "items":{"type":"object","required":["name"],"properties":{
              "name":{"type":"string"},"port":{"type":"integer"}}}},
          "groups":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
          "one":{"type":"object","x-kubernetes-map-type":"atomic",
            "properties":{"a":{"type":"string"}}},
          "secret":{"type":"string","x-kubernetes-permission-verb":"example.com/secret",
            "x-kubernetes-permission-excluded":true}}},
        "free":{"type":"string"}}})"),
                                           nullptr);
};

TEST_F(AddedPermissions, GuardAFieldAndEverythingBelow) {
  auto with = tree({added(R"({"field":"spec.slots","verb":"example.com/slots"})"),
                    added(R"({"field":"free","verb":"example.com/free"})")});
  const Permission* slots = with->at({"spec", "slots"});
  ASSERT_TRUE(slots);
  EXPECT_EQ(slots->name, "example.com/slots");
  EXPECT_EQ(slots->map, "m");
  EXPECT_TRUE(with->at({"free"}));
  EXPECT_FALSE(tree()->at({"free"})) << "a tree without it has nothing there";
}

TEST_F(AddedPermissions, NeverReplaceWhatGuardsAFieldAlready) {
  auto with = tree({added(R"({"field":"spec","verb":"example.com/weak"})"),
                    added(R"({"field":"spec.secret","verb":"example.com/weak"})"),
                    added(R"({"field":"free","verb":"example.com/first"})"),
                    added(R"({"field":"free","verb":"example.com/second"})", "other")});
  EXPECT_EQ(with->at({"spec"})->name, "specification");
  EXPECT_EQ(with->at({"spec", "secret"})->name, "example.com/secret");
  EXPECT_TRUE(with->has_excluded());
  EXPECT_EQ(with->at({"free"})->name, "example.com/first");
}

TEST_F(AddedPermissions, DoNotFitWhereNoChangeIsSeenOrNoParameterCanComeFrom) {
  EXPECT_EQ(why_not(R"({"field":"spec.on","verb":"a.b/c"})"), "");
  EXPECT_THAT(why_not(R"({"field":"spec.off","verb":"a.b/c"})"),
              HasSubstr("`spec` has no field `off`"));
  EXPECT_THAT(why_not(R"({"field":"nothing","verb":"a.b/c"})"), HasSubstr("objects have no field"));
  EXPECT_THAT(why_not(R"({"field":"spec.on[*]","verb":"a.b/c"})"),
              HasSubstr("neither a list nor a map"));
  EXPECT_THAT(why_not(R"({"field":"spec.one.a","verb":"a.b/c"})"), HasSubstr("changes as one"));
  EXPECT_THAT(why_not(R"({"field":"spec.slots[*].tags[*]","verb":"a.b/c"})"),
              HasSubstr("changes as one"));
  EXPECT_THAT(why_not(R"({"field":"spec","verb":"a.b/c"})"), HasSubstr("guards it already"));
  EXPECT_EQ(why_not(R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"mapKey"})"), "");
  EXPECT_EQ(why_not(R"({"field":"spec.ports[*]","verb":"a.b/c","parameter":"listKey:name"})"), "");
  EXPECT_EQ(why_not(R"({"field":"spec.groups[*]","verb":"a.b/c","parameter":"setValue"})"), "");
  EXPECT_EQ(why_not(R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"value:owner"})"), "");
  for (const char* entry :
       {R"({"field":"spec.slots","verb":"a.b/c","parameter":"mapKey"})",
        R"({"field":"spec.ports[*]","verb":"a.b/c","parameter":"mapKey"})",
        R"({"field":"spec.ports[*]","verb":"a.b/c","parameter":"listKey:port"})",
        R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"setValue"})",
        R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"value:tags"})",
        R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"value:none"})"}) {
    auto wrong = misfit(added(entry), shape(), *tree());
    ASSERT_TRUE(wrong) << entry;
    EXPECT_EQ(wrong->of, Misfit::Of::kParameter) << entry;
  }
}

TEST_F(AddedPermissions, AnEntryThatMakesNoSensePermitsNothing) {
  for (const char* entry :
       {R"({})",
        R"({"field":"spec.on"})",
        R"({"verb":"a.b/c"})",
        R"({"field":7,"verb":"a.b/c"})",
        R"({"field":"","verb":"a.b/c"})",
        R"({"field":"*","verb":"a.b/c"})",
        R"({"field":"[*]","verb":"a.b/c"})",
        R"({"field":"spec.[*]","verb":"a.b/c"})",
        R"({"field":"spec.","verb":"a.b/c"})",
        R"({"field":"metadata.labels","verb":"a.b/c"})",
        R"({"field":"kind","verb":"a.b/c"})",
        R"({"field":"spec.on","verb":"granular:c"})",
        R"({"field":"spec.on","verb":"*"})",
        R"x({"field":"spec.on","verb":"a.b/c(d)"})x",
        R"({"field":"spec.on","verb":"mine"})",
        R"({"field":"spec.on","verb":"k8s.io/c"})",
        R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"key"})",
        R"({"field":"spec.slots[*]","verb":"a.b/c","parameterTreatment":"slash-delimited-prefix"})",
        R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"mapKey",)"
        R"("parameterTreatment":"none"})",
        R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"mapKey",)"
        R"("parameterExpression":"self +"})",
        R"({"field":"spec.slots[*]","verb":"a.b/c","parameter":"mapKey",)"
        R"("parameterExpression":"1"})"}) {
    EXPECT_FALSE(check_added(parsed(entry), "e").empty()) << entry;
    EXPECT_FALSE(added_permission(parsed(entry), "m")) << entry;
  }
}

TEST(GeneralPermissions, AreThoseOfACustomResourceWithoutTags) {
  SchemaSet set;
  const std::string
      status = R"("status":{"type":"object","properties":{"conditions":{"type":"array",
      "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],"items":{"type":"object",
      "required":["type"],"properties":{"type":{"type":"string"}}}}}})";
  auto plain = PermissionTree::of_custom(*build_structural(
      set,
      parsed(cat(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
        "a":{"type":"string"}}},"data":{"type":"string"},)",
                 status, "}}")),
      nullptr));
  EXPECT_EQ(plain->at({"spec"})->name, "specification");
  EXPECT_EQ(plain->at({"status"})->name, "status");
  EXPECT_EQ(plain->at({"status", "conditions", "*"})->field, "type");
  EXPECT_FALSE(plain->at({"data"}));
  // Who tags one field has decided about the others too.
  auto tagged = PermissionTree::of_custom(*build_structural(
      set,
      parsed(cat(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
        "a":{"type":"string","x-kubernetes-permission-verb":"a.b/c"}}},)",
                 status, "}}")),
      nullptr));
  EXPECT_FALSE(tagged->at({"spec"}));
  EXPECT_FALSE(tagged->at({"status"}));
}

}  // namespace
}  // namespace cardea::schema

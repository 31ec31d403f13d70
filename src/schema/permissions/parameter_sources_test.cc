// Parameters that come from the value that is written, and from something above the field.
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

constexpr std::string_view kBox = R"({"type":"object","properties":{
  "spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{
    "open":{"type":"boolean","x-kubernetes-permission-verb":"example.com/open",
      "x-kubernetes-permission-parameter":"self"},
    "count":{"type":"number","x-kubernetes-permission-verb":"example.com/count",
      "x-kubernetes-permission-parameter":"self"},
    "image":{"type":"string","x-kubernetes-permission-verb":"example.com/image",
      "x-kubernetes-permission-parameter":"self",
      "x-kubernetes-permission-parameter-treatment":"slash-delimited-prefix"},
    "limits":{"type":"object","x-kubernetes-permission-verb":"example.com/limits",
      "x-kubernetes-permission-parameter":"self",
      "x-kubernetes-permission-parameter-cel":
        "self == null ? 'none' : self.most > 9 ? 'large' : 'small'",
      "properties":{"most":{"type":"integer"},"least":{"type":"integer"}}},
    "tenants":{"type":"object","additionalProperties":{"type":"object","properties":{
      "quota":{"type":"integer","x-kubernetes-permission-verb":"example.com/quota",
        "x-kubernetes-permission-parameter":"mapKey@spec.tenants[*]"},
      "note":{"type":"string"}}}},
    "pools":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
      "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
        "ranges":{"type":"object","additionalProperties":{"type":"string",
          "x-kubernetes-permission-verb":"example.com/range",
          "x-kubernetes-permission-parameter":"listKey:name@spec.pools[*]"}}}}}}}}})";

Value parsed_json(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

ExcludedVerbs excluded(std::initializer_list<std::string_view> verbs) {
  ExcludedVerbs out;
  for (std::string_view verb : verbs) out.add(verb);
  return out;
}

class ParameterSources : public ::testing::Test {
 protected:
  // What changing the specification takes: the last verb of each field, and what is excluded.
  std::vector<std::string> asked(std::string_view before, std::string_view after,
                                 const ExcludedVerbs& without = {}) {
    auto whole = [](std::string_view spec) {
      return spec.empty() ? Value() : Value::object({{"spec", parsed_json(spec)}});
    };
    ChangedFields changes(whole(before), whole(after), *schema_, {});
    Demands demands = demands_of(changes, *tree_, without);
    std::vector<std::string> out;
    for (const Demand& d : demands.fields) {
      std::string line = demands.chain_of(d).back();
      for (auto e : d.excluded) line += cat(" !", demands.verbs[e]);
      if (!d.unnamed.empty()) line += cat(" ?", d.unnamed);
      out.push_back(line);
    }
    return out;
  }

  SchemaSet set_;
  const Schema* schema_ = build_structural(set_, parsed_json(kBox), nullptr);
  std::shared_ptr<const PermissionTree> tree_ = PermissionTree::of_custom(*schema_);
};

TEST_F(ParameterSources, TheValueThatAFieldGetsCountsAndNotTheOneThatItHad) {
  const ExcludedVerbs opening = excluded({"granular:example.com/open(true)"});
  EXPECT_THAT(asked(R"({"open":false})", R"({"open":true})", opening),
              ElementsAre("granular:example.com/open(true) !granular:example.com/open(true)"));
  EXPECT_THAT(asked("", R"({"open":true})", opening),
              ElementsAre("granular:example.com/open(true) !granular:example.com/open(true)"));
  EXPECT_THAT(asked(R"({"open":true})", R"({"open":false})", opening),
              ElementsAre("granular:example.com/open(false)"));
  EXPECT_THAT(asked(R"({"open":true})", R"({})", opening),
              ElementsAre("granular:example.com/open()"));
  EXPECT_THAT(asked(R"({"open":true})", R"({})", excluded({"granular:example.com/open()"})),
              ElementsAre("granular:example.com/open() !granular:example.com/open()"));
  EXPECT_THAT(asked(R"({"open":true})", R"({"open":true})", opening), IsEmpty());
}

TEST_F(ParameterSources, AValueIsTreatedAsAKeyIs) {
  EXPECT_THAT(asked("{}", R"({"image":"registry.example.com/a:1"})"),
              ElementsAre("granular:example.com/image(registry.example.com)"));
  EXPECT_THAT(asked("{}", R"({"image":"bad.example.com/a"})",
                    excluded({"granular:example.com/image(bad.example.com/a)"})),
              ElementsAre("granular:example.com/image(bad.example.com) "
                          "!granular:example.com/image(bad.example.com/a)"));
}

TEST_F(ParameterSources, OneNumberHasOneVerbHoweverItIsSpelled) {
  for (const char* ten : {"10", "10.0", "1e1", "100e-1"})
    EXPECT_THAT(asked("{}", cat(R"({"count":)", ten, "}")),
                ElementsAre("granular:example.com/count(10)"))
        << ten;
  EXPECT_THAT(asked("{}", R"({"count":2.5})"), ElementsAre("granular:example.com/count(2.5)"));
}

TEST_F(ParameterSources, AnExpressionSeesTheWholeValue) {
  EXPECT_THAT(asked("{}", R"({"limits":{"most":11}})"),
              ElementsAre("granular:example.com/limits(large)"));
  // A change below the field is a change of its value.
  EXPECT_THAT(asked(R"({"limits":{"most":3,"least":1}})", R"({"limits":{"most":3,"least":2}})"),
              ElementsAre("granular:example.com/limits(small)"));
  EXPECT_THAT(asked(R"({"limits":{"most":3}})", "{}"),
              ElementsAre("granular:example.com/limits(none)"));
}

TEST_F(ParameterSources, AnErrorIsNeverAnAllow) {
  // `most` is missing, and the expression fails. Covering it takes an enclosing permission.
  EXPECT_THAT(asked("{}", R"({"limits":{"least":1}})"), ElementsAre("granular:specification"));
  // Nobody gets around a set by a value for which the expression fails.
  EXPECT_THAT(
      asked("{}", R"({"limits":{"least":1}})", excluded({"granular:example.com/limits(large)"})),
      ElementsAre(HasSubstr("granular:specification ?granular:example.com/limits")));
}

TEST_F(ParameterSources, AKeyAboveTheFieldCounts) {
  EXPECT_THAT(
      asked("{}", R"({"tenants":{"a-tenant-with-a-long-name":{"quota":1},"red":{"quota":2}}})"),
      ElementsAre("granular:example.com/quota(a-tenant-with-a-long-name)",
                  "granular:example.com/quota(red)"));
  EXPECT_THAT(asked("{}", R"({"tenants":{"blue":{"note":"x"}}})"),
              ElementsAre("granular:specification"));
  EXPECT_THAT(asked(R"({"pools":[{"name":"p","ranges":{"a":"1"}}]})",
                    R"({"pools":[{"name":"p","ranges":{"a":"2","b":"3"}}]})"),
              ElementsAre("granular:example.com/range(p)"));
}

TEST_F(ParameterSources, DefinitionsAreCheckedForThem) {
  EXPECT_TRUE(check_permissions(parsed_json(kBox), "s").empty());
  auto problem = [](std::string_view tag) {
    auto errors = check_permissions(
        parsed_json(cat(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
          "tenants":{"type":"object","additionalProperties":{"type":"object","properties":{
            "deep":{"type":"object","x-kubernetes-permission-verb":"a.b/c",
              "x-kubernetes-permission-parameter":")",
                        tag, R"("}}}}}}}})")),
        "s");
    return errors.empty() ? std::string() : errors[0].message();
  };
  EXPECT_EQ(problem("mapKey@spec.tenants[*]"), "");
  EXPECT_THAT(problem("self"), HasSubstr("must be a string, number or boolean"));
  EXPECT_THAT(problem("mapKey@spec.tenants"), HasSubstr("additionalProperties of a map"));
  EXPECT_THAT(problem("listKey:name@spec.tenants[*]"), HasSubstr("listKey must be used"));
  EXPECT_THAT(problem("mapKey@spec.other[*]"), HasSubstr("above this field"));
  EXPECT_THAT(problem("mapKey@spec.tenants[*].deep"), HasSubstr("above this field"));
  for (const char* tag : {"mapKey@", "self@spec", "value:a@spec.tenants[*]", "setValue@spec"})
    EXPECT_THAT(problem(tag), HasSubstr("Unsupported value")) << tag;
}

}  // namespace
}  // namespace cardea::schema

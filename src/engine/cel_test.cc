#include "cardea/cel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cardea::v1 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Program compiled(std::string_view text, std::vector<Variable> variables = {}) {
  auto program = Program::compile(text, variables);
  EXPECT_TRUE(program) << program.error().message;
  return *program;
}

TEST(EngineCel, CompilesAndEvaluates) {
  Program p = compiled("a + size(b)", {{"a", "int"}, {"b", "list(string)"}});
  EXPECT_EQ(p.type(), "int");
  auto value = p.evaluate({{"a", "40"}, {"b", R"(["x","y"])"}});
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(value->text, "42");
  EXPECT_EQ(value->json, "42");
  EXPECT_GT(value->cost, 0u);
  EXPECT_EQ(compiled("duration('90m')").evaluate({})->text, R"(duration("5400s"))");
  EXPECT_EQ(compiled("{'a': [1u]}").evaluate({})->json, R"({"a":[1]})");
}

TEST(EngineCel, ErrorsAreTold) {
  auto code = [](const auto& result) { return result.error().code; };
  auto bad = Program::compile("a +");
  ASSERT_FALSE(bad);
  EXPECT_EQ(code(bad), Error::Code::kDoesNotCompile);
  EXPECT_THAT(bad.error().message, HasSubstr("ERROR: <input>:1:"));
  EXPECT_EQ(code(Program::compile("1 + 'a'")), Error::Code::kDoesNotCompile);
  EXPECT_EQ(code(Program::compile("a", {{"a", "int"}, {"a", "int"}})), Error::Code::kBadQuestion);
  EXPECT_EQ(code(Program::compile("a", {{"1a"}})), Error::Code::kBadQuestion);
  EXPECT_EQ(code(Program::compile("a", {{""}})), Error::Code::kBadQuestion);
  for (const char* type : {"", "integer", "list(", "list(int", "map(string)", "T", ".x", "net.IP"})
    EXPECT_FALSE(Program::compile("a", {{"a", type}})) << type;
  Program p = compiled("1 / a", {{"a", "int"}});
  EXPECT_EQ(code(p.evaluate({{"a", "0"}})), Error::Code::kEvaluation);
  EXPECT_EQ(code(p.evaluate({})), Error::Code::kEvaluation);
  EXPECT_EQ(code(p.evaluate({{"a", "{"}})), Error::Code::kBadDocument);
  EXPECT_EQ(code(p.evaluate({{"b", "1"}})), Error::Code::kBadQuestion);
  Program dear = compiled("a.all(x, a.all(y, x != y + 1000))", {{"a", "list(int)"}});
  EXPECT_EQ(code(dear.evaluate({{"a", "[1,2,3,4,5,6,7,8,9]"}}, 20)), Error::Code::kCostLimit);
}

TEST(EngineCel, EvaluatesInPart) {
  Program p = compiled("object.owner == user && user in ['jane', 'joe']",
                       {{"object"}, {"user", "string"}});
  auto rest = p.partially_evaluate({{"user", "\"jane\""}}, {"object"});
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_FALSE(rest->is_value());
  EXPECT_EQ(rest->text(), R"(object.owner == "jane")");
  EXPECT_THAT(rest->reads(), ElementsAre("object.owner"));
  EXPECT_TRUE(rest->can_be_true());
  EXPECT_EQ(rest->evaluate({{"object", R"({"owner":"jane"})"}})->text, "true");
  EXPECT_EQ(rest->evaluate({{"object", R"({"owner":"joe"})"}})->text, "false");
  EXPECT_FALSE(rest->evaluate({{"object", "{}"}}));
  // A variable without a value is unknown, whether it is named as unknown or not.
  auto settled = p.partially_evaluate({{"user", "\"jim\""}}, {});
  ASSERT_TRUE(settled);
  Program never = compiled("user in ['joe'] && object.owner == user",
                           {{"object"}, {"user", "string"}});
  auto no = never.partially_evaluate({{"user", "\"jim\""}}, {});
  ASSERT_TRUE(no);
  EXPECT_TRUE(no->is_value());
  EXPECT_EQ(no->text(), "false");
  EXPECT_FALSE(no->can_be_true());
  EXPECT_TRUE(no->can_be_false());
}

TEST(EngineCel, PartsOfVariablesMayBeUnknown) {
  Program p = compiled("object.a == 1 && object.b['x/y'] == 2", {{"object"}});
  auto rest = p.partially_evaluate({{"object", R"({"a":1})"}}, {R"(object.b["x/y"])"});
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->text(), R"(object.b["x/y"] == 2)");
  for (const char* bad : {"", "nobody", "object.", "object[", "object[]", "object.1", "object{"})
    EXPECT_FALSE(p.partially_evaluate({}, {bad})) << bad;
}

TEST(EngineCel, WhatFailsWhateverTheUnknownIsIsAnError) {
  Program p = compiled("1 / a == 1 && b", {{"a", "int"}, {"b", "bool"}});
  auto rest = p.partially_evaluate({{"a", "0"}}, {"b"});
  // `false` would absorb the error.
  ASSERT_TRUE(rest);
  EXPECT_FALSE(rest->can_be_true());
  EXPECT_FALSE(compiled("1 / a", {{"a", "int"}}).partially_evaluate({{"a", "0"}}, {}));
}

}  // namespace
}  // namespace cardea::v1

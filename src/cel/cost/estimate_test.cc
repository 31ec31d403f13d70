#include "cel/cost/estimate.h"

#include <gtest/gtest.h>

#include "cel/check/schema_types.h"
#include "cel/environments.h"
#include "json/parse.h"

namespace cardea::cel {
namespace {

json::Value parsed(std::string_view text) {
  return *json::parse(text);
}

std::uint64_t cost_of(std::string_view rule, std::string_view schema_text) {
  const json::Value schema = parsed(schema_text);
  Environment env = kubernetes_environment();
  const Type* self = declare_schema(env, "selfType", schema, false);
  env.variable("self", self).variable("oldSelf", self);
  const auto size = data_size(schema, false);
  return estimate(rule, env, size.get()).max_cost;
}

constexpr std::string_view kBounded =
    R"({"type": "object",
        "properties": {
          "list": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 5}},
          "n": {"type": "integer"}}})";

TEST(Estimate, CountsVariablesAndFieldsOnceEach) {
  EXPECT_EQ(cost_of("self.n == 1", kBounded), 2u);
}

TEST(Estimate, MultipliesLoopsWithTheMostItems) {
  // self.list costs 2, the result 1. Ten turns cost 5 each: 3 for the fold, 1 for x, 1 for the
  // comparison with a short text.
  EXPECT_EQ(cost_of("self.list.all(x, x == 'abc')", kBounded), 2 + 1 + 10 * (3 + 1 + 1));
}

TEST(Estimate, TakesTheRequestLimitWhereTheSchemaHasNone) {
  EXPECT_EQ(cost_of("self.contains('a')", R"({"type":"string"})"), 1u + 314573u);
}

TEST(Estimate, NamesTheVariablesAnExpressionMentionsEvenWhereTheyCannotMatter) {
  Environment env = kubernetes_environment();
  env.variable("self", "int").variable("oldSelf", "int");
  EXPECT_TRUE(estimate("true || oldSelf == 1", env, nullptr).variables.contains("oldSelf"));
  EXPECT_FALSE(estimate("self == 1", env, nullptr).variables.contains("oldSelf"));
}

}  // namespace
}  // namespace cardea::cel

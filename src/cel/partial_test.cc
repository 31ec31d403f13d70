#include "cel/partial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "cel/bounds.h"
#include "cel/environments.h"
#include "cel/print.h"
#include "cel/random_expressions.h"
#include "json/parse.h"

namespace cardea::cel {
namespace {

std::string left_of(std::string_view text, std::string_view request) {
  Environment env = extended_environment();
  env.variable("request", "dyn").variable("object", "dyn");
  const auto program = *compile(text, std::move(env).share());
  const json::Value document = *json::parse(request);
  const Value slots[] = {Value::of_json(document), Value()};
  return reduce(program, slots, Unknowns::variables(program->environment(), {"object"})).print();
}

TEST(Residual, KnownDataIsGone) {
  EXPECT_EQ(left_of("request.verb == 'create' && object.spec.class == request.user", R"({"verb":"create","user":"alice"})"), "object.spec.class == \"alice\"");
  EXPECT_EQ(left_of("request.verb == 'create' && object.x == 1", R"({"verb":"get"})"), "false");
  EXPECT_EQ(left_of("object.labels.all(k, k in request.allowed)", R"({"allowed":["a","b"]})"), "object.labels.all(k, k in [\"a\", \"b\"])");
}

TEST(Residual, LoopsOverKnownDataBecomeChains) {
  EXPECT_EQ(left_of("request.groups.exists(g, g == object.team)", R"({"groups":["a","b"]})"), "\"a\" == object.team || \"b\" == object.team");
}

TEST(Residual, AnErrorIsNeverAnAllow) {
  // A known operand that is no bool is an error, and stays one.
  EXPECT_EQ(left_of("request.flag && object.ok == true", R"({"flag":"yes"})"), "object.ok == true && {}[\"no such overload\"]");
  // What may be no bool must stay an operand.
  EXPECT_EQ(left_of("true && object.ok", "{}"), "object.ok && true");
  // Looking for it in nothing may fail.
  EXPECT_EQ(left_of("!(object.a in request.list)", R"({"list":[]})"), "!(object.a in [])");
}

TEST(Residual, SaysWhatCanHappen) {
  Environment env = extended_environment();
  env.variable("request", "dyn").variable("object", "dyn");
  const auto program = *compile("object.a == 1 && request.x", std::move(env).share());
  const json::Value document = *json::parse(R"({"x":"text"})");
  const Value slots[] = {Value::of_json(document), Value()};
  const Residual residual = reduce(program, slots, Unknowns::variables(program->environment(), {"object"}));
  EXPECT_FALSE(residual.can_be_true());
  EXPECT_TRUE(residual.can_be_false());
  EXPECT_TRUE(residual.can_fail());
  EXPECT_EQ(residual.reads(), std::vector<std::string>{"object.a"});
}

TEST(Residual, PatternsMakeOnlyTheirPartUnknown) {
  Environment env = extended_environment();
  env.variable("request", "dyn");
  const auto program = *compile("request.verb == 'create' && request.extra.team == 'x'", std::move(env).share());
  const json::Value document = *json::parse(R"({"verb":"create","extra":{"team":"y"}})");
  const Value slots[] = {Value::of_json(document)};
  const Unknowns unknowns(program->environment(), {{"request", {{Value::of_text("extra"), false}}}});
  EXPECT_EQ(reduce(program, slots, unknowns).print(), "request.extra.team == \"x\"");
}

TEST(Implied, FindsEqualitiesAndMemberships) {
  Environment env = extended_environment();
  env.variable("request", "dyn");
  const auto program = *compile("(request.verb == 'get' || request.verb in ['list', 'watch']) && request.resource == 'pods' && request.name != 'x'", std::move(env).share());
  const std::vector<Implied> implied = implied_by(program->root());
  ASSERT_EQ(implied.size(), 2u);
  EXPECT_EQ(implied[0].attribute, "request.verb");
  EXPECT_EQ(implied[0].values.size(), 3u);
  EXPECT_EQ(implied[1].attribute, "request.resource");
}

bool same(const Value& a, const Value& b) {
  if (a.is_error() || b.is_error()) return a.is_error() && b.is_error();
  if (a.kind == Kind::kDouble && b.kind == Kind::kDouble && std::isnan(a.real)) return std::isnan(b.real);
  return a.kind == b.kind && (equal(a, b) || print_value(a) == print_value(b));
}

// Any split of the variables into known and unknown, then filling in the rest, gives what evaluating at once gives.
// CARDEA_CEL_CASES asks for a longer run.
TEST(Residual, AgreesWithEvaluationAtOnceOnRandomExpressions) {
  const char* asked = std::getenv("CARDEA_CEL_CASES");
  const std::uint64_t cases = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 10'000;
  Environment made = extended_environment();
  for (const char* name : {"a", "b", "c", "d"}) made.variable(name, "dyn");
  const auto env = std::move(made).share();
  CompileOptions unchecked;
  unchecked.check = false;
  Limits limits;
  limits.cost = 100'000;
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    RandomExpressions random(seed);
    const std::string text = random.expression(1 + static_cast<int>(random.below(5)));
    const auto program = compile(text, env, unchecked);
    if (!program.has_value()) continue;
    Arena arena;
    std::vector<Value> all, known(4), unknown(4);
    std::vector<std::string> names;
    for (int i = 0; i < 4; ++i) {
      all.push_back(random.value(arena, 2));
      const bool hidden = random.below(2) == 0;
      (hidden ? unknown : known)[static_cast<std::size_t>(i)] = all.back();
      if (hidden) names.emplace_back(1, static_cast<char>('a' + i));
    }
    Evaluation at_once(limits), later(limits), reread(limits);
    const Value whole = at_once.run(**program, all);
    if (at_once.limit_exceeded()) continue;
    const Residual residual = reduce(*program, known, Unknowns::variables(*env, names), limits);
    const Value rest = residual.run(later, unknown);
    ASSERT_TRUE(same(whole, rest)) << "seed " << seed << "\n" << text << "\nleft " << residual.print() << "\nat once " << print_value(whole) << "\nlater " << print_value(rest);
    if (whole.is_true()) ASSERT_TRUE(residual.can_be_true()) << text;
    if (whole.is_false()) ASSERT_TRUE(residual.can_be_false()) << text;
    if (whole.is_error()) ASSERT_TRUE(residual.can_fail()) << text;
    const auto printed = compile(residual.print(), env, unchecked);
    ASSERT_TRUE(printed.has_value()) << "seed " << seed << "\n" << residual.print() << "\n" << printed.error().text;
    const Value again = reread.run(**printed, unknown);
    ASSERT_TRUE(same(whole, again)) << "seed " << seed << "\n" << text << "\nprinted " << residual.print() << "\nat once " << print_value(whole) << "\nprinted gives " << print_value(again);
    ++compared;
  }
  std::printf("%llu expressions compared\n", static_cast<unsigned long long>(compared));
}

}  // namespace
}  // namespace cardea::cel

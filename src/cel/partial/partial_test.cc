#include "cel/partial/partial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "cel/environments.h"
#include "cel/partial/bounds.h"
#include "cel/syntax/print.h"
#include "cel/testing/random_expressions.h"
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
  EXPECT_EQ(left_of("request.verb == 'create' && object.spec.class == request.user",
                    R"({"verb":"create","user":"alice"})"),
            "object.spec.class == \"alice\"");
  EXPECT_EQ(left_of("request.verb == 'create' && object.x == 1", R"({"verb":"get"})"), "false");
  EXPECT_EQ(left_of("object.labels.all(k, k in request.allowed)", R"({"allowed":["a","b"]})"),
            "object.labels.all(k, k in [\"a\", \"b\"])");
}

TEST(Residual, CanBeReducedAgainWhenMoreIsKnown) {
  Environment env = extended_environment();
  env.variable("request", "dyn").variable("later", "dyn").variable("object", "dyn");
  const auto shared = std::move(env).share();
  const json::Value request = *json::parse(R"({"user":"u"})"), later = *json::parse(R"({"ok":1})");
  const Unknowns first = Unknowns::variables(*shared, {"later", "object"}),
                 second = Unknowns::variables(*shared, {"object", "request"});
  auto left = [&](std::string_view text) {
    const Residual once = reduce(*compile(text, shared),
                                 std::vector<Value>{Value::of_json(request), Value(), Value()},
                                 first);
    const Residual twice = reduce(once, std::vector<Value>{Value(), Value::of_json(later), Value()},
                                  second);
    return twice.print();
  };
  EXPECT_EQ(left("later.ok == 1 && object.by == request.user"), R"(object.by == "u")");
  EXPECT_EQ(left("later.ok == 2 && object.by == request.user"), "false");
  EXPECT_EQ(left("later.ok == 1 || object.by == request.user"), "true");
  EXPECT_EQ(left("request.user == 'u'"), "true");
  EXPECT_EQ(left("request.user == 'u' && later.ok == 1"), "true");
}

TEST(Residual, LoopsOverKnownDataBecomeChains) {
  EXPECT_EQ(left_of("request.groups.exists(g, g == object.team)", R"({"groups":["a","b"]})"),
            "\"a\" == object.team || \"b\" == object.team");
}

TEST(Residual, AnErrorIsNeverAnAllow) {
  // A known operand that is not a bool is an error, and stays an error.
  EXPECT_EQ(left_of("request.flag && object.ok == true", R"({"flag":"yes"})"),
            "object.ok == true && {}[\"no such overload\"]");
  // A term that may not be a bool must stay an operand.
  EXPECT_EQ(left_of("true && object.ok", "{}"), "object.ok && true");
  // Computing the element may fail, also if the list is empty.
  EXPECT_EQ(left_of("!(object.a in request.list)", R"({"list":[]})"), "!(object.a in [])");
}

TEST(Residual, WhatFailsOnlyWhenNeededDoesNotDecideTheTypeAroundIt) {
  Environment made = kubernetes_environment();
  made.variable("a", "dyn").variable("b", "dyn");
  const auto env = std::move(made).share();
  const auto program = *compile("quantity('2').add(a.orValue(b.max()))", env);
  const Residual residual = reduce(program, std::vector<Value>{Value(), Value::of_int(1)},
                                   Unknowns::variables(*env, {"a"}));
  EXPECT_EQ(residual.print(), R"(quantity("2").add(a.orValue(dyn({}["no such overload"]))))");
  // After parsing it again, it still takes a number as well as a quantity.
  const auto again = *compile(residual.print(), env);
  Evaluation evaluation;
  const Value slots[] = {evaluation.run(**compile("optional.of(2)", env), {}), Value()};
  Evaluation second;
  EXPECT_EQ(print_value(second.run(*again, slots)), "quantity(\"4\")");
}

TEST(Residual, SaysWhatCanHappen) {
  Environment env = extended_environment();
  env.variable("request", "dyn").variable("object", "dyn");
  const auto program = *compile("object.a == 1 && request.x", std::move(env).share());
  const json::Value document = *json::parse(R"({"x":"text"})");
  const Value slots[] = {Value::of_json(document), Value()};
  const Residual residual = reduce(program, slots,
                                   Unknowns::variables(program->environment(), {"object"}));
  EXPECT_FALSE(residual.can_be_true());
  EXPECT_TRUE(residual.can_be_false());
  EXPECT_TRUE(residual.can_fail());
  EXPECT_EQ(residual.reads(), std::vector<std::string>{"object.a"});
}

TEST(Residual, PatternsMakeOnlyTheirPartUnknown) {
  Environment env = extended_environment();
  env.variable("request", "dyn");
  const auto program = *compile("request.verb == 'create' && request.extra.team == 'x'",
                                std::move(env).share());
  const json::Value document = *json::parse(R"({"verb":"create","extra":{"team":"y"}})");
  const Value slots[] = {Value::of_json(document)};
  const Unknowns unknowns(program->environment(),
                          {{"request", {{Value::of_text("extra"), false}}}});
  EXPECT_EQ(reduce(program, slots, unknowns).print(), "request.extra.team == \"x\"");
}

TEST(Implied, FindsEqualitiesAndMemberships) {
  Environment env = extended_environment();
  env.variable("request", "dyn");
  const auto program = *compile(
      "(request.verb == 'get' || request.verb in ['list', 'watch']) && request.resource == 'pods' "
      "&& request.name != 'x'",
      std::move(env).share());
  const std::vector<Implied> implied = implied_by(program->root());
  ASSERT_EQ(implied.size(), 2u);
  EXPECT_EQ(implied[0].attribute, "request.verb");
  EXPECT_EQ(implied[0].values.size(), 3u);
  EXPECT_EQ(implied[1].attribute, "request.resource");
}

bool same(const Value& a, const Value& b) {
  if (a.is_error() || b.is_error()) return a.is_error() && b.is_error();
  if (a.kind == Kind::kDouble && b.kind == Kind::kDouble && std::isnan(a.real))
    return std::isnan(b.real);
  return a.kind == b.kind && (equal(a, b) || print_value(a) == print_value(b));
}

// Puts a random value of the same shape at the key, so that the evaluation cannot use the data that
// counts as unknown.
Value with_other(Arena& arena, RandomExpressions& random, const Value& v, std::string_view key) {
  if (v.kind != Kind::kMap) return v;
  MapBuilder map(arena);
  for (std::uint32_t i = 0; i < v.size; ++i)
    if (const Value k = map_key(v, i); k.string() != key) map.add(k, map_value(v, i));
  if (random.below(2) == 0) map.add(Value::of_text(key), random.value(arena, 1));
  return map.build();
}

// One expression, one split of its variables into known and unknown.
class Split {
 public:
  Split(const Environment& env, RandomExpressions& random) : known(4), unknown(4), all(4) {
    std::vector<UnknownPattern> patterns;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      all[i] = random.value(arena_, 2);
      switch (random.below(5)) {
        case 0:
        case 1:
          known[i] = all[i];
          break;
        case 2:
        case 3:
          unknown[i] = all[i];
          patterns.push_back({name, {}});
          break;
        default: {
          // A part of the variable is unknown: the residual reads it from the whole variable.
          const std::string_view key = random.below(2) == 0 ? "x" : "y";
          known[i] = with_other(arena_, random, all[i], key);
          unknown[i] = all[i];
          patterns.push_back({name, {{Value::of_text(key), false}}});
          if (random.below(3) == 0)
            patterns.back().qualifiers.push_back({Value::of_text("y"), random.below(2) == 0});
          if (patterns.back().qualifiers.size() > 1) known[i] = all[i];
        }
      }
    }
    unknowns = std::make_unique<Unknowns>(env, patterns);
  }

 private:
  Arena arena_;

 public:
  std::vector<Value> known, unknown, all;
  std::unique_ptr<Unknowns> unknowns;
};

// For every split of the variables into known and unknown ones, reducing and then filling in the
// rest gives the same result as one evaluation. CARDEA_CEL_CASES sets the length of the run,
// CARDEA_CEL_SEED its beginning.
TEST(Residual, AgreesWithEvaluationAtOnceOnRandomExpressions) {
  const char* asked = std::getenv("CARDEA_CEL_CASES");
  const char* first = std::getenv("CARDEA_CEL_SEED");
  const std::uint64_t cases = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 10'000;
  const std::uint64_t begin = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  Environment made = kubernetes_environment();
  for (const Library library : {Library::kBindings, Library::kEncoders, Library::kMath})
    made.library(library);
  made.homogeneous = made.validate_literals = false;
  for (const char* name : {"a", "b", "c", "d"}) made.variable(name, "dyn");
  const auto env = std::move(made).share();
  Limits limits;
  limits.cost = 100'000;
  std::uint64_t compared = 0, checked = 0, reduced = 0, ill_typed = 0;
  for (std::uint64_t seed = begin; seed < begin + cases; ++seed) {
    RandomExpressions random(seed);
    const std::string text = random.expression(1 + static_cast<int>(random.below(5)));
    CompileOptions options;
    options.check = random.below(2) == 0;
    const auto program = compile(text, env, options);
    if (!program.has_value()) continue;
    Split split(*env, random);
    Evaluation at_once(limits), later(limits), reread(limits);
    const Value whole = at_once.run(**program, split.all);
    if (at_once.limit_exceeded()) continue;
    const Residual residual = reduce(*program, split.known, *split.unknowns, limits);
    if (residual.is_value() && residual.value().is_error() && residual.value().error->fatal)
      continue;
    const Value rest = residual.run(later, split.unknown);
    ASSERT_TRUE(same(whole, rest)) << "seed " << seed << "\n"
                                   << text << "\nleft " << residual.print() << "\nat once "
                                   << print_value(whole) << "\nlater " << print_value(rest);
    if (whole.is_true()) ASSERT_TRUE(residual.can_be_true()) << "seed " << seed << "\n" << text;
    if (whole.is_false()) ASSERT_TRUE(residual.can_be_false()) << "seed " << seed << "\n" << text;
    if (whole.is_error()) ASSERT_TRUE(residual.can_fail()) << "seed " << seed << "\n" << text;
    auto printed = compile(residual.print(), env, options);
    if (!printed.has_value() && options.check) {
      // Known data of a wrong type: it fails when it runs, so it need not pass the checker.
      options.check = false;
      ++ill_typed;
      printed = compile(residual.print(), env, options);
    }
    ASSERT_TRUE(printed.has_value()) << "seed " << seed << "\n"
                                     << text << "\n"
                                     << residual.print() << "\n"
                                     << printed.error().text;
    const Value again = reread.run(**printed, split.unknown);
    ASSERT_TRUE(same(whole, again))
        << "seed " << seed << "\n"
        << text << "\nprinted " << residual.print() << "\nat once " << print_value(whole)
        << "\nprinted gives " << print_value(again);
    ++compared;
    checked += options.check;
    reduced += !residual.is_value();
  }
  EXPECT_LE(ill_typed * 1000, compared);
  std::printf("%llu expressions compared, %llu of them type-checked, %llu with something left\n",
              static_cast<unsigned long long>(compared), static_cast<unsigned long long>(checked),
              static_cast<unsigned long long>(reduced));
}

}  // namespace
}  // namespace cardea::cel

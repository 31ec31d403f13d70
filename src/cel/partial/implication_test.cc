#include "cel/partial/implication.h"

#include <gtest/gtest.h>

#include <random>

#include "base/strings.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "cel/program.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::cel {
namespace {

std::shared_ptr<const Environment> environment() {
  static const std::shared_ptr<const Environment> made = [] {
    Environment env = kubernetes_environment();
    env.variable("object", "dyn").variable("oldObject", "dyn").variable("verb", "string");
    return std::move(env).share();
  }();
  return made;
}

std::shared_ptr<const Program> compiled(const std::string& text) {
  auto out = compile(text, environment());
  EXPECT_TRUE(out.has_value()) << text << (out ? "" : out.error().text);
  return *out;
}

bool is_proved(const std::string& if_true, const std::string& then) {
  const auto premise = compiled(if_true), conclusion = compiled(then);
  return implies(&premise->root(), &conclusion->root());
}

TEST(Implication, FollowsFromWhatIsStronger) {
  for (auto [premise, conclusion] : std::initializer_list<std::pair<const char*, const char*>>{
           {"object.a == 'x'", "object.a == 'x'"},
           {"object.a == 'x'", "'x' == object.a"},
           {"object.a == 'x' && object.b == 1", "object.b == 1"},
           {"object.a == 'x'", "object.a == 'x' || object.b == 1"},
           {"object.a == 'x'", "object.a in ['x', 'y']"},
           {"object.a in ['x', 'y']", "object.a in ['y', 'z', 'x']"},
           {"object.a in ['x', 'y']", "object.a == 'x' || object.a == 'y'"},
           {"object.a in ['x', 'y'] && object.a != 'y'", "object.a == 'x'"},
           {"object.a == 'x'", "object.a != 'y'"},
           {"object.a == 'x'", "!(object.a in ['y', 'z'])"},
           {"object.a == 'team-a-1'", "object.a.startsWith('team-a-')"},
           {"object.a.startsWith('team-a-')", "object.a.startsWith('team-')"},
           {"object.a.startsWith('team-a-')", "object.a != 'team-b-1'"},
           {"object.a.startsWith('a.b')", "object.a.contains('.')"},
           {"object.a.endsWith('.example.com')", "object.a.endsWith('.com')"},
           {"object.n <= 3", "object.n <= 5"},
           {"object.n < 3", "object.n != 3"},
           {"3 > object.n", "object.n <= 3"},
           {"object.n == 2", "object.n >= 1 && object.n < 3"},
           {"object.a == 'x'", "has(object.a)"},
           {"object.spec.a == 'x'", "has(object.spec) && object != null"},
           {"object.spec.a == 'x'", "object == null ? false : object.spec.a == 'x'"},
           {"has(object.a) && object.a == 'x'", "object.a == 'x'"},
           {"object.flag", "object.flag == true"},
           {"!(object.a == 'x' || object.b == 1)", "object.b != 1"},
           {"verb == 'create' ? object.a == 'x' : object.a == 'y'", "object.a in ['x', 'y']"},
           {"object.l.all(c, c.image.startsWith('r/a/') && c.ok)",
            "object.l.all(c, c.image.startsWith('r/'))"},
           {"object.l.exists(c, c == 'x')", "object.l.exists(c, c in ['x', 'y'])"},
           {"object.a == oldObject.a && object.b == 1", "oldObject.a == object.a"},
           {"object.m['a/b'] == 'x'", "object.m['a/b'] in ['x']"},
           {"object.?m.orValue('') == 'x'", "object.?m.orValue('') != 'y'"},
           {"false", "object.a == 'x'"},
           {"object.a == 'x' && object.a == 'y'", "object.b == 1"},
           {"object.a == 'x'", "true"},
       })
    EXPECT_TRUE(is_proved(premise, conclusion)) << premise << " => " << conclusion;
}

TEST(Implication, DoesNotFollowFromWhatIsWeakerOrMayFail) {
  for (auto [premise, conclusion] : std::initializer_list<std::pair<const char*, const char*>>{
           {"true", "object.a == 'x'"},
           {"object.b == 1", "object.a == 'x'"},
           {"object.a == 'x' || object.b == 1", "object.a == 'x'"},
           {"object.a in ['x', 'y']", "object.a == 'x'"},
           {"object.a != 'y'", "object.a == 'x'"},
           {"object.a.startsWith('team-')", "object.a.startsWith('team-a-')"},
           {"object.n <= 5", "object.n <= 3"},
           {"object.n >= 3", "object.n > 3"},
           {"object.n > 4", "object.n >= 5"},     // 4.5
           {"!(object.n < 5)", "object.n >= 5"},  // not a number
           {"has(object.a)", "object.a == 'x'"},
           {"!has(object.a)", "object.a != 'x'"},  // fails
           {"object == null", "object.a != 'x'"},  // fails
           {"!has(object.a)", "!(object.a == 'x')"},
           {"object.a == 1", "object.a.startsWith('1')"},
           {"object.?a.orValue('x') == 'x'", "object.a == 'x'"},
           {"object.?a.orValue('x') == 'x'", "has(object.a)"},
           {"object.l.exists(c, c == 'x')", "object.l.all(c, c == 'x')"},
           {"object.l.all(c, c == 'x')", "object.l.exists(c, c == 'x')"},
           {"object.l.all(c, c == 'x')", "oldObject.l.all(c, c == 'x')"},
           {"object.l.all(c, c.a == 'x')", "object.l.all(d, d.b == 'x')"},
           {"object.l.exists_one(c, c == 'x' && true)", "object.l.exists_one(c, c in ['x','y'])"},
           {"object.a == oldObject.a", "object.a == 'x'"},
           {"verb == 'create' ? object.a == 'x' : true", "object.a == 'x'"},
           {"object.`c.d` == 1", "has(object.c.d)"},
           {"object.`c.d` == 1", "object.c != null"},
           {"object.`c.d` == 1", "object.c.d == 1"},
       })
    EXPECT_FALSE(is_proved(premise, conclusion)) << premise << " => " << conclusion;
}

TEST(Implication, UsesWhatIsKnownFromElsewhere) {
  const auto premise = compiled("object.a == 'x'"),
             conclusion = compiled("verb in ['create', 'update'] && object.a == 'x'");
  const Node* then = &conclusion->root();
  EXPECT_FALSE(implies(&premise->root(), {&then, 1}, {}));
  const KnownAttribute create[] = {{"verb", Value::of_text("create")}},
                       remove[] = {{"verb", Value::of_text("delete")}};
  EXPECT_TRUE(implies(&premise->root(), {&then, 1}, create));
  EXPECT_FALSE(implies(&premise->root(), {&then, 1}, remove));
  EXPECT_FALSE(implies(nullptr, {&then, 1}, create));
}

TEST(Implication, OneOfSeveralIsEnoughAndNoneIsNot) {
  const auto premise = compiled("object.a in ['x', 'y']"), x = compiled("object.a == 'x'"),
             y = compiled("object.a == 'y'");
  const Node* both[] = {&x->root(), &y->root()};
  EXPECT_TRUE(implies(&premise->root(), both, {})) << "each case has its own";
  EXPECT_FALSE(implies(&premise->root(), {both, 1}, {}));
  EXPECT_FALSE(implies(&premise->root(), {}, {}));
}

TEST(Implication, WorkIsBounded) {
  std::string many = "object.z == 1", deep = "object.a == 'x'";
  for (int i = 0; i < 60; ++i)
    many += cat(" && (object.a", i, " == 1 || object.b", i, " == 1 || object.c", i, " == 1)");
  for (int i = 0; i < 20; ++i) deep = cat("(", deep, " ? object.b == ", i, " : object.c == 1)");
  EXPECT_TRUE(is_proved(many, "object.z == 1"));
  EXPECT_FALSE(is_proved(many, "object.z == 2"));
  EXPECT_FALSE(is_proved(deep, "object.z == 2"));
  EXPECT_TRUE(is_proved(many + " && object.y == 2", "object.y in [2, 3]"));
}

// Random conditions about few fields, so that they often have to do with each other.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  std::string pick(std::initializer_list<const char*> list) {
    return *(list.begin() + below(list.size()));
  }
  std::string constant() {
    return pick({"'x'", "'xy'", "'xyz'", "'y'", "1", "2", "null", "true", "'x'"});
  }
  std::string term() {
    return pick({"object.a", "object.a", "object.b", "object.c.d", "object.l[0]", "object['a']",
                 "oldObject.a", "object.?a.orValue('x')", "object.c.?d.orValue(1)", "object",
                 "object.c", "oldObject", "verb"});
  }
  std::string atom() {
    const std::string t = term();
    switch (below(15)) {
      case 0:
      case 1:
        return cat("dyn(", t, ") == ", constant());
      case 2:
        return t == "verb" ? "verb != 'x'" : cat(t, " != ", constant());
      case 3:
        return t == "verb" ? "verb in ['x', 'y']"
                           : cat(t, " in [dyn(", constant(), "), ", constant(), "]");
      case 4:
        return t == "verb" ? "verb in ['xy']" : cat(t, " in ['x', ", pick({"'y'", "'xy'"}), "]");
      case 5:
        return t == "verb"
                   ? "verb < 'xy'"
                   : cat(t, pick({" < ", " <= ", " > ", " >= "}), pick({"1", "2", "'x'", "'xy'"}));
      case 6:
        return t == "verb" ? "verb.startsWith('x')"
                           : cat(t, pick({".startsWith(", ".endsWith(", ".contains("}),
                                 pick({"'x'", "'xy'", "'y'", "''"}), ")");
      case 7:
        return pick({"has(object.a)", "has(object.c)", "has(object.c.d)", "has(oldObject.a)"});
      case 8:
        return pick(
            {"object.f", "object.c.f", "object.a", "object.f == true", "object.f != false"});
      case 9:
        return cat("object.l.", pick({"all", "exists", "exists_one"}), "(i, ",
                   pick({"i == 'x'", "i in ['x', 'y']", "i == 'x' && i != 'y'", "i > 1", "i >= 1",
                         "i.startsWith('x')", "i == object.a", "i == 1 || i == 'x'"}),
                   ")");
      case 10:
        return cat(t, " == ", pick({"object.a", "oldObject.a", "object.c"}));
      case 11:
        return pick({"object == null", "object != null", "oldObject == null", "object.a != null",
                     "object.c != null", "null == object.c"});
      case 12:
        return cat(pick({"1", "2"}), pick({" < ", " <= ", " > ", " >= "}),
                   pick({"object.b", "object.a"}));
      case 13:
        return pick({"object.b / (object.b - 1) > 0", "size(object.l) > 1", "object.l[1] == 'x'"});
      default:
        return t == "verb" ? "verb == 'y'" : cat(t, " == ", constant());
    }
  }
  std::string condition(int depth = 0) {
    if (depth > 2) return atom();
    switch (below(8)) {
      case 0:
      case 1:
        return cat("(", condition(depth + 1), " && ", condition(depth + 1), ")");
      case 2:
        return cat("(", condition(depth + 1), " || ", condition(depth + 1), ")");
      case 3:
        return cat("!(", condition(depth + 1), ")");
      case 4:
        return cat("(", condition(depth + 1), " ? ", condition(depth + 1), " : ",
                   condition(depth + 1), ")");
      default:
        return atom();
    }
  }
  std::string value(int depth = 0) {
    switch (below(depth > 1 ? 9 : 12)) {
      case 9:
        return cat(R"({"d":)", value(depth + 1), R"(,"f":)", pick({"true", "false", "1"}), "}");
      case 10:
        return cat("[", value(depth + 1), ",", value(depth + 1), "]");
      case 11:
        return "{}";
      default:
        return pick({R"("x")", R"("x")", R"("xy")", R"("xyz")", R"("y")", "1", "2", "1.5", "true",
                     "null", R"("")", "2.0", "1.0"});
    }
  }
  std::string object() {
    if (below(12) == 0) return "null";
    std::string out = "{";
    for (const char* field : {"a", "b", "c", "l", "f"})
      if (below(5) > 0)
        out += cat(out.size() > 1 ? "," : "", "\"", field, "\":",
                   *field == 'l' && below(3)   ? cat("[", value(1), ",", value(1), "]")
                   : *field == 'f' && below(3) ? pick({"true", "false"})
                                               : value());
    return out + "}";
  }

 private:
  std::mt19937_64 random_;
};

// Whatever is proved has no counterexample.
TEST(Implication, NothingThatIsProvedHasACounterexample) {
  const char* wanted = std::getenv("CARDEA_IMPLICATIONS");
  const int rounds = wanted ? std::atoi(wanted) : 4'000;
  Chance g(7);
  int proved = 0, exercised = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string a = g.condition(), b = g.condition(1);
    // Strengthened, weakened, or as it comes.
    std::string premise = a, conclusion = b;
    switch (g.below(5)) {
      case 0:
        premise = cat("(", a, ") && (", b, ")");
        break;
      case 1:
        conclusion = cat("(", a, ") || (", b, ")");
        break;
      case 2:
        premise = cat("(", b, ") && ", g.atom());
        break;
      default:
        break;
    }
    auto p = compile(premise, environment()), c = compile(conclusion, environment());
    if (!p || !c) continue;
    if (!implies(&(*p)->root(), &(*c)->root())) continue;
    ++proved;
    bool was_true = false;
    for (int i = 0; i < 60; ++i) {
      auto object = json::parse(g.object()), old = json::parse(g.object());
      ASSERT_TRUE(object && old);
      const std::string verb = g.pick({"x", "y", "xy", ""});
      const Value variables[] = {Value::of_json(*object), Value::of_json(*old),
                                 Value::of_text(verb)};
      Evaluation one, two;
      if (!one.run(**p, variables).is_true()) continue;
      was_true = true;
      ASSERT_TRUE(two.run(**c, variables).is_true())
          << premise << "\n=> " << conclusion << "\nobject " << json::print(*object)
          << "\noldObject " << json::print(*old) << "\nverb " << verb;
    }
    exercised += was_true;
  }
  EXPECT_GT(proved, rounds / 4);
  EXPECT_GT(exercised, rounds / 8);
  RecordProperty("proved", proved);
  RecordProperty("exercised", exercised);
}

}  // namespace
}  // namespace cardea::cel

#include <gtest/gtest.h>

#include <thread>

#include "base/strings.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "cel/known_texts.h"
#include "cel/partial/partial.h"
#include "cel/syntax/parser.h"
#include "cel/syntax/print.h"
#include "json/parse.h"

namespace cardea::cel {
namespace {

std::string run(std::string_view text, Environment env = extended_environment(),
                Limits limits = {}) {
  const auto program = compile(text, std::move(env).share());
  if (!program.has_value()) return program.error().text;
  Evaluation evaluation(limits);
  const std::vector<Value> slots((*program)->environment().variables().size());
  const Value v = evaluation.run(**program, slots);
  return v.is_error() ? "error: " + std::string(v.error->message) : print_value(v);
}

TEST(Cel, EvaluatesLiteralsAndOperators) {
  EXPECT_EQ(run("1 + 2 * 3"), "7");
  EXPECT_EQ(run("'a' + \"b\""), "\"ab\"");
  EXPECT_EQ(run("[1, 2].map(x, x * 2)"), "[2, 4]");
  EXPECT_EQ(run("{'a': 1}.?b.orValue(5)"), "5");
}

TEST(Cel, ErrorsAreAbsorbedByLogicInEitherOrder) {
  EXPECT_EQ(run("1 / 0 > 0 && false"), "false");
  EXPECT_EQ(run("true || 1 / 0 > 0"), "true");
  EXPECT_EQ(run("[0, 1].exists(x, 1 / x == 1)"), "true");
  EXPECT_EQ(run("1 / 0 > 0 && true"), "error: division by zero");
}

TEST(Cel, AnErrorIsNeverAnAllow) {
  EXPECT_EQ(run("dyn('yes') && true"), "error: no such overload");
  EXPECT_EQ(run("dyn('yes') ? true : true"), "error: no such overload");
}

// A bound value is computed where its name is first used, which may be inside a loop.
TEST(Cel, AVariableBoundToALoopLeavesTheLoopAroundItsFirstUseAlone) {
  EXPECT_EQ(run("cel.bind(good, [1, 2, 3].filter(x, x > 1), [2, 3, 4].filter(y, y in good))"),
            "[2, 3]");
  EXPECT_EQ(run("cel.bind(all, {'x': 1, 'y': 2}.transformMap(k, v, v + 1), {'x': 1, 'y': "
                "2}.transformMap(k, v, all[k] + v))"),
            R"({"x": 3, "y": 5})");
  EXPECT_EQ(run("[10, 20].map(i, cel.bind(a, [1, 2].map(x, x + i), cel.bind(b, a.map(x, x * 2), "
                "[5].map(z, b.map(w, w + z + i)))))"),
            "[[[37, 39]], [[67, 69]]]");
}

TEST(Cel, ErrorsPointAtTheirPlace) {
  EXPECT_EQ(run("1 + 'a'"),
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n "
            "| 1 + 'a'\n | ..^");
  EXPECT_EQ(
      run("nobody"),
      "ERROR: <input>:1:1: undeclared reference to 'nobody' (in container '')\n | nobody\n | ^");
}

TEST(Cel, AnyTextIsAProgramOrAClearError) {
  for (const std::string_view text :
       {"",   "-", "!-",  "!-=", "a.",    "a[", "[",   "{",    "{1", "{1:", "f(",  "\"",
        "b'", "`", "1 +", "?",   "a ? b", "x{", "x{y", "-1u2", ".",  "..",  "a.?", "\\"})
    EXPECT_EQ(run(text).substr(0, 6), "ERROR:") << text;
}

TEST(Cel, DeepNestingIsRefused) {
  EXPECT_NE(run(std::string(1000, '(') + "1" + std::string(1000, ')')).find("recursion limit"),
            std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 1000; ++i) sum += "+1";
  EXPECT_NE(run(sum).find("recursion limit"), std::string::npos);
}

TEST(Cel, CostLimitsAreNotAbsorbed) {
  Limits limits;
  limits.cost = 100;
  EXPECT_EQ(run("true || [1].all(x, true)", extended_environment(), limits), "true");
  EXPECT_EQ(run("lists.range(1000).all(x, x >= 0) || true", extended_environment(), limits),
            "error: operation cancelled: actual cost limit exceeded");
}

TEST(Cel, MemoryIsLimited) {
  std::string doubling = "'0123456789012345'";
  for (int i = 0; i < 12; ++i) doubling += ".replace('', '0123456789')";
  EXPECT_EQ(run(doubling), "error: operation cancelled: memory limit exceeded");
}

TEST(Cel, FormattingWhatHoldsItselfManyTimesIsLimited) {
  Environment env = extended_environment();
  const auto shared = std::move(env).share();
  const std::pair<std::string, std::string> shapes[] = {
      {"[1, 2, 3]", "[v, v, v, v, v, v, v, v, v, v]"},
      {"{'a': 1}", "{'a': v, 'b': v, 'c': v, 'd': v, 'e': v, 'f': v, 'g': v, 'h': v}"}};
  for (const auto& [seed, around] : shapes) {
    std::string value = seed;
    for (int i = 0; i < 12; ++i) value = cat("cel.bind(v, ", value, ", ", around, ")");
    for (const std::string_view clause : {"%s", "%d"}) {
      const auto program = compile(cat("'", clause, "'.format([dyn(", value, ")]) == 'x' || true"),
                                   shared);
      ASSERT_TRUE(program.has_value()) << program.error().text;
      Limits limits;
      limits.cost = 1'000'000;
      Evaluation evaluation(limits);
      const Value result = evaluation.run(**program, {});
      // Not absorbed: passing the limit is not an error of the expression.
      if (clause == "%s")
        EXPECT_TRUE(result.is_error() && evaluation.limit_exceeded()) << print_value(result);
      else
        EXPECT_TRUE(result.is_true());
    }
  }
}

TEST(Cel, WhatIsCheapAndTakesLongStopsAtTheLimit) {
  Environment env = extended_environment();
  env.variable("a", "string");
  const auto shared = std::move(env).share();
  std::string text;
  while (text.size() < 30'000) text += "1s";
  for (const std::string_view body :
       {"duration(a) == duration(a) || true", "a.charAt(29999) == 's'"}) {
    const auto program = compile(cat("lists.range(100000).all(i, ", body, ")"), shared);
    ASSERT_TRUE(program.has_value()) << program.error().text;
    Limits limits;
    limits.cost = 1'000'000;
    Evaluation evaluation(limits);
    const Value slots[] = {Value::of_text(text)};
    EXPECT_TRUE(evaluation.run(**program, slots).is_error() && evaluation.limit_exceeded()) << body;
  }
}

TEST(Cel, ReadsJsonWhereItIs) {
  Environment env;
  env.library(Library::kStandard).variable("o", "dyn");
  const auto program = *compile("o.spec.names.exists(n, n == 'b') && o.spec.size == 2",
                                std::move(env).share());
  const json::Value document = *json::parse(R"({"spec":{"names":["a","b"],"size":2}})");
  const Value slots[] = {Value::of_json(document)};
  Evaluation evaluation;
  EXPECT_TRUE(evaluation.run(*program, slots).is_true());
  EXPECT_EQ(evaluation.arena().used(), 0u);
}

TEST(Cel, InterruptionStopsALoop) {
  Environment env;
  env.library(Library::kStandard).library(Library::kLists);
  const auto program = *compile("lists.range(100000).all(x, x >= 0)", std::move(env).share());
  std::atomic<bool> stop{true};
  Evaluation evaluation;
  evaluation.interrupt_when(&stop);
  EXPECT_EQ(evaluation.run(*program, {}).error->message, "operation interrupted");
}

TEST(Cel, BytesConcatenationMakesNewBytesEachTime) {
  // cel-go appends in place here, and so gives the last list three times.
  EXPECT_EQ(run("[1, 2].map(i, b'a' + bytes(string(i)))"), "[b\"\\141\\061\", b\"\\141\\062\"]");
}

TEST(Cel, ProgramsAreSharedBetweenThreads) {
  Environment env = kubernetes_environment();
  env.variable("request", "dyn").variable("object", "dyn");
  const auto program = *compile(
      "request.user.matches('^[a-z]+$') && request.groups.exists(g, g == object.team) && "
      "quantity(object.size).isLessThan(quantity('2Gi'))",
      std::move(env).share());
  const json::Value request = *json::parse(R"({"user":"alice","groups":["a","b"]})");
  const json::Value object = *json::parse(R"({"team":"b","size":"1Gi"})");
  const Value slots[] = {Value::of_json(request), Value::of_json(object)};
  const Unknowns unknowns = Unknowns::variables(program->environment(), {"object"});
  auto work = [&] {
    Evaluation evaluation;
    for (int i = 0; i < 500; ++i) {
      EXPECT_TRUE(evaluation.run(*program, slots).is_true());
      const Residual residual = reduce(program, slots, unknowns);
      EXPECT_TRUE(residual.run(evaluation, slots).is_true());
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
}

// The messages of cel-go 0.29: `line:column: text` of every error.
std::string errors_of(std::string_view text) {
  ParseOptions options;
  options.macros |= kOptionalMacros;
  const Parsed parsed = parse(text, options);
  std::string out;
  for (const Issue& issue : parsed.issues) {
    const auto [line, column] = parsed.source->line_and_column(issue.position);
    out += cat(out.empty() ? "" : "\n", line, ":", column, ": ", issue.message);
  }
  return out;
}

TEST(Print, ASignIsNotTakenForThatOfANumber) {
  CompileOptions unchecked;
  unchecked.check = false;
  for (const auto& [text, printed] : {std::pair("-(0.a)", "-(0.a)"),
                                      {"-(1.5.a)[2]", "-(1.5.a[2])"},
                                      {"-(-1).a", "-(-1.a)"},
                                      {"-1.a", "-1.a"},
                                      {"-(-1)", "-(-1)"},
                                      {"-a.b", "-a.b"}}) {
    const auto program = compile(text, extended_environment().share(), unchecked);
    ASSERT_TRUE(program.has_value()) << text;
    EXPECT_EQ(print((*program)->root()), printed);
    EXPECT_EQ(print((*compile(printed, extended_environment().share(), unchecked))->root()),
              printed);
  }
}

TEST(Syntax, ErrorsReadAsPeopleKnowThem) {
  const std::string operand =
      "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
      "STRING, BYTES, IDENTIFIER}";
  const std::pair<std::string, std::string> cases[] = {
      {"", "1:0: Syntax error: mismatched input '<EOF>' expecting " + operand},
      {"a &&", "1:5: Syntax error: mismatched input '<EOF>' expecting " + operand},
      {"a b", "1:3: Syntax error: extraneous input 'b' expecting <EOF>"},
      {"a b c", "1:3: Syntax error: mismatched input 'b' expecting <EOF>"},
      {"(a + 1", "1:7: Syntax error: missing ')' at '<EOF>'"},
      {"a)", "1:2: Syntax error: extraneous input ')' expecting <EOF>"},
      {"[1, 2", "1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}"},
      {"f(1, )", "1:6: Syntax error: mismatched input ')' expecting " + operand},
      {"a.", "1:3: Syntax error: no viable alternative at input '.'"},
      {"a.true", "1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"},
      {"a = b",
       "1:3: Syntax error: token recognition error at: '= '\n1:5: Syntax error: extraneous input "
       "'b' expecting <EOF>"},
      {"'abc",
       "1:1: Syntax error: token recognition error at: ''abc'\n1:5: Syntax error: mismatched input "
       "'<EOF>' expecting " +
           operand},
      {"'a\\qb'",
       "1:1: Syntax error: token recognition error at: ''a\\q'\n1:6: Syntax error: token "
       "recognition error at: '''"},
      {"a ? b", "1:6: Syntax error: mismatched input '<EOF>' expecting ':'"},
      {"a.?",
       "1:4: Syntax error: mismatched input '<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}\n1:4: "
       "unsupported ident kind"},
      {"{'a' 1}", "1:6: Syntax error: missing ':' at '1'"},
      {"-!a", "1:2: Syntax error: no viable alternative at input '-!'"},
      {"x +\n\t* y", "2:2: Syntax error: extraneous input '*' expecting " + operand},
      {"if + 1", "1:1: reserved identifier: if"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(errors_of(text), wanted) << text;
}

TEST(Syntax, ErrorsOfHostileTextsStayFew) {
  for (const std::string_view piece : {"$", "(", ")", "a b ", "[ . ", "{'", "?", "-", "!", "f(,"}) {
    std::string text;
    while (text.size() < 90'000) text += piece;
    const Parsed parsed = parse(text, {});
    EXPECT_FALSE(parsed.issues.empty()) << piece;
    EXPECT_LE(parsed.issues.size(), 200u) << piece;
    EXPECT_LT(parsed.source->format(parsed.issues).size(), 1u << 20) << piece;
  }
}

TEST(KnownTexts, CompilesEachTextOnceAndHoldsFew) {
  KnownTexts texts(extended_environment().share());
  const auto first = texts.compiled("1 + 1 == 2");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(texts.compiled("1 + 1 == 2"), first);
  EXPECT_EQ(texts.compiled("1 +"), nullptr);
  EXPECT_EQ(texts.compiled("1 +"), nullptr);
  EXPECT_EQ(texts.size(), 2u);
  for (std::size_t i = 0; i < 3'000; ++i) {
    ASSERT_NE(texts.compiled(cat(i, " > 0")), nullptr);
    ASSERT_LE(texts.size(), KnownTexts::kMostBytes / 1'024);
  }
  EXPECT_NE(first, nullptr);  // stays alive for its user
}

}  // namespace
}  // namespace cardea::cel

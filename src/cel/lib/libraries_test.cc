#include <gtest/gtest.h>

#include "base/strings.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "cel/syntax/print.h"
#include "json/parse.h"

// Values and costs that cel-go 0.29 gives in Kubernetes' environment.
namespace cardea::cel {
namespace {

struct Answer {
  std::string value;
  std::uint64_t cost = 0;
};

Answer run(std::string_view text, std::string_view data = "null") {
  Environment env = kubernetes_environment();
  env.variable("o", "dyn");
  const auto program = compile(text, std::move(env).share());
  if (!program.has_value()) return {program.error().text, 0};
  const auto document = json::parse(data);
  std::vector<Value> slots((*program)->environment().variables().size());
  slots[(*program)->environment().find_variable("o")->slot] = Value::of_json(*document);
  Evaluation evaluation;
  const Value v = evaluation.run(**program, slots);
  return {v.is_error() ? "error: " + std::string(v.error->message) : print_value(v),
          evaluation.cost()};
}
std::string value(std::string_view text) {
  return run(text).value;
}

TEST(Libraries, AnAmountBecomesADoubleAsInGo) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"(quantity("50k"))", "50000.0"},
      {R"(quantity("-500m"))", "-0.5"},
      {R"(quantity("2.675").sub(quantity("1e23").sub(quantity("0.7k"))))",
       "-1.0000000000000001e+23"},
      {R"(quantity("7P").sub(quantity("2018n").sub(quantity("100n"))))", "7000000000000001.0"},
      {R"(quantity("943488026").sub(quantity("0.93554333236m")))", "943488025.9990646"},
      {R"(quantity("10Ei"))", "9.223372036854776e+18"},
      // What is made of amounts is not cut to 64 bits.
      {R"(quantity("12Mi").sub(quantity("18446744073709551616").sub(0)))",
       "-1.844674407369697e+19"},
  };
  for (const auto& [amount, wanted] : cases) {
    const std::string text = value(std::string(amount) + ".asApproximateFloat()");
    EXPECT_EQ(std::stod(text), std::stod(std::string(wanted))) << amount << " " << text;
  }
  EXPECT_EQ(value(R"(quantity("12Mi").sub(quantity("1e30")).isLessThan(quantity("-1e29")))"),
            "true");
}

TEST(Libraries, AnAmountThatNoTextCanSayIsAnError) {
  EXPECT_EQ(value(R"(quantity("100e1000").add(0))"), "error: the amount is too large");
  EXPECT_EQ(value(R"(quantity("0").sub(quantity("100e1000")))"), "error: the amount is too large");
  EXPECT_EQ(value(R"(quantity("1e-9999999999").isLessThan(quantity("1")))"), "true");
  EXPECT_EQ(value(R"(quantity("1.5e-2147483648").asApproximateFloat() < 1.0)"), "true");
}

TEST(Libraries, ATextWithoutCharactersHasOneEmptyMatch) {
  EXPECT_EQ(value(R"(url("https://h/").getPort().findAll(".*"))"), R"([""])");
  EXPECT_EQ(value(R"("".findAll("^"))"), R"([""])");
  EXPECT_EQ(value(R"("ab".findAll("b|"))"), R"(["", "b"])");
}

TEST(Libraries, OnlyWhatIsNotAsciiIsEscapedInAHost) {
  EXPECT_EQ(value(R"(isURL("http://%41b/"))"), "false");
  EXPECT_EQ(value(R"(isURL("http://%C3%A4/"))"), "true");
  EXPECT_EQ(value(R"(isURL("http://[fe80::1%25en0]/"))"), "true");
  EXPECT_EQ(value(R"(isURL("http://h/%41"))"), "true");
}

TEST(Libraries, LastIndexesCountCharacters) {
  EXPECT_EQ(value(R"("日本語日本".lastIndexOf("日"))"), "3");
  EXPECT_EQ(value(R"("日本語日本".lastIndexOf("日", 2))"), "0");
  EXPECT_EQ(value(R"("ä😀ä".lastIndexOf("ä", 9))"), "-1");
}

TEST(Libraries, SortingWhatHasNoTypeCostsOne) {
  EXPECT_EQ(run("o.l.sort()", R"({"l": [3, 1, 2]})").cost, 3U);
  EXPECT_EQ(run("[3, 1, 2].sort()").cost, 29U);
  // A function that Kubernetes counts by its name costs the same without types.
  EXPECT_EQ(run("o.l.max()", R"({"l": [3, 1, 2]})").cost, 5U);
  EXPECT_EQ(run("cidr('::/0').containsIP(o)", R"("2001:db8::abcd")").cost, 2U);
  EXPECT_EQ(run("cidr('::/0').containsIP('2001:db8::abcd')").cost, 3U);
}

TEST(Libraries, FormatsSayWhatKubernetesSays) {
  const std::string long_label(64, 'a');
  EXPECT_EQ(value("format.dns1123Label().validate('a.b').value()"), R"(["must not contain dots"])");
  EXPECT_EQ(value("format.dns1123LabelPrefix().validate('a.b-').value()"),
            R"(["must not contain dots"])");
  for (const std::string_view name : {"dns1123LabelPrefix", "dns1035LabelPrefix", "dns1123Label"})
    EXPECT_EQ(value(cat("format.", name, "().validate('", long_label, "').value()")),
              R"(["must be no more than 63 characters"])");
  EXPECT_EQ(value(cat("format.labelValue().validate('", long_label, "').value()")),
            R"(["must be no more than 63 bytes"])");
  const std::string long_name(254, 'a');
  EXPECT_EQ(value(cat("format.dns1123Subdomain().validate('", long_name, "').value()")),
            R"(["must be no more than 253 characters"])");
  EXPECT_EQ(value(cat("format.qualifiedName().validate('", long_name, "/a').value()")),
            R"(["prefix part must be no more than 253 bytes"])");
}

TEST(Libraries, WhatIsNoNumberIsFilledUpInScientificForm) {
  EXPECT_EQ(value(R"('%e'.format([double("infinity")]))"), R"("     ∞")");
  EXPECT_EQ(value(R"('%.2e'.format([-double("infinity")]))"), R"("-∞")");
  EXPECT_EQ(value(R"('%f'.format([double("infinity")]))"), R"("∞")");
}

TEST(Libraries, AFormatIsCheckedBeforehandOnlyWithAWrittenList) {
  EXPECT_EQ(value("'%q'.format(['a'])").substr(0, 6), "ERROR:");
  EXPECT_EQ(value("'%q'.format(dyn(['a']))").substr(0, 6), "error:");
}

TEST(Libraries, OnlyWrittenArgumentsAreCheckedBeforehand) {
  EXPECT_EQ(value(R"(timestamp(-62135596801))").substr(0, 31), "ERROR: <input>:1:11: invalid ti");
  EXPECT_EQ(value(R"(timestamp(253402300800))").substr(0, 31), "ERROR: <input>:1:11: invalid ti");
  EXPECT_EQ(value(R"(duration("1"))").substr(0, 19), "ERROR: <input>:1:10");
  EXPECT_EQ(value(R"(duration(string(timestamp("1969-12-31T23:59:59Z"))))").substr(0, 6), "error:");
}

// What a call may do follows its cost, also where cel-go counts one for a call that reads a lot.
TEST(Libraries, NoCallDoesMoreThanTheLimitOfCostAllows) {
  json::Value o = json::Value::object();
  o.set("text", json::Value(std::string(3 << 20, 'a')));
  o.set("url", json::Value("http://h/" + std::string(3 << 20, '"')));
  json::Value list = json::Value::array();
  for (std::int64_t i = 0; i < 200'000; ++i) list.push_back(json::Value(i * 7919 % 200'000));
  o.set("list", list);
  Limits limits;
  limits.cost = 10'000;
  for (const std::string_view text :
       {"isURL(o.url)", "url(o.url)", "o.list.sort()", "[o.list, o.list].flatten()",
        "o.text.findAll('')", "o.text.replace('', 'b')", "'%s'.format([[o.text]])", "ip(o.text)",
        "'a'.matches(o.text)", "'a'.find(o.text)", "quantity(o.text)", "strings.quote(o.text)",
        "o.text.split('a')", "duration(o.text)", "double(o.text)", "o.list + o.list",
        "format.uri().validate(o.url)", "o.text + o.text", "o.list.distinct()"}) {
    Environment env = kubernetes_environment();
    env.variable("o", "dyn");
    const auto program = compile(text, std::move(env).share());
    ASSERT_TRUE(program.has_value()) << text;
    std::vector<Value> slots((*program)->environment().variables().size());
    slots[(*program)->environment().find_variable("o")->slot] = Value::of_json(o);
    Evaluation evaluation(limits);
    const Value v = evaluation.run(**program, slots);
    EXPECT_TRUE(v.is_error() && evaluation.limit_exceeded()) << text;
    EXPECT_EQ(v.is_error() ? v.error->message : "",
              "operation cancelled: actual cost limit exceeded")
        << text;
  }
}

TEST(Libraries, APatternThatFitsNoMemoryIsAnErrorOfTheExpression) {
  Limits limits;
  Environment env = kubernetes_environment();
  env.variable("o", "dyn");
  const auto program = compile("'a'.matches(o)", std::move(env).share());
  const json::Value pattern(std::string(100'001, 'a'));
  std::vector<Value> slots((*program)->environment().variables().size());
  slots[(*program)->environment().find_variable("o")->slot] = Value::of_json(pattern);
  Evaluation evaluation(limits);
  const Value v = evaluation.run(**program, slots);
  EXPECT_TRUE(v.is_error() && !evaluation.limit_exceeded());
}

}  // namespace
}  // namespace cardea::cel

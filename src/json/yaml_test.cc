#include "json/yaml.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/print.h"

namespace cardea::json {
namespace {

std::string as_json(std::string_view text) {
  auto d = parse_yaml(text, 1 << 20);
  return d ? print(d->value) : d.error().message;
}

TEST(Yaml, ResolvesScalarsAsKubernetesDoes) {
  EXPECT_EQ(as_json("[yes, on, TRUE, no, off, y]"), "[true,true,true,false,false,true]");
  EXPECT_EQ(as_json("[0777, 0o777, 0x1F, 0b101, 1_000, -5, +5, 08]"), "[511,511,31,5,1000,-5,5,8]");
  EXPECT_EQ(as_json("[1.5, 1e3, .5, 1_0.5]"), "[1.5,1000,0.5,10.5]");
  EXPECT_EQ(as_json("['yes', \"1\", !!str 5]"), R"(["yes","1","5"])");
  EXPECT_EQ(as_json("[~, null, ]"), "[null,null]");
  EXPECT_EQ(as_json("a: 2001-01-01\nb: 1.2.3"), R"({"a":"2001-01-01","b":"1.2.3"})");
}

TEST(Yaml, KeysBecomeStrings) {
  EXPECT_EQ(as_json("1: a\ntrue: b\n'2': c"), R"({"1":"a","2":"c","true":"b"})");
}

TEST(Yaml, ReportsDuplicateKeysAndKeepsTheLast) {
  auto d = parse_yaml("a: 1\nb:\n- c: 1\n  c: 2\na: 3\n", 1000);
  ASSERT_TRUE(d);
  EXPECT_EQ(print(d->value), R"({"a":3,"b":[{"c":2}]})");
  EXPECT_EQ(d->duplicates, (std::vector<std::string>{"b[0].c", "a"}));
}

TEST(Yaml, ExpandsAliasesAndMergesWithinTheBudget) {
  EXPECT_EQ(as_json("x: &a {k: 1}\nw: *a\nz:\n  <<: *a\n  l: 2\n"),
            R"({"w":{"k":1},"x":{"k":1},"z":{"k":1,"l":2}})");
}

TEST(Yaml, AFewLinesCannotStandForGigabytes) {
  std::string bomb = "a0: &a0 [xxxxxxxx,xxxxxxxx]\n";
  for (int i = 1; i < 40; ++i) {
    std::string prev = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + prev + "," + prev + "]\n";
  }
  EXPECT_EQ(as_json(bomb), "yaml: document contains excessive aliasing");
}

TEST(Yaml, AliasesCountAsDeepAsWhatTheyStandFor) {
  // Each line is 400 deep in itself, and holds the line before it.
  auto lines = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += cat("k", i, ": &a", i, " ", std::string(400, '['),
                  i == 0 ? std::string("1") : cat("*a", i - 1), std::string(400, ']'), "\n");
    return text;
  };
  EXPECT_TRUE(parse_yaml(lines(2), 1 << 20));
  EXPECT_EQ(as_json(lines(3)), "yaml: exceeded max depth");
  EXPECT_EQ(as_json(lines(2) + "m:\n  <<: {x: " + std::string(300, '[') + "*a1" +
                    std::string(300, ']') + "}\n"),
            "yaml: exceeded max depth");
}

TEST(Yaml, SaysWhereItIsBroken) {
  EXPECT_EQ(as_json("a: 1\n\tb: 2\n").substr(0, 6), "yaml: ");
  EXPECT_EQ(as_json("? [a]\n: b"), "yaml: keys must be scalars");
}

// The content of a configuration file; "refused: reason" if it is not accepted.
std::string configured(std::string_view text, FlowStyle flow = FlowStyle::kRefused) {
  auto document = parse_configuration(text, 1 << 20, flow);
  return document ? print(document->value) : cat("refused: ", document.error().message);
}
constexpr std::string_view
    kMore = "the file has more than one document, or something after its end";

TEST(Configuration, IsOneDocument) {
  EXPECT_EQ(configured("a: 1\nb: [x, z]\n"), R"({"a":1,"b":["x","z"]})");
  EXPECT_EQ(configured("---\na: 1\n"), R"({"a":1})");
  EXPECT_EQ(configured("# one\n---\n# two\na: 1\n...\n"), R"({"a":1})");
  EXPECT_EQ(configured(" {\"a\": 1}\n"), R"({"a":1})");
  EXPECT_EQ(configured("\xEF\xBB\xBF{\"a\": 1}"), R"({"a":1})");
  EXPECT_EQ(configured("\xEF\xBB\xBF"
                       "a: 1"),
            R"({"a":1})");
  EXPECT_EQ(configured("a: {b: 1}\r\nc: [1]\r\n"), R"({"a":{"b":1},"c":[1]})");
}

TEST(Configuration, NothingFollowsTheDocument) {
  EXPECT_EQ(configured("a: 1\n---\nb: 2\n"), cat("refused: yaml: line 3: ", kMore));
  EXPECT_EQ(configured("a: 1\n...\nb: 2\n"), cat("refused: yaml: line 3: ", kMore));
  EXPECT_EQ(configured("a: 1\n---\n---\n---\nb: 2\n"), cat("refused: yaml: line 5: ", kMore));
  EXPECT_EQ(configured("a: 1\n--- [b]\n"), cat("refused: yaml: line 2: ", kMore));
  EXPECT_EQ(configured("# a comment before it\n{a: 1}\nanonymous: {enabled: false}\n"),
            cat("refused: yaml: line 3: ", kMore));
  EXPECT_EQ(configured("--- {a: 1}\nb\n"), cat("refused: yaml: line 2: ", kMore));
  for (std::string_view text :
       {"{\"a\": 1}\nanonymous: {enabled: false}", "{\"a\": 1} {\"a\": 2}",
        "{\"a\": 1}\n---\n{\"a\": 2}", "{\"a\": 1}]", "{\"a\": 1}\n# a comment", "{\"a\": 1},",
        "\xEF\xBB\xBF{\"a\": 1} x", "{\"a\": 1}\xEF\xBB\xBF", "{\"a\": 1}...", "a: 1\n---\n\t\"",
        "a: 1\n--- \"not closed"}) {
    EXPECT_TRUE(configured(text).starts_with("refused: ")) << text;
    EXPECT_TRUE(configured(text, FlowStyle::kAllowed).starts_with("refused: ") ||
                text.ends_with("comment") || text.ends_with("..."))
        << text;
  }
}

TEST(Configuration, DocumentsThatSayNothingMayFollow) {
  EXPECT_EQ(configured("a: 1\n---\n"), R"({"a":1})");
  EXPECT_EQ(configured("a: 1\n---\n# the end\n...\n"), R"({"a":1})");
}

TEST(Configuration, HasNoMerges) {
  constexpr std::string_view kMerges = "merge keys (<<) are not allowed in a configuration file";
  EXPECT_EQ(configured("a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n"),
            cat("refused: yaml: line 3: ", kMerges));
  EXPECT_EQ(configured("a: &a {x: 1}\nb:\n  <<: [*a]\n"), cat("refused: yaml: line 3: ", kMerges));
  EXPECT_EQ(configured("<<: {x: 1}\n"), cat("refused: yaml: line 1: ", kMerges));
  EXPECT_EQ(configured("a: &a {x: 1}\nb: *a\n"), R"({"a":{"x":1},"b":{"x":1}})");
}

TEST(Configuration, HasNoTrailingCommas) {
  for (std::string_view text :
       {"{\"a\": 1,}", "a: [1,]", "a: [1 , ]", "a: {b: 1,}", "a: {b: [1, 2,\n  ]}",
        "a: [1, # the last\n ]", "é: ['it''s', \"\\\"\",]", "a: ['#', # ]\n  x,\n]",
        "- [a]\n- [b,]", "a: [it's, 'x',]", "a: {b: 'c,]', d: e,}", "a: [ü, [], ]"})
    EXPECT_TRUE(configured(text).starts_with("refused: ")) << text;
  EXPECT_EQ(
      configured("a: ['x,]', \"y,}\", it's, u#v, 'don''t,]', 'e'] # ,]\nb: x,]\nc: |\n  [1,]\nd: "
                 "[[1], {e: f}]\n"),
      R"({"a":["x,]","y,}","it's","u#v","don't,]","e"],"b":"x,]","c":"[1,]\n",)"
      R"("d":[[1],{"e":"f"}]})");
}

TEST(Configuration, CommasAreLookedForWhereCollectionsBegin) {
  EXPECT_EQ(configured("a: |\r\n  éééééééééééééééé,]\r\nb: [1]\r\nc: x,}\r\n"),
            R"({"a":"éééééééééééééééé,]\n","b":[1],"c":"x,}"})");
  EXPECT_EQ(configured("\xEF\xBB\xBF"
                       "a: é,]\nb: [1]\n"),
            R"({"a":"é,]","b":[1]})");
  EXPECT_TRUE(
      configured("a: |\r\n  éééééééééééééééé\r\nb: [1]\r\nc: [2,]\r\n").starts_with("refused: "));
}

TEST(Configuration, IsText) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(configured("a: \xff").starts_with("refused: "));
  EXPECT_TRUE(configured("\xff\xfe"
                         "a\0:\0 \0"
                         "1\0"sv)
                  .starts_with("refused: "));
  EXPECT_TRUE(configured("a: 1\0\nb: 2"sv).starts_with("refused: "));
}

TEST(Configuration, HasNoLineThatOnlyOneReaderSees) {
  for (std::string_view end :
       {"\r", "\u0085", "\u2028", "\u2029", "\x0b", "\x0c", "\x1b", "\x7f", "\u0084"}) {
    EXPECT_EQ(configured(cat("a: 1\n# note", end, "anonymous: {enabled: false}\n")),
              "refused: yaml: line 2: control characters are not allowed");
    EXPECT_TRUE(
        configured(cat("a: 1 # note", end, "b: 2"), FlowStyle::kAllowed).starts_with("refused: "));
    EXPECT_TRUE(configured(cat("# note", end, "{\"a\": 1}")).starts_with("refused: "));
  }
  EXPECT_EQ(configured("a: 1\r\n# note\r\nb:\t\"\\u2028\"\r\n"), "{\"a\":1,\"b\":\"\u2028\"}");
}

TEST(Configuration, HasNoTags) {
  for (std::string_view value :
       {"!!int false", "!foo x", "!!str 1", "!!str null", "!!str ~", "!!str", "!!map {a: 1}",
        "!x [1]", "!<tag:yaml.org,2002:str> 1", "&a !!bool x", "!!binary YQ=="})
    EXPECT_EQ(configured(cat("a: ", value, "\n")),
              "refused: yaml: line 1: tags (!) are not allowed in a configuration file")
        << value;
  EXPECT_TRUE(configured("!!str a: 1\n").starts_with("refused: "));
  EXPECT_TRUE(configured("%TAG ! tag:x,2000:\n---\na: !y 1\n").starts_with("refused: "));
  EXPECT_EQ(configured("a: \"!!int 1\"\nb: x!y\nc: '!'\n"), R"({"a":"!!int 1","b":"x!y","c":"!"})");
}

TEST(Configuration, OnlyCommentsFollowItsEnd) {
  EXPECT_EQ(configured("a: 1\n... # the end\n\n# really\n"), R"({"a":1})");
  EXPECT_EQ(configured("a: ...\nb: |\n  ...\n  x\n...x: 1\n"),
            R"({"...x":1,"a":"...","b":"...\nx\n"})");
  for (std::string_view more :
       {"%FOO anonymous enabled true", "%YAML 1.2\n---", "---", "x", "...", "\"", "- "})
    EXPECT_TRUE(configured(cat("a: 1\n...\n", more, "\n")).starts_with("refused: ")) << more;
}

TEST(Configuration, RepeatsNothingWhereThatIsAsked) {
  EXPECT_EQ(parse_strict_configuration("a: 1\na: 2\n", 100).error().message,
            "yaml: unmarshal errors:\n  line 2: key \"a\" already set in map");
  EXPECT_EQ(parse_strict_configuration(R"({"a":1,"a":2})", 100).error().message,
            "duplicate field \"a\"");
  EXPECT_EQ(print(*parse_strict_configuration("{a: 1}", 100, FlowStyle::kAllowed)), R"({"a":1})");
}

TEST(Yaml, PrintsWhatItReadsBack) {
  auto v = parse(
      R"({"a":"yes","b":["1",{"c":"x: y","d":[]},[1,2]],"e":{"f":null},"g":"line\nbreak",)"
      R"("h":"plain text"})");
  ASSERT_TRUE(v);
  EXPECT_EQ(as_json(print_yaml(*v)), print(*v)) << print_yaml(*v);
}

TEST(PrintYaml, WritesWhatPeopleKnowFromKubernetes) {
  auto v = parse(
      R"({"k:{\"port\":443}":1,"k:{\"port\":81}":2,"host":"*.x.y","empty":"","yes":"true","n":"12",
    "time":"2026-01-01T00:00:00Z","text":"a\nb\n","tail":"a\nb",
    "list":[{"a":1,"b":[]},"- x","a: b","it's: so"],"dash":"-x","null":null})");
  EXPECT_EQ(print_yaml(*v), R"(dash: -x
empty: ""
host: '*.x.y'
k:{"port":81}: 2
k:{"port":443}: 1
list:
- a: 1
  b: []
- '- x'
- 'a: b'
- 'it''s: so'
"n": "12"
"null": null
tail: |-
  a
  b
text: |
  a
  b
time: "2026-01-01T00:00:00Z"
"yes": "true"
)");
  EXPECT_EQ(as_json(print_yaml(*v)), print(*v));
}

TEST(Configuration, HasAByteOrderMarkAtItsBeginningOrNowhere) {
  EXPECT_TRUE(
      parse_configuration("\xEF\xBB\xBF"
                          "a: 1\n",
                          1 << 16));
  EXPECT_FALSE(
      parse_configuration("\xEF\xBB\xBF\xEF\xBB\xBF"
                          "a: 1\n",
                          1 << 16));
  EXPECT_FALSE(
      parse_configuration("a: 1\n\xEF\xBB\xBF"
                          "b: 2\n",
                          1 << 16));
}

TEST(Yaml, ReadsJsonAsYamlDoes) {
  for (auto text :
       {R"({"a":[1,-2,true,null,"x"],"b":{"c":"1"}})", R"({"a":1.0})", R"({"a":1e3})",
        R"({"a":{"<<":{"b":1}}})", R"({"a":1,"a":2})", "{a: b, c: [1, 2]}", R"({"a":"\u00e4"})"}) {
    auto direct = parse_yaml(text, 1 << 16);
    auto indented = parse_yaml("\n" + std::string(text), 1 << 16);
    ASSERT_TRUE(direct && indented) << text;
    EXPECT_EQ(print(direct->value), print(indented->value));
    EXPECT_EQ(direct->duplicates, indented->duplicates);
    EXPECT_EQ(direct->duplicate_lines.size(), indented->duplicate_lines.size());
  }
}

}  // namespace
}  // namespace cardea::json

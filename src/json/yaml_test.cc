#include "json/yaml.h"

#include <gtest/gtest.h>

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

TEST(Yaml, KeysBecomeStrings) { EXPECT_EQ(as_json("1: a\ntrue: b\n'2': c"), R"({"1":"a","2":"c","true":"b"})"); }

TEST(Yaml, ReportsDuplicateKeysAndKeepsTheLast) {
  auto d = parse_yaml("a: 1\nb:\n- c: 1\n  c: 2\na: 3\n", 1000);
  ASSERT_TRUE(d);
  EXPECT_EQ(print(d->value), R"({"a":3,"b":[{"c":2}]})");
  EXPECT_EQ(d->duplicates, (std::vector<std::string>{"b[0].c", "a"}));
}

TEST(Yaml, ExpandsAliasesAndMergesWithinTheBudget) {
  EXPECT_EQ(as_json("x: &a {k: 1}\nw: *a\nz:\n  <<: *a\n  l: 2\n"), R"({"w":{"k":1},"x":{"k":1},"z":{"k":1,"l":2}})");
}

TEST(Yaml, AFewLinesCannotStandForGigabytes) {
  std::string bomb = "a0: &a0 [xxxxxxxx,xxxxxxxx]\n";
  for (int i = 1; i < 40; ++i) {
    std::string prev = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + prev + "," + prev + "]\n";
  }
  EXPECT_EQ(as_json(bomb), "yaml: document contains excessive aliasing");
}

TEST(Yaml, SaysWhereItIsBroken) {
  EXPECT_EQ(as_json("a: 1\n\tb: 2\n").substr(0, 6), "yaml: ");
  EXPECT_EQ(as_json("? [a]\n: b"), "yaml: keys must be scalars");
}

TEST(Yaml, PrintsWhatItReadsBack) {
  auto v = parse(R"({"a":"yes","b":["1",{"c":"x: y","d":[]},[1,2]],"e":{"f":null},"g":"line\nbreak","h":"plain text"})");
  ASSERT_TRUE(v);
  EXPECT_EQ(as_json(print_yaml(*v)), print(*v)) << print_yaml(*v);
}

TEST(PrintYaml, WritesWhatPeopleKnowFromKubernetes) {
  auto v = parse(R"({"k:{\"port\":443}":1,"k:{\"port\":81}":2,"host":"*.x.y","empty":"","yes":"true","n":"12",
    "time":"2026-01-01T00:00:00Z","text":"a\nb\n","tail":"a\nb","list":[{"a":1,"b":[]},"- x","a: b","it's: so"],"dash":"-x","null":null})");
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

}  // namespace
}  // namespace cardea::json

#include "cel/conform/conform.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace cardea::cel::conform {
namespace {

Cases cases(std::string_view text) {
  Cases all;
  const auto document = json::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  for (const json::Value& c : document->items()) all.push_back(c);
  return all;
}
void expect_all(const Counts& counts, int passed) {
  EXPECT_EQ(counts.passed, passed);
  EXPECT_EQ(counts.failed, 0);
}

TEST(Conform, PatchesAreAppliedAsAPolicyAppliesThem) {
  expect_all(run_library_cases(cases(R"json([
    {"lib": "jsonpatch", "name": "replace in a list", "object": {"spec": {"l": ["a", "b"]}},
     "expr": "[JSONPatch{op: 'replace', path: '/spec/l/0', value: 'x'}]",
     "expected_object_after_patch": {"spec": {"l": ["x", "b"]}}},
    {"lib": "jsonpatch", "name": "replace what is not there", "object": {"spec": {}},
     "expr": "[JSONPatch{op: 'replace', path: '/spec/n', value: 1}]",
     "expected_object_after_patch": {"spec": {"n": 1}}},
    {"lib": "jsonpatch", "name": "replace behind the end", "object": {"spec": {"l": ["a"]}},
     "expr": "[JSONPatch{op: 'replace', path: '/spec/l/-', value: 'x'}]", "match": "substring",
     "error": "replace operation does not apply: doc is missing key: /spec/l/-: missing value"},
    {"lib": "jsonpatch", "name": "a test that fails", "object": {"spec": {"n": 1}},
     "expr": "[JSONPatch{op: 'test', path: '/spec/n', value: 2}]",
     "expected_object_after_patch": {"spec": {"n": 1}}}])json")),
             4);
}

TEST(Conform, APatchThatAppliesWhereAnErrorIsExpectedFails) {
  EXPECT_EQ(run_library_cases(cases(R"json([
    {"lib": "jsonpatch", "name": "n", "object": {"spec": {"n": 1}}, "match": "substring",
     "expr": "[JSONPatch{op: 'remove', path: '/spec/n'}]", "error": "missing"}])json"))
                .failed,
            1);
}

TEST(Conform, LastIndexesOfTheSuiteCountCharacters) {
  ErrorTexts texts;
  expect_all(run_cases(cases(R"json([
    {"file": "string_ext", "section": "s", "name": "n", "expr": "'tä日本日'.lastIndexOf('日', 3)",
     "expected": {"value": {"int": "2"}}},
    {"file": "string_ext", "section": "s", "name": "n", "expr": "'tä日本日'.lastIndexOf('日', 6)",
     "expected": {"error": "index out of range: 6"}}])json"),
                       texts),
             2);
}

TEST(Conform, FieldsHaveTheTypesAndTextsOfTheirSchema) {
  const std::string embedded = R"json("schema": {"type": "object", "properties": {
      "e": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object",
          "properties": {"name": {"type": "string"}, "generateName": {"type": "string"},
                         "namespace": {"type": "string"}}}}},
      "bare": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
        "metadata": {"type": "object", "properties": {"namespace": {"type": "string"}}}}},
      "at": {"type": "string", "format": "date-time"},
      "n": {"x-kubernetes-int-or-string": true}}},
    "self": {"e": {"metadata": {"name": "x", "namespace": "space"}}, "bare": {"metadata": {}},
             "at": "2011-08-18T19:03:37.01+01:00", "n": true})json";
  auto with = [&](std::string_view expr, std::string_view outcome) {
    return std::string(R"([{"lib": "crd", "name": "n", "match": "substring", )") + embedded +
           R"(, "expr": ")" + std::string(expr) + R"(", )" + std::string(outcome) + "}]";
  };
  const std::pair<std::string_view, std::string_view> all[] = {
      {"has(self.e.metadata.namespace)", R"("expected": {"bool": true})"},
      {"self.e.metadata.namespace == 'space'", R"("expected": {"bool": true})"},
      {"has(self.bare.metadata.namespace)", R"("compile_error": "undefined field 'namespace'")"},
      {"string(self.at)", R"("expected": {"string": "2011-08-18T19:03:37.01+01:00"})"},
      {"string(self.at + duration('1s'))", R"("expected": {"string": "2011-08-18T18:03:38.01Z"})"},
      {"has(self.n)", R"("error": "expected XIntOrString value to be either a string or integer")"},
  };
  for (const auto& [expr, outcome] : all)
    expect_all(run_library_cases(cases(with(expr, outcome))), 1);
}

}  // namespace
}  // namespace cardea::cel::conform

#include "json/value.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/edited_object.h"
#include "json/field_error.h"
#include "json/members.h"
#include "json/parse.h"
#include "json/print.h"
#include "json/print_as_go.h"

namespace cardea::json {
namespace {

Value must(std::string_view text) {
  auto v = parse(text);
  EXPECT_TRUE(v) << v.error().message;
  return v ? *v : Value();
}

std::string error_of(std::string_view text) {
  auto v = parse(text);
  return v ? "no error" : v.error().message;
}

TEST(Value, EditingACopyLeavesTheOriginalAlone) {
  Value a = must(R"({"metadata":{"labels":{"x":"1"}},"list":[1,2]})");
  Value b = a;
  b.member("metadata").member("labels").set("y", "2");
  b.member("list").push_back(3);
  EXPECT_EQ(print(a), R"({"list":[1,2],"metadata":{"labels":{"x":"1"}}})");
  EXPECT_EQ(print(b), R"({"list":[1,2,3],"metadata":{"labels":{"x":"1","y":"2"}}})");
}

TEST(Value, SharesWhatDidNotChange) {
  Value a = must(R"({"big":{"a":1},"small":1})");
  Value b = a;
  b.set("small", 2);
  EXPECT_TRUE(a["big"].same(b["big"]));
  EXPECT_FALSE(a == b);
}

TEST(Value, ReadsMissingThingsAsNull) {
  Value v = must(R"({"a":{"b":1}})");
  EXPECT_EQ(v["a"]["b"].as_int(), 1);
  EXPECT_TRUE(v["x"]["y"][3]["z"].is_null());
}

TEST(Value, KeepsShortAndLongText) {
  for (std::size_t n : {0u, 1u, 13u, 14u, 15u, 16u, 1000u}) {
    std::string text(n, 'x');
    EXPECT_EQ(Value(text).as_string(), text);
    EXPECT_EQ(Value(text), Value(text));
  }
}

TEST(Parse, LastOfDuplicateKeysWinsAndEachIsReported) {
  auto d = parse_document(R"({"a":1,"b":{"c":[{"d":1,"d":2}]},"a":3,"a":4})");
  ASSERT_TRUE(d);
  EXPECT_EQ(print(d->value), R"({"a":4,"b":{"c":[{"d":2}]}})");
  EXPECT_EQ(d->duplicates, (std::vector<std::string>{"b.c[0].d", "a", "a"}));
}

TEST(Parse, NumbersAsKubernetesReadsThem) {
  EXPECT_EQ(must("9223372036854775807").as_int(), INT64_MAX);
  EXPECT_TRUE(must("9223372036854775808").is_double());
  EXPECT_TRUE(must("1.0").is_double());
  EXPECT_EQ(print(must("[1.5,1e3,1e21,1e-7,-0.0,100000000000000000000]")),
            "[1.5,1000,1e+21,1e-7,0,100000000000000000000]");
  EXPECT_EQ(error_of("1e999"), "cannot represent number 1e999 as a 64-bit float");
  EXPECT_EQ(must("1e-999").as_double(), 0);
}

TEST(Parse, StringsAreUnescapedAndChecked) {
  EXPECT_EQ(must(R"("a\n\u00e9\ud83d\ude00\/")").as_string(), "a\n\xc3\xa9\xf0\x9f\x98\x80/");
  EXPECT_EQ(error_of(R"("\ud800")"), "invalid JSON string: lone surrogate");
  EXPECT_EQ(error_of(R"("\udc00")"), "invalid JSON string: lone surrogate");
  EXPECT_EQ(error_of("\"\xff\""), "invalid JSON string: invalid UTF-8");
  EXPECT_EQ(error_of("\"a\nb\""), "invalid character '\\n' in string literal");
}

TEST(Parse, ErrorsAreWordedAsClientsKnowThem) {
  EXPECT_EQ(error_of(""), "unexpected end of JSON input");
  EXPECT_EQ(error_of("{"), "unexpected end of JSON input");
  EXPECT_EQ(error_of("{\"a\" 1}"), "invalid character '1' after object key");
  EXPECT_EQ(error_of("{a:1}"), "invalid character 'a' looking for beginning of object key string");
  EXPECT_EQ(error_of("[1 2]"), "invalid character '2' after array element");
  EXPECT_EQ(error_of("{} x"), "invalid character 'x' after top-level value");
  EXPECT_EQ(error_of("nul"), "unexpected end of JSON input");
  EXPECT_EQ(error_of("tru3"), "invalid character '3' in literal true (expecting 'e')");
}

TEST(Parse, DeepNestingIsAnErrorNotACrash) {
  EXPECT_EQ(error_of(std::string(1'000'000, '[')), "exceeded max depth");
  std::string deep = std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']');
  EXPECT_EQ(print(must(deep)), deep);
}

TEST(Print, PutsKindAndMetadataFirst) {
  EXPECT_EQ(
      print_object(must(R"({"data":{"metadata":{}},"metadata":{"name":"a"},"apiVersion":"v1",)"
                        R"("kind":"ConfigMap"})")),
      R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"metadata":{}}})");
  EXPECT_EQ(print_object(Value::object()), "{}");
}

// Clients in Go compare the data of a ControllerRevision with their own bytes.
TEST(Print, EscapesTheTextsOfAnObjectAsGoDoes) {
  Value text("<a href=\"x\">&\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x82\xac\b\f\x01\x7f");
  constexpr char kAsGo[] = R"("\u003ca href=\"x\"\u003e\u0026\u2028\u2029)"
                           "\xe2\x80\xaa\xe2\x82\xac"
                           R"(\b\f\u0001)"
                           "\x7f\"";
  EXPECT_EQ(print_as_go(text), kAsGo);
  EXPECT_EQ(print_object(Value::object({{"a&b", text}})), cat(R"({"a\u0026b":)", kAsGo, "}"));
  EXPECT_EQ(must(kAsGo), text);
  EXPECT_EQ(print(Value("a < b && c")), R"("a < b && c")");
  for (std::string_view cut : {"\xe2", "\xe2\x80"})  // not text, but within bounds
    EXPECT_EQ(print_as_go(Value(cut)), cat("\"", cut, "\""));
}

TEST(FieldError, SpeaksAsKubernetesDoes) {
  EXPECT_EQ(invalid("spec.replicas", -1, "must be greater than or equal to 0").message(),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
  auto e = invalid_object("apps", "Deployment", "d",
                          {required("spec.selector"), forbidden("a", "no")});
  EXPECT_EQ(e.message,
            "Deployment.apps \"d\" is invalid: [spec.selector: Required value, a: Forbidden: no]");
  EXPECT_EQ(e.details->causes[0].reason, "FieldValueRequired");
}

TEST(Print, TypesAreNamedAsGoNamesThem) {
  const std::pair<std::string_view, std::string_view> kNames[] = {
      {"null", "null"},     {"true", "bool"}, {"1", "number"}, {"1.5", "number"},
      {R"("x")", "string"}, {"[]", "array"},  {"{}", "object"}};
  for (const auto& [text, name] : kNames) EXPECT_EQ(go_kind(*parse(text)), name) << text;
}

TEST(Value, SetsAndErasesManyMembersInOneWalk) {
  Value value = must(R"({"b":1,"d":1})");
  const Value before = value;
  set_all(value, {{"e", 2}, {"a", 2}, {"b", 2}, {"b", 3}});
  EXPECT_EQ(print(value), R"({"a":2,"b":3,"d":1,"e":2})");
  add_missing(value, must(R"({"a":9,"c":9})"));
  EXPECT_EQ(print(value), R"({"a":2,"b":3,"c":9,"d":1,"e":2})");
  erase_members(value, [](const Member& m) { return m.key() == "a" || m.key() == "e"; });
  EXPECT_EQ(print(value), R"({"b":3,"c":9,"d":1})");
  EXPECT_EQ(print(before), R"({"b":1,"d":1})");
  Value nothing;
  set_all(nothing, {{"a", 1}});
  EXPECT_EQ(print(nothing), R"({"a":1})");
}

TEST(Value, MovesItsMembersWhenOneComesOrGoes) {
  Value object, array;
  for (int i = 0; i < 40; ++i) {
    object.set(std::to_string(i * 7 % 40) + " and some more text", i);
    array.insert_item(static_cast<std::size_t>(i / 2), "item number " + std::to_string(i));
  }
  const Value other = object;
  for (int i = 0; i < 40; i += 2) {
    EXPECT_TRUE(object.erase(std::to_string(i) + " and some more text"));
    array.erase_item(0);
  }
  EXPECT_EQ(object.size(), 20u);
  EXPECT_EQ(array.size(), 20u);
  EXPECT_EQ(other.size(), 40u);
  EXPECT_EQ(object["7 and some more text"], Value(1));
  EXPECT_FALSE(object.has("8 and some more text"));
}

TEST(Value, AnEditedObjectAnswersAsIfEachEditWereDone) {
  EditedObject edited(must(R"({"b":1,"c":2,"d":3})"));
  edited.set("a", 0);
  edited.set("c", 5);
  edited.erase("d");
  edited.erase("nothing");
  EXPECT_EQ(*edited.find("c"), Value(5));
  EXPECT_EQ(*edited.find("b"), Value(1));
  EXPECT_EQ(edited.find("d"), nullptr);
  edited.set("d", 4);
  EXPECT_EQ(print(edited.take()), R"({"a":0,"b":1,"c":5,"d":4})");
}

// A key of a megabyte would stand in the path of each of the 200,000 members below it.
TEST(Value, RefusesMoreDuplicatesThanCanBeNamed) {
  std::string text = "{\"" + std::string(1 << 20, 'k') + "\":{\"a\":1";
  for (int i = 0; i < 200'000; ++i) text += ",\"a\":1";
  text += "}}";
  auto document = parse_document(text);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message, "too many fields are repeated");
  EXPECT_TRUE(parse(text));
}

}  // namespace
}  // namespace cardea::json

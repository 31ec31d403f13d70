#include "schema/wire/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "json/print.h"

namespace cardea::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A small kind with every kind of field.
class DecodeTest : public ::testing::Test {
 protected:
  using Type = Schema::Type;

  DecodeTest() {
    Schema* meta = object("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    add(meta, "name", scalar(Type::kString), Held::kScalar, "o");
    add(meta, "labels", map(scalar(Type::kString)), Held::kMap, "o");
    add(meta, "creationTimestamp", time(), Held::kStruct, "oz");
    Schema* container = object("io.k8s.api.core.v1.Container");
    add(container, "name", scalar(Type::kString), Held::kScalar, "");
    add(container, "image", scalar(Type::kString), Held::kScalar, "o");
    add(container, "limits", map(quantity()), Held::kMap, "o");
    Schema* spec = object("io.k8s.api.apps.v1.ThingSpec");
    add(spec, "replicas", scalar(Type::kInteger, "int32"), Held::kPointer, "o");
    add(spec, "big", scalar(Type::kInteger, "int64"), Held::kScalar, "o");
    add(spec, "paused", scalar(Type::kBoolean), Held::kScalar, "o");
    add(spec, "containers", list(container), Held::kList, "");
    add(spec, "args", list(scalar(Type::kString)), Held::kList, "o");
    add(spec, "secret", map(scalar(Type::kString, "byte")), Held::kMap, "o");
    add(spec, "port", scalar(Type::kIntOrString), Held::kPointer, "o");
    add(spec, "since", time(), Held::kPointer, "o");
    add(spec, "seen", time(), Held::kStruct, "o");
    add(spec, "divisor", quantity(), Held::kStruct, "o");
    Schema* raw = object("");
    raw->preserve_unknown_fields = true;
    add(spec, "raw", raw, Held::kPointer, "o");
    root_ = object("io.k8s.api.apps.v1.Thing");
    add(root_, "metadata", meta, Held::kStruct, "o");
    add(root_, "spec", spec, Held::kPointer, "o");
    for (Schema* s : {meta, container, spec, root_})
      std::ranges::sort(s->properties, {}, &Property::name);
  }

  Schema* object(const char* name) {
    Schema* s = set_.make();
    s->type = Type::kObject;
    s->type_name = name;
    return s;
  }
  Schema* scalar(Type type, const char* format = "") {
    Schema* s = set_.make();
    s->type = type;
    s->format = format;
    return s;
  }
  Schema* time() { return scalar(Type::kString, "date-time"); }
  Schema* quantity() {
    Schema* s = scalar(Type::kIntOrString, "quantity");
    s->type_name = "io.k8s.apimachinery.pkg.api.resource.Quantity";
    return s;
  }
  Schema* list(const Schema* items) {
    Schema* s = scalar(Type::kArray);
    s->items = items;
    return s;
  }
  Schema* map(const Schema* values) {
    Schema* s = scalar(Type::kObject);
    s->additional = values;
    return s;
  }
  static void add(Schema* to, const char* name, const Schema* schema, Held held,
                  std::string_view flags) {
    Property p{.name = name, .schema = schema, .held = held};
    p.omit_empty = flags.find('o') != flags.npos;
    p.omit_zero = flags.find('z') != flags.npos;
    to->properties.push_back(std::move(p));
  }

  Result<Decoded> read(std::string_view text) {
    return decode(*root_, json::parse_document(text).value(), text);
  }
  std::string printed(std::string_view text) {
    auto d = read(text);
    return d ? json::print(d->value) : d.error().message;
  }
  std::string spec(std::string_view text) {
    auto d = read(std::string(R"({"spec":)") + std::string(text) + "}");
    return d ? json::print(d->value["spec"]) : d.error().message;
  }

  SchemaSet set_;
  Schema* root_;
};

TEST_F(DecodeTest, WordsWrongTypesAsGoDoes) {
  EXPECT_EQ(
      printed(R"({"metadata":"x"})"),
      "json: cannot unmarshal string into Go struct field Thing.metadata of type v1.ObjectMeta");
  EXPECT_EQ(
      printed(R"({"metadata":{"name":5}})"),
      "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string");
  EXPECT_EQ(printed(R"({"metadata":{"labels":{"a":5}}})"),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type "
            "string");
  EXPECT_EQ(spec(R"({"replicas":1.5})"),
            "json: cannot unmarshal number 1.5 into Go struct field ThingSpec.spec.replicas of "
            "type int32");
  EXPECT_EQ(spec(R"({"replicas":3000000000})"),
            "json: cannot unmarshal number 3000000000 into Go struct field ThingSpec.spec.replicas "
            "of type int32");
  EXPECT_EQ(spec(R"({"containers":{}})"),
            "json: cannot unmarshal object into Go struct field ThingSpec.spec.containers of type "
            "[]v1.Container");
  EXPECT_EQ(spec(R"({"containers":[{"name":true}]})"),
            "json: cannot unmarshal bool into Go struct field Container.spec.containers.name of "
            "type string");
  EXPECT_EQ(spec(R"({"port":true})"),
            "json: cannot unmarshal bool into Go struct field ThingSpec.spec.port of type int32");
  EXPECT_EQ(printed("[]"), "json: cannot unmarshal array into Go value of type v1.Thing");
}

TEST_F(DecodeTest, ReportsTheErrorThatStandsFirstInTheBodyUnlessALaterOneStopsTheReader) {
  EXPECT_EQ(
      printed(R"({"spec":{"paused":1},"metadata":{"name":5}})"),
      "json: cannot unmarshal number into Go struct field ThingSpec.spec.paused of type bool");
  EXPECT_EQ(
      printed(R"({"metadata":{"name":5},"spec":{"paused":1}})"),
      "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string");
  EXPECT_THAT(printed(R"({"metadata":{"name":5},"spec":{"divisor":"x"}})"),
              ::testing::StartsWith("quantities must match the regular expression"));
}

TEST_F(DecodeTest, NotesUnknownAndDuplicateFieldsInTheOrderOfTheBody) {
  auto d = read(
      R"({"metadata":{"name":"n","nme":1},"spec":{"args":["a"],"args":[],
          "containers":[{"x":{"y":1,"y":2}}],
          "raw":{"q":1,"q":2}},"bogus":{"z":1,"z":2}})");
  ASSERT_TRUE(d);
  EXPECT_THAT(d->strict,
              ElementsAre("unknown field \"metadata.nme\"", "duplicate field \"spec.args\"",
                          "unknown field \"spec.containers[0].x\"", "unknown field \"bogus\""));
  EXPECT_FALSE(d->value.has("bogus"));
  EXPECT_EQ(strict_error(d->strict).substr(0, 53),
            "strict decoding error: unknown field \"metadata.nme\", ");
}

TEST_F(DecodeTest, GivesBackTheSameNodesWhenNothingChanges) {
  auto document =
      json::parse_document(
          R"({"metadata":{"name":"n"},"spec":{"containers":[{"name":"a"}],"divisor":"1",)"
          R"("seen":null}})")
          .value();
  auto d = decode(*root_, document, "");
  ASSERT_TRUE(d);
  EXPECT_TRUE(d->value.same(document.value));
  EXPECT_THAT(d->strict, IsEmpty());
}

TEST_F(DecodeTest, PrintsAbsenceAsTheTypeDoes) {
  EXPECT_EQ(printed("{}"), R"({"metadata":{}})");
  EXPECT_EQ(printed("null"), R"({"metadata":{}})");
  EXPECT_EQ(spec("{}"), R"({"containers":null,"divisor":"0","seen":null})");
  EXPECT_EQ(spec(R"({"replicas":0,"big":0,"paused":false,"args":[],"secret":{},"containers":[]})"),
            R"({"containers":[],"divisor":"0","replicas":0,"seen":null})");
  EXPECT_EQ(spec(R"({"replicas":null,"containers":[null],"args":[null,"a"]})"),
            R"({"args":["","a"],"containers":[{"name":""}],"divisor":"0","seen":null})");
}

TEST_F(DecodeTest, CanonicalisesQuantitiesTimesAndBytes) {
  EXPECT_EQ(spec(R"({"containers":[{"name":"a","limits":{"cpu":"0.5","memory":1024,"z":null}}]})"),
            R"({"containers":[{"limits":{"cpu":"500m","memory":"1024","z":"0"},"name":"a"}],)"
            R"("divisor":"0","seen":null})");
  EXPECT_EQ(spec(R"({"since":"2020-01-01T02:00:00.5+02:00","containers":[]})"),
            R"({"containers":[],"divisor":"0","seen":null,"since":"2020-01-01T00:00:00Z"})");
  EXPECT_EQ(spec(R"({"since":"yesterday"})"),
            R"(parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": )"
            R"(cannot parse "yesterday" as "2006")");
  EXPECT_EQ(spec(R"({"secret":{"a":"QUJ\nD","b":"QR=="},"containers":[]})"),
            R"({"containers":[],"divisor":"0","secret":{"a":"QUJD","b":"QQ=="},"seen":null})");
  EXPECT_EQ(spec(R"({"secret":{"a":"QUJD!"}})"), "illegal base64 data at input byte 4");
  EXPECT_EQ(spec(R"({"secret":{"a":"QUJDQ"}})"), "illegal base64 data at input byte 4");
}

TEST_F(DecodeTest, NormalizeIsIdempotent) {
  auto once = read(R"({"spec":{}})")->value;
  EXPECT_TRUE(normalize(*root_, once).same(once));
}

// Sorting by a lookup in a table took seconds, and a list of paths can be much longer than the
// body: a key of a megabyte stands in every path below it.
TEST_F(DecodeTest, NamesTheFirstOfManyUnknownFields) {
  std::string text = R"({"z":1)";
  for (int i = 0; i < 250'000; ++i) text += ",\"u" + std::to_string(i) + "\":0";
  text += "}";
  auto document = json::parse_document(text);
  ASSERT_TRUE(document);
  auto decoded = decode(*root_, *document, text);
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->strict.size(), 100u);
}

TEST_F(DecodeTest, ALongKeyDoesNotStandInEveryPath) {
  Schema* things = map(root_);
  std::string unknown, wrong;
  for (int i = 0; i < 150'000; ++i) {
    unknown += (i ? ",\"" : "\"") + std::to_string(i) + "\":{\"unknown\":0}";
    wrong += (i ? ",\"" : "\"") + std::to_string(i) + "\":{\"spec\":0}";
  }
  Schema* outer = map(things);
  const std::string key(1 << 20, 'k');
  std::string text = "{\"" + key + "\":{" + unknown + "}}";
  auto document = json::parse_document(text);
  ASSERT_TRUE(document);
  auto decoded = decode(*outer, *document, text);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->strict.size(), 1u);
  text = "{\"" + key + "\":{" + wrong + "}}";
  document = json::parse_document(text);
  ASSERT_TRUE(document);
  EXPECT_FALSE(decode(*outer, *document, text));
}

}  // namespace
}  // namespace cardea::schema

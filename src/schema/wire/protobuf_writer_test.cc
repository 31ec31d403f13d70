#include "schema/wire/protobuf_writer.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"
#include "schema/wire/protobuf.h"

namespace cardea::schema {
namespace {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (unsigned char c : bytes) {
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

class ProtobufWriter : public testing::Test {
 protected:
  Schema* make(Schema::Type type, std::string format = "", std::string name = "") {
    Schema* s = set_.make();
    s->type = type;
    s->format = std::move(format);
    s->type_name = std::move(name);
    return s;
  }
  // Properties must be given in the order of their names.
  Schema* object(std::vector<Property> properties) {
    Schema* s = make(Schema::Type::kObject);
    s->properties = std::move(properties);
    s->order_by_number();
    return s;
  }
  Schema* string() { return make(Schema::Type::kString); }
  Schema* int32() { return make(Schema::Type::kInteger, "int32"); }
  Schema* list_of(const Schema* items) {
    Schema* s = make(Schema::Type::kArray);
    s->items = items;
    return s;
  }
  Schema* map_of(const Schema* values) {
    Schema* s = make(Schema::Type::kObject);
    s->additional = values;
    return s;
  }
  std::string written(const Schema* s, std::string_view text) {
    return hex(encode_protobuf(*s, *json::parse(text)));
  }
  SchemaSet set_;
};

TEST_F(ProtobufWriter, FieldsComeInTheOrderOfTheirNumbers) {
  Schema* s = object({{.name = "a", .schema = string(), .number = 2, .held = Held::kScalar},
                      {.name = "b", .schema = string(), .number = 1, .held = Held::kScalar},
                      {.name = "kind", .schema = string(), .held = Held::kScalar}});
  EXPECT_EQ(written(s, R"({"a":"x","b":"y","kind":"K"})"), "0a0179120178");
}

TEST_F(ProtobufWriter, WhatIsHeldByValueIsWrittenEvenWhenItIsZero) {
  Schema* inner = object({{.name = "n", .schema = int32(), .number = 1, .held = Held::kScalar}});
  Schema* s = object(
      {{.name = "inner", .schema = inner, .number = 3, .held = Held::kStruct},
       {.name = "list", .schema = list_of(string()), .number = 4, .held = Held::kList},
       {.name = "map", .schema = map_of(string()), .number = 5, .held = Held::kMap},
       {.name = "pointer", .schema = int32(), .number = 2, .held = Held::kPointer},
       {.name = "text", .schema = string(), .number = 1, .held = Held::kScalar}});
  EXPECT_EQ(written(s, "{}"), "0a001a020800");
  EXPECT_EQ(written(s, R"({"pointer":0,"list":[],"map":{}})"), "0a0010001a020800");
  EXPECT_EQ(written(s, R"({"pointer":null})"), "0a001a020800");
}

TEST_F(ProtobufWriter, NegativeNumbersTakeTenBytes) {
  Schema* s = object({{.name = "n", .schema = int32(), .number = 1, .held = Held::kScalar}});
  EXPECT_EQ(written(s, R"({"n":-1})"), "08ffffffffffffffffff01");
  EXPECT_EQ(written(s, R"({"n":300})"), "08ac02");
}

TEST_F(ProtobufWriter, KeysOfMapsAreSortedAndEntriesHaveBothParts) {
  Schema* s = object({{.name = "m", .schema = map_of(string()), .number = 1, .held = Held::kMap}});
  EXPECT_EQ(written(s, R"({"m":{"b":"","a":"x"}})"),
            "0a060a0161120178"
            "0a050a01621200");
}

TEST_F(ProtobufWriter, EmptyBytesAreWrittenWhereTheyAreSet) {
  Schema* bytes = make(Schema::Type::kString, "byte");
  Schema* s = object({{.name = "b", .schema = bytes, .number = 1, .held = Held::kList},
                      {.name = "m", .schema = map_of(bytes), .number = 2, .held = Held::kMap}});
  EXPECT_EQ(written(s, "{}"), "");
  EXPECT_EQ(written(s, R"({"b":"","m":{"k":"","n":null}})"), "0a0012050a016b120012030a016e");
  EXPECT_EQ(written(s, R"({"b":"AAE="})"), "0a020001");
}

TEST_F(ProtobufWriter, EmbeddedMessagesAreAlwaysThere) {
  Schema* s = object(
      {{.name = "name", .schema = string(), .number = 1, .held = Held::kScalar},
       {.name = "path", .schema = string(), .number = 2u << 10 | 6, .held = Held::kPointer},
       {.name = "port",
        .schema = string(),
        .number = 2u << 20 | 3u << 10 | 1,
        .held = Held::kPointer},
       {.name = "zone", .schema = string(), .number = 4, .held = Held::kPointer}});
  EXPECT_EQ(written(s, R"({"name":"n"})"), "0a016e12021a00");
  EXPECT_EQ(written(s, R"({"name":"n","path":"p","port":"q","zone":"z"})"),
            "0a016e12081a030a0171320170"
            "22017a");
}

TEST_F(ProtobufWriter, TimesAreSecondsAndMicroTimesKeepMicroseconds) {
  Schema* time = make(Schema::Type::kString, "date-time", "x.Time");
  Schema* micro = make(Schema::Type::kString, "date-time", "x.MicroTime");
  Schema* s = object({{.name = "m", .schema = micro, .number = 2, .held = Held::kPointer},
                      {.name = "t", .schema = time, .number = 1, .held = Held::kStruct}});
  EXPECT_EQ(written(s, R"({"t":null})"), "0a00");
  EXPECT_EQ(written(s, R"({"t":"1970-01-01T00:00:05Z","m":"1970-01-01T00:00:01.000002Z"})"),
            "0a0408051000"
            "1205080110d00f");
}

TEST_F(ProtobufWriter, NumbersOrTextsHaveThreeFieldsAndQuantitiesOne) {
  Schema* either = make(Schema::Type::kIntOrString, "int-or-string");
  Schema* quantity = make(Schema::Type::kIntOrString, "quantity");
  Schema* s = object({{.name = "p", .schema = either, .number = 1, .held = Held::kPointer},
                      {.name = "q", .schema = quantity, .number = 2, .held = Held::kStruct}});
  EXPECT_EQ(written(s, R"({"p":80,"q":"1Gi"})"),
            "0a06080010501a00"
            "12050a03314769");
  EXPECT_EQ(written(s, R"({"p":"a"})"),
            "0a07080110001a0161"
            "12030a0130");
}

TEST_F(ProtobufWriter, ListsThatAreMessagesOfTheirOwn) {
  Schema* s = object({{.name = "verbs",
                       .schema = list_of(string()),
                       .number = 4,
                       .held = Held::kList,
                       .wrapped = true}});
  EXPECT_EQ(written(s, "{}"), "");
  EXPECT_EQ(written(s, R"({"verbs":[]})"), "2200");
  EXPECT_EQ(written(s, R"({"verbs":["get"]})"), "22050a03676574");
}

TEST_F(ProtobufWriter, TheEnvelopeNamesTheKindAndHoldsTheMessage) {
  Schema* s = object({{.name = "a", .schema = string(), .number = 1, .held = Held::kScalar}});
  Enveloped made = encode_enveloped(*s, *json::parse(R"({"kind":"K","apiVersion":"v1","a":"x"})"));
  EXPECT_EQ(hex(made.bytes),
            "6b387300"
            "0a070a0276311201"
            "4b"
            "12030a0178"
            "1a002200");
  EXPECT_EQ(hex(made.message()), "0a0178");
  auto read = open_envelope(made.bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, "K");
  EXPECT_EQ(read->raw, made.message());
}

TEST_F(ProtobufWriter, AListIsItsMetadataAndTheMessagesOfItsItems) {
  std::string_view items[] = {"abc", ""};
  EXPECT_EQ(hex(enveloped_list("v1", "L", "m", items)),
            "6b387300"
            "0a070a0276311201"
            "4c"
            "120a"
            "0a016d"
            "1203616263"
            "1200"
            "1a002200");
}

TEST_F(ProtobufWriter, AFrameOfAWatchBeginsWithItsLength) {
  EXPECT_EQ(hex(watch_frame("ADDED", "obj")),
            "0000000e"
            "0a054144444544"
            "12050a036f626a");
}

TEST_F(ProtobufWriter, LongMessagesAreWrittenWhole) {
  Schema* s = object(
      {{.name = "l", .schema = list_of(string()), .number = 1, .held = Held::kList}});
  json::Value list = json::Value::array();
  for (int i = 0; i < 5000; ++i)
    list.push_back(std::string(static_cast<std::size_t>(i % 300), 'x'));
  json::Value value = json::Value::object({{"l", list}});
  auto read = decode_protobuf(*s, encode_protobuf(*s, value));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, value);
}

}  // namespace
}  // namespace cardea::schema

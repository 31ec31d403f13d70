#include "schema/wire/protobuf.h"

#include <gtest/gtest.h>

#include "json/print.h"

namespace cardea::schema {
namespace {

// Wire format by hand: a length-delimited field, and a varint below 128.
std::string text(int number, std::string_view bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  out += static_cast<char>(bytes.size());
  return out.append(bytes);
}
std::string varint(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

class Protobuf : public testing::Test {
 protected:
  Schema* make(Schema::Type type, std::string format = "") {
    Schema* s = set_.make();
    s->type = type;
    s->format = std::move(format);
    return s;
  }
  std::string decoded(const Schema& s, std::string_view bytes) {
    auto v = decode_protobuf(s, bytes);
    return v ? json::print(*v) : v.error().message;
  }
  SchemaSet set_;
};

TEST_F(Protobuf, ReadsScalarsListsMapsAndMessagesByTheirNumbers) {
  Schema* string = make(Schema::Type::kString);
  Schema* map = make(Schema::Type::kObject);
  map->additional = string;
  Schema* list = make(Schema::Type::kArray);
  list->items = string;
  Schema* inner = make(Schema::Type::kObject);
  inner->properties = {{.name = "on", .schema = make(Schema::Type::kBoolean), .number = 3}};
  Schema* root = make(Schema::Type::kObject);
  root->properties = {
      {.name = "count", .schema = make(Schema::Type::kInteger, "int32"), .number = 4},
      {.name = "inner", .schema = inner, .number = 5},
      {.name = "labels", .schema = map, .number = 2},
      {.name = "tags", .schema = list, .number = 1}};
  std::string bytes = text(1, "a") + text(1, "b") + text(2, text(1, "k") + text(2, "v")) +
                      varint(4, 7) + text(5, varint(3, 1)) + text(9, "unknown fields are skipped");
  EXPECT_EQ(decoded(*root, bytes),
            R"({"count":7,"inner":{"on":true},"labels":{"k":"v"},"tags":["a","b"]})");
}

TEST_F(Protobuf, FlattensEmbeddedMessages) {
  Schema* root = make(Schema::Type::kObject);
  root->properties = {
      {.name = "name", .schema = make(Schema::Type::kString), .number = 1},
      {.name = "path", .schema = make(Schema::Type::kString), .number = 2u << 10 | 6}};
  EXPECT_EQ(decoded(*root, text(1, "n") + text(2, text(6, "/p"))), R"({"name":"n","path":"/p"})");
}

TEST_F(Protobuf, BrokenMessagesAreErrors) {
  Schema* root = make(Schema::Type::kObject);
  root->properties = {{.name = "name", .schema = make(Schema::Type::kString), .number = 1}};
  EXPECT_EQ(decoded(*root, "\x0a\x7f"), "proto: cannot parse invalid wire-format data");
  EXPECT_EQ(decoded(*root, "\x0a"), "proto: cannot parse invalid wire-format data");
  EXPECT_EQ(decoded(*root, text(1, "\xff")), "proto: a string holds invalid UTF-8");
}

TEST_F(Protobuf, TheEnvelopeNamesTheKind) {
  std::string body = std::string(kProtobufMagic) + text(1, text(1, "v1") + text(2, "Pod")) +
                     text(2, "raw");
  auto envelope = open_envelope(body);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->api_version, "v1");
  EXPECT_EQ(envelope->kind, "Pod");
  EXPECT_EQ(envelope->raw, "raw");
  EXPECT_FALSE(open_envelope("{}"));
}

}  // namespace
}  // namespace cardea::schema

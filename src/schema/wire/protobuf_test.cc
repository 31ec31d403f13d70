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
  root->type_name = "io.example.Thing";
  root->properties = {{.name = "name", .schema = make(Schema::Type::kString), .number = 1}};
  EXPECT_EQ(decoded(*root, "\x0a\x7f"), "unexpected EOF");
  EXPECT_EQ(decoded(*root, "\x0a"), "unexpected EOF");
  EXPECT_EQ(decoded(*root, "\x0a" + std::string(9, '\xff') + '\x01'),
            "proto: negative length found during unmarshaling");
  EXPECT_EQ(decoded(*root, std::string(10, '\xff') + '\x01'), "proto: integer overflow");
  EXPECT_EQ(decoded(*root, std::string(2, '\0')), "proto: Thing: illegal tag 0 (wire type 0)");
  EXPECT_EQ(decoded(*root, "\x0c"), "proto: Thing: wiretype end group for non-group");
  EXPECT_EQ(decoded(*root, text(1, "\xff")), "proto: a string holds invalid UTF-8");
}

TEST_F(Protobuf, AFieldOfAnotherWireTypeIsAnError) {
  Schema* list = make(Schema::Type::kArray);
  list->items = make(Schema::Type::kInteger, "int32");
  Schema* root = make(Schema::Type::kObject);
  root->properties = {{.name = "name", .schema = make(Schema::Type::kString), .number = 1},
                      {.name = "numbers", .schema = list, .number = 2}};
  EXPECT_EQ(decoded(*root, varint(1, 5)), "proto: wrong wireType = 0 for field Name");
  EXPECT_EQ(decoded(*root, "\x0b\x0c"), "proto: wrong wireType = 3 for field Name");
  EXPECT_EQ(decoded(*root, varint(2, 5) + text(2, "\x06\x07")), R"({"numbers":[5,6,7]})");
  EXPECT_EQ(decoded(*root, text(2, "\x86")), "unexpected EOF");
  EXPECT_EQ(decoded(*root, "\x0f"), "proto: wrong wireType = 7 for field Name");
  EXPECT_EQ(decoded(*root, "\x4f"), "proto: illegal wireType 7");
}

TEST_F(Protobuf, UnknownGroupsAreSkippedWithTheGroupsInThem) {
  Schema* root = make(Schema::Type::kObject);
  root->properties = {{.name = "name", .schema = make(Schema::Type::kString), .number = 1}};
  EXPECT_EQ(decoded(*root, "\x4b\x53\x54\x4c" + text(1, "n")), R"({"name":"n"})");
  EXPECT_EQ(decoded(*root, "\x4b\x53\x54"), "unexpected EOF");
}

TEST_F(Protobuf, AMessageThatComesTwiceIsOne) {
  Schema* inner = make(Schema::Type::kObject);
  inner->properties = {{.name = "a", .schema = make(Schema::Type::kString), .number = 1},
                       {.name = "b", .schema = make(Schema::Type::kString), .number = 2}};
  Schema* root = make(Schema::Type::kObject);
  root->properties = {{.name = "inner", .schema = inner, .number = 1}};
  EXPECT_EQ(decoded(*root, text(1, text(1, "x") + text(2, "y")) + text(1, text(2, "z"))),
            R"({"inner":{"a":"x","b":"z"}})");
}

TEST_F(Protobuf, NestingIsBounded) {
  Schema* root = make(Schema::Type::kObject);
  root->properties = {{.name = "not", .schema = root, .number = 1}};
  std::string bytes;
  for (int i = 0; i < 60; ++i) bytes = text(1, bytes);
  EXPECT_TRUE(decode_protobuf(*root, bytes));
  // A length of two bytes each.
  auto wrap = [](const std::string& inner) {
    return std::string{'\x0a', static_cast<char>(inner.size() | 0x80),
                       static_cast<char>(inner.size() >> 7)} +
           inner;
  };
  for (int i = 0; i < 60; ++i) bytes = wrap(bytes);
  EXPECT_EQ(decoded(*root, bytes), "proto: the message is nested too deeply");
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
  EXPECT_EQ(open_envelope("").error().message, "empty data");
  EXPECT_EQ(open_envelope(kProtobufMagic).error().message, "empty body");
}

}  // namespace
}  // namespace cardea::schema

#include "schema/wire/protobuf.h"

#include <cstring>

#include "base/clock.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "json/parse.h"

namespace cardea::schema {

using json::Value;

namespace {

constexpr int kMaxDepth = 100;

enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t integer = 0;  // varint and fixed
  std::string_view bytes;     // length-delimited
};

// Goes through the fields of one message.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  // False at the end or when the message is broken; broken() tells.
  bool next(Field& field) {
    if (rest_.empty() || broken_) return false;
    std::uint64_t tag = varint();
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.wire = static_cast<Wire>(tag & 7);
    switch (field.wire) {
      case Wire::kVarint:
        field.integer = varint();
        break;
      case Wire::kFixed64:
        field.integer = fixed(8);
        break;
      case Wire::kFixed32:
        field.integer = fixed(4);
        break;
      case Wire::kBytes:
        field.bytes = take(varint());
        break;
      default:
        broken_ = true;
    }
    if (field.number == 0) broken_ = true;
    return !broken_;
  }
  bool broken() const { return broken_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    broken_ = true;
    return 0;
  }
  std::uint64_t fixed(std::size_t size) {
    std::string_view bytes = take(size);
    std::uint64_t value = 0;
    if (!broken_) std::memcpy(&value, bytes.data(), size);
    return value;
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      broken_ = true;
      return {};
    }
    std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  std::string_view rest_;
  bool broken_ = false;
};

// One walk over a message tree. The first flaw ends it.
class Decoder {
 public:
  Result<Value> run(const Schema& schema, std::string_view bytes) {
    Value out = Value::object();
    message(out, schema, bytes, 0, 0);
    if (!error_.empty()) return fail(bad_request(error_));
    return out;
  }

 private:
  void refuse(std::string_view why) {
    if (error_.empty()) error_ = cat("proto: ", why);
  }

  // The property with this number, or one that lies deeper on the same path.
  static const Property* find(const Schema& schema, std::uint32_t path, bool& is_embedded) {
    is_embedded = false;
    for (const Property& p : schema.properties) {
      if (p.number == path) return &p;
      for (std::uint32_t n = p.number >> 10; n; n >>= 10)
        if (n == path) {
          is_embedded = true;
          return &p;
        }
    }
    return nullptr;
  }

  void message(Value& out, const Schema& schema, std::string_view bytes, std::uint32_t prefix,
               int depth) {
    if (depth > kMaxDepth) return refuse("exceeded max depth");
    Reader reader(bytes);
    Field field;
    while (error_.empty() && reader.next(field)) {
      if (field.number >= 1024) continue;
      std::uint32_t path = prefix << 10 | field.number;
      bool is_embedded;
      const Property* property = find(schema, path, is_embedded);
      if (!property) continue;
      if (is_embedded)
        message(out, schema, field.bytes, path, depth + 1);
      else
        add(out, *property, schema, field, depth);
    }
    if (reader.broken()) refuse("cannot parse invalid wire-format data");
  }

  void add(Value& out, const Property& p, const Schema& parent, const Field& field, int depth) {
    const Schema& s = *p.schema;
    if (s.type == Schema::Type::kArray) {
      Value& list = out.member(p.name);
      if (list.is_null()) list = Value::array();
      if (s.items->type == Schema::Type::kInteger && field.wire == Wire::kBytes)
        return packed(list, field.bytes);
      return list.push_back(value(*s.items, parent, field, depth));
    }
    if (s.type == Schema::Type::kObject && s.additional) {
      Value& map = out.member(p.name);
      if (map.is_null()) map = Value::object();
      return entry(map, *s.additional, parent, field.bytes, depth);
    }
    Value v = value(s, parent, field, depth);
    if (!v.is_null()) out.set(p.name, std::move(v));
  }

  // Scalars of a repeated field in one piece.
  static void packed(Value& list, std::string_view bytes) {
    // Each is a varint; a message of fields with number 1 reads the same way.
    std::uint64_t value = 0;
    int shift = 0;
    for (unsigned char c : bytes) {
      value |= static_cast<std::uint64_t>(c & 0x7f) << shift;
      shift += 7;
      if (c >= 0x80 && shift < 64) continue;
      list.push_back(static_cast<std::int64_t>(value));
      value = 0;
      shift = 0;
    }
  }

  void entry(Value& map, const Schema& item, const Schema& parent, std::string_view bytes,
             int depth) {
    Reader reader(bytes);
    Field field;
    std::string key;
    Value found = item.type == Schema::Type::kString && item.format != "byte" ? Value("") : Value();
    while (reader.next(field)) {
      if (field.number == 1) key = text(field.bytes);
      if (field.number == 2)
        found = item.type == Schema::Type::kArray ? items(*item.items, parent, field.bytes, depth)
                                                  : value(item, parent, field, depth);
    }
    if (reader.broken()) refuse("cannot parse invalid wire-format data");
    map.set(key, std::move(found));
  }

  // A list that is a message of its own: {repeated items = 1}.
  Value items(const Schema& item, const Schema& parent, std::string_view bytes, int depth) {
    Value list = Value::array();
    Reader reader(bytes);
    Field field;
    while (reader.next(field))
      if (field.number == 1) list.push_back(value(item, parent, field, depth));
    if (reader.broken()) refuse("cannot parse invalid wire-format data");
    return list;
  }

  std::string text(std::string_view bytes) {
    if (!is_valid_utf8(bytes)) refuse("a string holds invalid UTF-8");
    return std::string(bytes);
  }

  Value value(const Schema& s, const Schema& parent, const Field& field, int depth) {
    switch (s.type) {
      case Schema::Type::kBoolean:
        return field.integer != 0;
      case Schema::Type::kInteger:
        return s.format == "int32"
                   ? Value(static_cast<std::int64_t>(static_cast<std::int32_t>(field.integer)))
                   : Value(static_cast<std::int64_t>(field.integer));
      case Schema::Type::kNumber:
        return number(field);
      case Schema::Type::kString:
        return string(s, field.bytes);
      case Schema::Type::kIntOrString:
        return s.format == "quantity" ? quantity(field.bytes) : int_or_string(field.bytes);
      case Schema::Type::kObject:
        if (s.properties.empty() && !s.additional) return raw(field.bytes);
        return object(s, field.bytes, depth);
      case Schema::Type::kAny:
        return any(s, parent, field.bytes, depth);
      case Schema::Type::kArray:
        return items(*s.items, parent, field.bytes, depth);
    }
    return {};
  }

  Value object(const Schema& s, std::string_view bytes, int depth) {
    Value out = Value::object();
    message(out, s, bytes, 0, depth + 1);
    return out;
  }

  static Value number(const Field& field) {
    if (field.wire == Wire::kFixed32) {
      float f;
      auto bits = static_cast<std::uint32_t>(field.integer);
      std::memcpy(&f, &bits, 4);
      return static_cast<double>(f);
    }
    double d;
    std::memcpy(&d, &field.integer, 8);
    return d;
  }

  Value string(const Schema& s, std::string_view bytes) {
    if (s.format == "byte") return base64(bytes);
    if (s.format == "date-time") return time(bytes, s.type_name.ends_with("MicroTime"));
    if (s.type_name.ends_with(".Duration")) return duration(bytes);
    return text(bytes);
  }

  // {1: seconds, 2: nanoseconds}; an empty one is no time at all.
  Value time(std::string_view bytes, bool micro) {
    if (bytes.empty()) return {};
    std::int64_t seconds = 0, nanos = 0;
    Reader reader(bytes);
    Field field;
    while (reader.next(field)) {
      if (field.number == 1) seconds = static_cast<std::int64_t>(field.integer);
      if (field.number == 2) nanos = static_cast<std::int32_t>(field.integer);
    }
    if (reader.broken()) refuse("cannot parse invalid wire-format data");
    // Year 1 to 9999; anything else has no form in RFC 3339.
    if (seconds < -62135596800 || seconds > 253402300799 || nanos < 0 || nanos > 999'999'999)
      return refuse("a time is out of range"), Value();
    // Go's zero time says that there is none.
    if (seconds == -62135596800 && nanos == 0) return {};
    auto at = std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::seconds(std::min<std::int64_t>(seconds, 9'000'000'000)) +
            std::chrono::nanoseconds(nanos)));
    return micro ? rfc3339_micro(at) : rfc3339(at);
  }

  Value duration(std::string_view bytes) {
    Reader reader(bytes);
    Field field;
    std::int64_t nanos = 0;
    while (reader.next(field))
      if (field.number == 1) nanos = static_cast<std::int64_t>(field.integer);
    return print_duration(std::chrono::nanoseconds(nanos));
  }

  Value quantity(std::string_view bytes) {
    Reader reader(bytes);
    Field field;
    Value out = "0";
    while (reader.next(field))
      if (field.number == 1 && !field.bytes.empty()) out = text(field.bytes);
    return out;
  }

  Value int_or_string(std::string_view bytes) {
    Reader reader(bytes);
    Field field;
    bool is_text = false;
    Value integer = 0, string = "";
    while (reader.next(field)) {
      if (field.number == 1) is_text = field.integer != 0;
      if (field.number == 2)
        integer = static_cast<std::int64_t>(static_cast<std::int32_t>(field.integer));
      if (field.number == 3) string = text(field.bytes);
    }
    return is_text ? string : integer;
  }

  // {1: JSON text}
  Value raw(std::string_view bytes) {
    Reader reader(bytes);
    Field field;
    Value out;
    while (reader.next(field)) {
      if (field.number != 1 || field.bytes.empty()) continue;
      auto parsed = json::parse(field.bytes);
      if (!parsed) return refuse(cat("embedded JSON: ", parsed.error().message)), Value();
      out = std::move(*parsed);
    }
    return out;
  }

  // JSON itself, or one of the unions of JSON schemas, whose schema is the type that holds them.
  Value any(const Schema& s, const Schema& parent, std::string_view bytes, int depth) {
    bool is_union = s.type_name.find("JSONSchemaPropsOr") != std::string::npos;
    if (!is_union) return raw(bytes);
    bool or_bool = s.type_name.ends_with("OrBool");
    bool or_strings = s.type_name.ends_with("OrStringArray");
    std::uint32_t schema_number = or_bool ? 2 : 1;
    Value out;
    Reader reader(bytes);
    Field field;
    while (reader.next(field)) {
      if (field.number == schema_number)
        out = object(parent, field.bytes, depth);
      else if (or_bool && field.number == 1 && out.is_null())
        out = field.integer != 0;
      else if (field.number == 2)
        out.push_back(or_strings ? Value(text(field.bytes)) : object(parent, field.bytes, depth));
    }
    return out;
  }

  std::string error_;
};

}  // namespace

Result<Envelope> open_envelope(std::string_view bytes) {
  if (!bytes.starts_with(kProtobufMagic))
    return fail(bad_request(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"));
  Envelope envelope;
  Reader reader(bytes.substr(kProtobufMagic.size()));
  Field field;
  while (reader.next(field)) {
    if (field.wire != Wire::kBytes) continue;
    if (field.number == 2) envelope.raw = field.bytes;
    if (field.number == 4) envelope.content_type = field.bytes;
    if (field.number != 1) continue;
    Reader meta(field.bytes);
    Field part;
    while (meta.next(part)) {
      if (part.wire != Wire::kBytes) continue;
      if (part.number == 1) envelope.api_version = part.bytes;
      if (part.number == 2) envelope.kind = part.bytes;
    }
    if (meta.broken()) return fail(bad_request("proto: cannot parse invalid wire-format data"));
  }
  if (reader.broken()) return fail(bad_request("proto: cannot parse invalid wire-format data"));
  if (!is_valid_utf8(envelope.api_version) || !is_valid_utf8(envelope.kind))
    return fail(bad_request("proto: a string holds invalid UTF-8"));
  return envelope;
}

Result<Value> decode_protobuf(const Schema& schema, std::string_view message) {
  return Decoder().run(schema, message);
}

}  // namespace cardea::schema

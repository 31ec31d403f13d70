#include "schema/wire/protobuf.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/strings.h"
#include "base/time_parse.h"
#include "json/parse.h"
#include "schema/wire/wire_type.h"

namespace cardea::schema {

using json::Value;

namespace {

constexpr int kMaxDepth = 100;
constexpr std::int64_t kFirstSecond = -62135596800, kLastSecond = 253402300799;  // years 1 to 9999
constexpr std::string_view kTruncated = "unexpected EOF", kOverflow = "proto: integer overflow";

struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t integer = 0;  // varint and fixed
  std::string_view bytes;     // length-delimited
};

// Goes through the fields of one message. A group is a field without a value: no type of Kubernetes
// has one.
class Reader {
 public:
  // `type` is the name of the message's type, for errors.
  explicit Reader(std::string_view bytes, std::string_view type = "") : rest_(bytes), type_(type) {}

  // False at the end or when the message is broken; flaw() tells. A field of no known wire type is
  // the last one.
  bool next(Field& field) {
    if (rest_.empty() || !flaw_.empty() || !read_tag(field)) return false;
    if (field.wire > Wire::kFixed32) {
      refuse(cat("proto: illegal wireType ", static_cast<int>(field.wire)));
      return true;
    }
    if (field.wire == Wire::kGroup)
      skip_group();
    else
      read_value(field);
    return flaw_.empty();
  }
  const std::string& flaw() const { return flaw_; }

 private:
  bool refuse(std::string_view why) {
    if (flaw_.empty()) flaw_ = why;
    return false;
  }

  bool read_tag(Field& field) {
    std::uint64_t tag = varint();
    if (!flaw_.empty()) return false;
    field = {.number = static_cast<std::uint32_t>(tag >> 3), .wire = static_cast<Wire>(tag & 7)};
    if (static_cast<std::int32_t>(field.number) <= 0)
      return refuse(cat("proto: ", type_, ": illegal tag ", static_cast<std::int32_t>(field.number),
                        " (wire type ", tag & 7, ")"));
    if (field.wire == Wire::kEndGroup)
      return refuse(cat("proto: ", type_, ": wiretype end group for non-group"));
    return true;
  }

  void read_value(Field& field) {
    if (field.wire == Wire::kVarint) field.integer = varint();
    if (field.wire == Wire::kFixed64) field.integer = fixed(8);
    if (field.wire == Wire::kFixed32) field.integer = fixed(4);
    if (field.wire == Wire::kBytes) field.bytes = take(varint());
  }

  // The rest of a group whose beginning was read, with the groups in it.
  void skip_group() {
    Field field;
    for (std::size_t open = 1; open > 0 && flaw_.empty();) {
      std::uint64_t tag = varint();
      field.wire = static_cast<Wire>(tag & 7);
      if (field.wire == Wire::kGroup)
        ++open;
      else if (field.wire == Wire::kEndGroup)
        --open;
      else if ((tag & 7) > static_cast<std::uint64_t>(Wire::kFixed32))
        refuse(cat("proto: illegal wireType ", tag & 7));
      else
        read_value(field);
    }
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return refuse(kTruncated);
      auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return refuse(kOverflow);
  }
  std::uint64_t fixed(std::size_t size) {
    std::string_view bytes = take(size);
    std::uint64_t value = 0;
    if (flaw_.empty()) std::memcpy(&value, bytes.data(), size);
    return value;
  }
  std::string_view take(std::uint64_t size) {
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      refuse("proto: negative length found during unmarshaling");
    if (!flaw_.empty() || size > rest_.size()) {
      refuse(kTruncated);
      return {};
    }
    std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  std::string_view rest_, type_;
  std::string flaw_;
};

// How values of a type are written.
Wire wire_of(const Schema& s) {
  switch (s.type) {
    case Schema::Type::kBoolean:
    case Schema::Type::kInteger:
      return Wire::kVarint;
    case Schema::Type::kNumber:
      return Wire::kFixed64;
    default:
      return Wire::kBytes;
  }
}

// As Go names the field: errors show it.
std::string go_name(const Property& p) {
  if (p.name == "metadata") return "ObjectMeta";
  if (p.name == "uid") return "UID";
  std::string name = p.name;
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z')
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

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
    if (error_.empty()) error_ = why;
  }
  // A message must have been read to its end.
  void finish(const Reader& reader) {
    if (!reader.flaw().empty()) refuse(reader.flaw());
  }
  void expect(Wire wanted, const Field& field, std::string_view name) {
    if (field.wire != wanted)
      refuse(cat("proto: wrong wireType = ", static_cast<int>(field.wire), " for field ", name));
  }
  // Whether this is the field with that number, whose values are written so.
  bool is(const Field& field, std::uint32_t number, Wire wanted, std::string_view name) {
    if (field.number != number) return false;
    expect(wanted, field, name);
    return true;
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
    if (depth > kMaxDepth) return refuse("proto: the message is nested too deeply");
    std::string_view type = schema.type_name;
    Reader reader(bytes, type.substr(type.rfind('.') + 1));
    Field field;
    Maps maps;
    while (error_.empty() && reader.next(field)) {
      if (field.number >= 1024) continue;
      std::uint32_t path = prefix << 10 | field.number;
      bool is_embedded;
      const Property* property = find(schema, path, is_embedded);
      if (!property) continue;
      if (is_embedded) {
        expect(Wire::kBytes, field, go_name(*property));
        message(out, schema, field.bytes, path, depth + 1);
      } else {
        add(out, *property, schema, field, depth, maps);
      }
    }
    finish(reader);
    for (auto& [property, entries] : maps) {
      // A message that comes twice adds to the map of the first.
      Value& map = out.member(property->name);
      auto before = map.members();
      entries.insert(entries.begin(), before.begin(), before.end());
      map = Value::object(std::move(entries));
    }
  }

  // The entries of maps, until their message has been read: to put each of them into its place at
  // once would take the square of their number.
  using Maps = std::vector<std::pair<const Property*, std::vector<json::Member>>>;

  void add(Value& out, const Property& p, const Schema& parent, const Field& field, int depth,
           Maps& maps) {
    const Schema& s = *p.schema;
    if (s.type == Schema::Type::kArray && !p.wrapped) {
      Value& list = out.member(p.name);
      if (list.is_null()) list = Value::array();
      if (wire_of(*s.items) == Wire::kVarint && field.wire == Wire::kBytes)
        return packed(list, *s.items, field.bytes);
      expect(wire_of(*s.items), field, go_name(p));
      if (error_.empty()) list.push_back(value(*s.items, parent, field, depth));
      return;
    }
    expect(wire_of(s), field, go_name(p));
    if (!error_.empty()) return;
    if (s.type == Schema::Type::kObject && s.additional) {
      auto at = std::ranges::find(maps, &p, &Maps::value_type::first);
      if (at == maps.end()) at = maps.insert(maps.end(), {&p, {}});
      at->second.push_back(entry(*s.additional, parent, field.bytes, depth));
      return;
    }
    // A message that comes twice is read into the same object.
    if (s.type == Schema::Type::kObject && !s.preserve_unknown_fields) {
      Value& object = out.member(p.name);
      if (object.is_null()) object = Value::object();
      return message(object, s, field.bytes, 0, depth + 1);
    }
    Value v = value(s, parent, field, depth);
    if (!v.is_null()) out.set(p.name, std::move(v));
  }

  // Scalars of a repeated field in one piece.
  void packed(Value& list, const Schema& item, std::string_view bytes) {
    Field field;
    for (int shift = 0; unsigned char c : bytes) {
      if (shift >= 64) return refuse(kOverflow);
      field.integer |= static_cast<std::uint64_t>(c & 0x7f) << shift;
      shift += 7;
      if (c >= 0x80) continue;
      list.push_back(value(item, item, field, 0));
      field.integer = 0;
      shift = 0;
    }
    if (!bytes.empty() && static_cast<unsigned char>(bytes.back()) >= 0x80) refuse(kTruncated);
  }

  json::Member entry(const Schema& item, const Schema& parent, std::string_view bytes, int depth) {
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
    finish(reader);
    if (found.is_array() && found.empty()) found = {};  // no list at all, to Go
    return {key, std::move(found)};
  }

  // A list that is a message of its own: {repeated items = 1}.
  Value items(const Schema& item, const Schema& parent, std::string_view bytes, int depth) {
    Value list = Value::array();
    Reader reader(bytes);
    Field field;
    while (reader.next(field))
      if (is(field, 1, wire_of(item), "Items") && error_.empty())
        list.push_back(value(item, parent, field, depth));
    finish(reader);
    return list;
  }

  std::string text(std::string_view bytes) {
    if (!is_valid_utf8(bytes)) refuse("proto: a string holds invalid UTF-8");
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
        if (s.preserve_unknown_fields) return raw(field.bytes);
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

  Value number(const Field& field) {
    double d;
    std::memcpy(&d, &field.integer, 8);
    if (!std::isfinite(d)) refuse("proto: a number is not finite");
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
      if (is(field, 1, Wire::kVarint, "Seconds"))
        seconds = static_cast<std::int64_t>(field.integer);
      if (is(field, 2, Wire::kVarint, "Nanos")) nanos = static_cast<std::int32_t>(field.integer);
    }
    finish(reader);
    // RFC 3339 has no form for other years.
    if (seconds < kFirstSecond || seconds > kLastSecond)
      return refuse("proto: a time is out of range"), Value();
    // Fractions of a second are dropped, as JSON has no room for them.
    Timestamp at{.seconds = seconds};
    if (micro) {
      // Go takes a fraction of any size, also a negative one.
      std::int64_t micros = nanos / 1000;
      std::int64_t carry = (micros < 0 ? micros - 999'999 : micros) / 1'000'000;
      at.nanoseconds = static_cast<std::int32_t>((micros - carry * 1'000'000) * 1000);
      at.seconds += carry;
    }
    if (at.seconds < kFirstSecond || at.seconds > kLastSecond)
      return refuse("proto: a time is out of range"), Value();
    // Go's zero time says that there is none.
    if (at.is_zero()) return {};
    return micro ? print_rfc3339_micro(at) : print_rfc3339(at);
  }

  Value duration(std::string_view bytes) {
    Reader reader(bytes);
    Field field;
    std::int64_t nanos = 0;
    while (reader.next(field))
      if (is(field, 1, Wire::kVarint, "Duration")) nanos = static_cast<std::int64_t>(field.integer);
    finish(reader);
    return print_duration(std::chrono::nanoseconds(nanos));
  }

  Value quantity(std::string_view bytes) {
    Reader reader(bytes);
    Field field;
    Value out = "0";
    while (reader.next(field))
      if (is(field, 1, Wire::kBytes, "String_") && !field.bytes.empty()) out = text(field.bytes);
    finish(reader);
    return out;
  }

  Value int_or_string(std::string_view bytes) {
    Reader reader(bytes);
    Field field;
    bool is_text = false;
    Value integer = 0, string = "";
    while (reader.next(field)) {
      if (is(field, 1, Wire::kVarint, "Type")) is_text = field.integer != 0;
      if (is(field, 2, Wire::kVarint, "IntVal"))
        integer = static_cast<std::int64_t>(static_cast<std::int32_t>(field.integer));
      if (is(field, 3, Wire::kBytes, "StrVal")) string = text(field.bytes);
    }
    finish(reader);
    return is_text ? string : integer;
  }

  // {1: JSON text}
  Value raw(std::string_view bytes) {
    Reader reader(bytes);
    Field field;
    Value out;
    while (reader.next(field)) {
      if (!is(field, 1, Wire::kBytes, "Raw") || field.bytes.empty()) continue;
      auto parsed = json::parse(field.bytes);
      if (!parsed) return refuse(cat("proto: embedded JSON: ", parsed.error().message)), Value();
      out = std::move(*parsed);
    }
    finish(reader);
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
    while (error_.empty() && reader.next(field)) {
      if (is(field, schema_number, Wire::kBytes, "Schema"))
        out = object(parent, field.bytes, depth);
      else if (or_bool && is(field, 1, Wire::kVarint, "Allows"))
        out = out.is_object() ? out : Value(field.integer != 0);
      else if (field.number == 2 && (out.is_null() || out.is_array()))
        out.push_back(or_strings ? Value(text(field.bytes)) : object(parent, field.bytes, depth));
    }
    finish(reader);
    return out;
  }

  std::string error_;
};

}  // namespace

Result<Envelope> open_envelope(std::string_view bytes) {
  if (bytes.empty()) return fail(bad_request("empty data"));
  if (!bytes.starts_with(kProtobufMagic))
    return fail(bad_request(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"));
  if (bytes == kProtobufMagic) return fail(bad_request("empty body"));
  Envelope envelope;
  Reader reader(bytes.substr(kProtobufMagic.size()), "Unknown");
  Field field;
  auto wrong = [](const Field& f, std::string_view name) {
    return fail(bad_request(
        cat("proto: wrong wireType = ", static_cast<int>(f.wire), " for field ", name)));
  };
  constexpr std::string_view kNames[] = {"TypeMeta", "Raw", "ContentEncoding", "ContentType"};
  while (reader.next(field)) {
    if (field.number > 4) continue;
    if (field.wire != Wire::kBytes) return wrong(field, kNames[field.number - 1]);
    if (field.number == 2) envelope.raw = field.bytes;
    if (field.number == 4) envelope.content_type = field.bytes;
    if (field.number != 1) continue;
    Reader meta(field.bytes, "TypeMeta");
    Field part;
    while (meta.next(part)) {
      if (part.number > 2) continue;
      if (part.wire != Wire::kBytes) return wrong(part, part.number == 1 ? "APIVersion" : "Kind");
      (part.number == 1 ? envelope.api_version : envelope.kind) = part.bytes;
    }
    if (!meta.flaw().empty()) return fail(bad_request(meta.flaw()));
  }
  if (!reader.flaw().empty()) return fail(bad_request(reader.flaw()));
  if (!is_valid_utf8(envelope.api_version) || !is_valid_utf8(envelope.kind))
    return fail(bad_request("proto: a string holds invalid UTF-8"));
  return envelope;
}

Result<Value> decode_protobuf(const Schema& schema, std::string_view message) {
  return Decoder().run(schema, message);
}

}  // namespace cardea::schema

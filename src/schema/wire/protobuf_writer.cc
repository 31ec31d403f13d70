#include "schema/wire/protobuf_writer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ranges>

#include "base/strings.h"
#include "base/time_parse.h"
#include "json/print.h"
#include "json/print_as_go.h"
#include "schema/wire/protobuf.h"
#include "schema/wire/wire_type.h"

namespace cardea::schema {

using json::Value;

namespace {

constexpr std::size_t kMostVarint = 10;

std::size_t put_varint(char* out, std::uint64_t value) {
  std::size_t size = 0;
  while (value >= 0x80) {
    out[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out[size++] = static_cast<char>(value);
  return size;
}

std::size_t varint_size(std::uint64_t value) {
  char scratch[kMostVarint];
  return put_varint(scratch, value);
}

// Bytes that grow at their front. A message is written from its end, so its length is known when
// the place for it is reached.
class BackwardBuffer {
 public:
  explicit BackwardBuffer(std::size_t expected) : bytes_(expected, '\0'), at_(expected) {}

  std::size_t size() const { return bytes_.size() - at_; }

  void put(std::string_view bytes) {
    if (bytes.size() > at_) grow(bytes.size());
    at_ -= bytes.size();
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
  }
  void varint(std::uint64_t value) {
    char scratch[kMostVarint];
    put({scratch, put_varint(scratch, value)});
  }
  void tag(std::uint32_t number, Wire wire) {
    varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(wire));
  }
  // Ends a length-delimited field that began when the buffer had `mark` bytes.
  void close(std::uint32_t number, std::size_t mark) {
    varint(size() - mark);
    tag(number, Wire::kBytes);
  }
  void text(std::uint32_t number, std::string_view bytes) {
    std::size_t mark = size();
    put(bytes);
    close(number, mark);
  }
  void integer(std::uint32_t number, std::int64_t value) {
    varint(static_cast<std::uint64_t>(value));
    tag(number, Wire::kVarint);
  }

  std::string take() && {
    bytes_.erase(0, at_);
    return std::move(bytes_);
  }

 private:
  void grow(std::size_t more) {
    std::size_t used = size();
    std::string next(std::max(bytes_.size() * 2, used + more), '\0');
    std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), bytes_.end(),
              next.end() - static_cast<std::ptrdiff_t>(used));
    at_ = next.size() - used;
    bytes_ = std::move(next);
  }

  std::string bytes_;
  std::size_t at_;
};

// One walk over a value, from its end to its beginning.
class Encoder {
 public:
  explicit Encoder(BackwardBuffer& out) : out_(out) {}

  void message(const Schema& s, const Value& v) { fields(s, v, s.wire_order, 0); }

 private:
  // The number of a property at one step of its path, and whether the path ends there.
  struct Step {
    std::uint32_t number;
    bool is_last;
  };
  static Step step_of(const Property& p, int depth) {
    int steps = p.number >> 20 ? 3 : p.number >> 10 ? 2 : 1;
    return {p.number >> (10 * (steps - 1 - depth)) & 1023, depth == steps - 1};
  }

  // The properties that `order` names lie in one message, `depth` embedded messages down.
  void fields(const Schema& s, const Value& v, std::span<const std::uint16_t> order, int depth) {
    while (!order.empty()) {
      const Property& p = s.properties[order.back()];
      Step step = step_of(p, depth);
      if (step.is_last) {
        field(s, p, step.number, v[p.name]);
        order = order.first(order.size() - 1);
        continue;
      }
      std::size_t begin = order.size();
      while (begin > 0 && step_of(s.properties[order[begin - 1]], depth).number == step.number)
        --begin;
      std::size_t mark = out_.size();
      fields(s, v, order.subspan(begin), depth + 1);
      out_.close(step.number, mark);
      order = order.first(begin);
    }
  }

  // A field that is left out when it has no value.
  static bool is_optional(const Property& p) {
    return p.added || (p.held != Held::kScalar && p.held != Held::kStruct);
  }

  void field(const Schema& parent, const Property& p, std::uint32_t number, const Value& v) {
    const Schema& s = *p.schema;
    if (s.type == Schema::Type::kArray && !p.wrapped) {
      for (const Value& item : v.items() | std::views::reverse)
        value(*s.items, parent, number, item);
    } else if (s.type == Schema::Type::kObject && s.additional) {
      for (const json::Member& m : v.members() | std::views::reverse)
        entry(*s.additional, parent, number, m);
    } else if (!v.is_null() || !is_optional(p)) {
      value(s, parent, number, v);
    }
  }

  void entry(const Schema& item, const Schema& parent, std::uint32_t number,
             const json::Member& m) {
    std::size_t mark = out_.size();
    bool is_missing = m.value.is_null() && item.format == "byte";
    if (!is_missing) value(item, parent, 2, m.value);
    out_.text(1, m.key());
    out_.close(number, mark);
  }

  // Null is the type's zero.
  void value(const Schema& s, const Schema& parent, std::uint32_t number, const Value& v) {
    switch (s.type) {
      case Schema::Type::kBoolean:
        return out_.integer(number, v.as_bool());
      case Schema::Type::kInteger:
        return out_.integer(number, v.as_int());
      case Schema::Type::kNumber:
        return real(number, v.as_double());
      case Schema::Type::kString:
        if (s.format == "byte") return out_.text(number, decoded(v.as_string()));
        if (s.format.empty() && !s.type_name.ends_with(".Duration"))
          return out_.text(number, v.as_string());
        break;
      default:
        break;
    }
    std::size_t mark = out_.size();
    content(s, parent, v);
    out_.close(number, mark);
  }

  void real(std::uint32_t number, double d) {
    char bytes[8];
    std::memcpy(bytes, &d, 8);
    out_.put({bytes, 8});
    out_.tag(number, Wire::kFixed64);
  }

  static std::string decoded(std::string_view text) { return base64_decode(text).value_or(""); }

  // What lies in a message.
  void content(const Schema& s, const Schema& parent, const Value& v) {
    switch (s.type) {
      case Schema::Type::kString:
        return s.format == "date-time" ? time(v, s.type_name.ends_with("MicroTime")) : duration(v);
      case Schema::Type::kIntOrString:
        return s.format == "quantity" ? quantity(v) : int_or_string(v);
      case Schema::Type::kObject:
        return s.preserve_unknown_fields ? raw(v) : message(s, v);
      case Schema::Type::kArray:
        for (const Value& item : v.items() | std::views::reverse) value(*s.items, parent, 1, item);
        return;
      case Schema::Type::kAny:
        return s.type_name.find("JSONSchemaPropsOr") == std::string::npos ? raw(v)
                                                                          : either(s, parent, v);
      default:
        return;
    }
  }

  // {1: seconds, 2: nanoseconds}; no time at all is an empty message.
  void time(const Value& v, bool is_micro) {
    if (!v.is_string()) return;
    auto at = is_micro ? parse_rfc3339_micro(v.as_string()) : parse_rfc3339(v.as_string());
    if (!at || at->is_zero()) return;
    out_.integer(2, is_micro ? at->nanoseconds / 1000 * 1000 : 0);
    out_.integer(1, at->seconds);
  }

  void duration(const Value& v) {
    auto length = parse_duration(v.as_string());
    out_.integer(1, length ? length->count() : 0);
  }

  void quantity(const Value& v) {
    out_.text(1, v.is_null() ? "0" : v.is_string() ? std::string(v.as_string()) : json::print(v));
  }

  void int_or_string(const Value& v) {
    out_.text(3, v.as_string());
    out_.integer(2, v.as_int());
    out_.integer(1, v.is_string());
  }

  // {1: JSON text}
  void raw(const Value& v) {
    if (!v.is_null()) out_.text(1, json::print_as_go(v));
  }

  // A union of JSON schemas, which the type of `parent` holds.
  void either(const Schema& s, const Schema& parent, const Value& v) {
    bool or_bool = s.type_name.ends_with("OrBool");
    for (const Value& item : v.items() | std::views::reverse)
      item.is_string() ? out_.text(2, item.as_string()) : nested(2, parent, item);
    if (v.is_object()) nested(or_bool ? 2 : 1, parent, v);
    if (or_bool) out_.integer(1, v.is_object() || v.as_bool());
  }

  void nested(std::uint32_t number, const Schema& s, const Value& v) {
    std::size_t mark = out_.size();
    message(s, v);
    out_.close(number, mark);
  }

  BackwardBuffer& out_;
};

// contentEncoding and contentType of an envelope: empty, and written all the same.
constexpr std::string_view kEnvelopeEnd("\x1a\0\x22\0", 4);

void put_type(BackwardBuffer& out, std::string_view api_version, std::string_view kind) {
  std::size_t mark = out.size();
  out.text(2, kind);
  out.text(1, api_version);
  out.close(1, mark);
}

void append_varint(std::string& out, std::uint64_t value) {
  char scratch[kMostVarint];
  out.append(scratch, put_varint(scratch, value));
}

void append_field(std::string& out, std::uint32_t number, std::string_view bytes) {
  append_varint(out, static_cast<std::uint64_t>(number) << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

// Of a field with a number below 16.
std::size_t field_size(std::size_t size) {
  return 1 + varint_size(size) + size;
}

}  // namespace

std::string encode_protobuf(const Schema& schema, const Value& value) {
  BackwardBuffer out(1024);
  Encoder(out).message(schema, value);
  return std::move(out).take();
}

Enveloped encode_enveloped(const Schema& schema, const Value& value) {
  BackwardBuffer out(1024);
  out.put(kEnvelopeEnd);
  std::size_t mark = out.size();
  Encoder(out).message(schema, value);
  Enveloped made;
  made.message_size = out.size() - mark;
  out.close(2, mark);
  put_type(out, value["apiVersion"].as_string(), value["kind"].as_string());
  out.put(kProtobufMagic);
  made.bytes = std::move(out).take();
  made.message_at = made.bytes.size() - kEnvelopeEnd.size() - made.message_size;
  return made;
}

std::string enveloped_list(std::string_view api_version, std::string_view kind,
                           std::string_view metadata, std::span<const std::string_view> items) {
  std::size_t size = field_size(metadata.size());
  for (std::string_view item : items) size += field_size(item.size());
  BackwardBuffer head(64);
  put_type(head, api_version, kind);
  head.put(kProtobufMagic);
  std::string out = std::move(head).take();
  out.reserve(out.size() + field_size(size) + kEnvelopeEnd.size());
  append_varint(out, 2 << 3 | 2);
  append_varint(out, size);
  append_field(out, 1, metadata);
  for (std::string_view item : items) append_field(out, 2, item);
  out += kEnvelopeEnd;
  return out;
}

std::string watch_frame(std::string_view type, std::string_view enveloped) {
  std::size_t object = field_size(enveloped.size());
  std::size_t size = field_size(type.size()) + field_size(object);
  std::string out;
  out.reserve(4 + size);
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  append_field(out, 1, type);
  append_varint(out, 2 << 3 | 2);
  append_varint(out, object);
  append_field(out, 1, enveloped);
  return out;
}

}  // namespace cardea::schema

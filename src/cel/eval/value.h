#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/eval/arena.h"
#include "json/value.h"

namespace cardea::cel {

// The kind of a value at run time. Each opaque library type has its own kind, so that one bit tells
// overloads apart.
enum class Kind : std::uint8_t {
  kAbsent,  // a variable without a value
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,
  kMap,
  kType,
  kOptional,
  kIp,
  kCidr,
  kUrl,
  kQuantity,
  kSemver,
  kFormat,
  kAuthorizer,
  kPathCheck,
  kGroupCheck,
  kResourceCheck,
  kDecision,
  kLazy,  // computed at the first read; only in variables
  kError,
};

using KindSet = std::uint32_t;
constexpr KindSet set_of(Kind kind) {
  return KindSet{1} << static_cast<int>(kind);
}
constexpr KindSet kAnyKind = ~KindSet{0} & ~set_of(Kind::kAbsent) & ~set_of(Kind::kError) &
                             ~set_of(Kind::kLazy);

struct Value;

// A map made by an expression: keys and values side by side, in insertion order.
struct MapNode {
  const Value* keys = nullptr;
  const Value* values = nullptr;
  const std::uint32_t* index = nullptr;  // open addressing, entries are position + 1; null for
                                         // small maps
  std::uint32_t mask = 0;
  std::string_view type_name;  // of a struct literal, else empty
};

struct ErrorNode {
  std::string_view message;
  std::uint32_t position = 0;
  bool fatal = false;  // limits and interruption: never absorbed by && || ?: all exists
};

struct Opaque;  // library values; each library knows its own ones

// A value that is computed at its first use, such as a policy's `variables.x`. The code that binds
// it owns it and keeps it alive.
class Lazy {
 public:
  virtual ~Lazy() = default;
  virtual Value force() = 0;
};

// One CEL value in sixteen bytes, trivially copyable. Text, lists and maps are views of one of
// these: the JSON documents that are bound as variables, the program's constants, or the
// evaluation's arena. A view is valid as long as the data that it points to.
struct Value {
  // How lists are compared according to a schema: in order, as sets, or by keys (the keys are in a
  // list before the first item).
  enum ListType : std::uint16_t { kAtomic, kSet, kKeyed };
  // How a list or map is stored. Claims are JSON whose keys are looked up with resolved escapes
  // (`__dot__`); so are the values that are reached from claims by field or index. The root of
  // claims has fields, but is otherwise not a map.
  enum Form : std::uint8_t { kOwn, kJson, kClaims, kClaimsRoot };

  Kind kind = Kind::kAbsent;
  std::uint8_t form = kOwn;
  std::uint16_t list_type = 0;  // ListType of a schema's list; minutes of a timestamp's offset
  std::uint32_t size = 0;  // bytes of text, elements, entries; nanoseconds of a timestamp; 1 for a
                           // present optional
  union {
    bool boolean;
    std::int64_t integer;  // also seconds of a timestamp, nanoseconds of a duration
    std::uint64_t natural;
    double real;
    const char* text;  // also the name of a type
    const Value* items;
    const json::Value* json_items;
    const json::Member* json_members;
    const MapNode* map;
    const Value* inner;  // of an optional
    const ErrorNode* error;
    const void* opaque;
    Lazy* lazy;
  };

  constexpr Value() : integer(0) {}
  static Value null() { return of_kind(Kind::kNull); }
  static Value of(bool b) {
    Value v = of_kind(Kind::kBool);
    v.boolean = b;
    return v;
  }
  static Value of_int(std::int64_t i) {
    Value v = of_kind(Kind::kInt);
    v.integer = i;
    return v;
  }
  static Value of_uint(std::uint64_t u) {
    Value v = of_kind(Kind::kUint);
    v.natural = u;
    return v;
  }
  static Value of_double(double d) {
    Value v = of_kind(Kind::kDouble);
    v.real = d;
    return v;
  }
  static Value of_text(std::string_view s) {
    Value v = of_kind(Kind::kString);
    v.text = s.data();
    v.size = static_cast<std::uint32_t>(s.size());
    return v;
  }
  static Value of_bytes(std::string_view s) {
    Value v = of_text(s);
    v.kind = Kind::kBytes;
    return v;
  }
  static Value of_type(std::string_view name) {
    Value v = of_text(name);
    v.kind = Kind::kType;
    return v;
  }
  static Value of_duration(std::int64_t nanos) {
    Value v = of_int(nanos);
    v.kind = Kind::kDuration;
    return v;
  }
  static Value of_timestamp(std::int64_t seconds, std::uint32_t nanos) {
    Value v = of_int(seconds);
    v.kind = Kind::kTimestamp;
    v.size = nanos;
    return v;
  }
  static Value of_items(const Value* items, std::size_t count) {
    Value v = of_kind(Kind::kList);
    v.items = items;
    v.size = static_cast<std::uint32_t>(count);
    return v;
  }
  static Value of_map(const MapNode* map, std::size_t count) {
    Value v = of_kind(Kind::kMap);
    v.map = map;
    v.size = static_cast<std::uint32_t>(count);
    return v;
  }
  static Value none() { return of_kind(Kind::kOptional); }
  static Value some(const Value* inner) {
    Value v = of_kind(Kind::kOptional);
    v.inner = inner;
    v.size = 1;
    return v;
  }
  static Value of_opaque(Kind kind, const void* p) {
    Value v = of_kind(kind);
    v.opaque = p;
    return v;
  }
  static Value of_error(const ErrorNode* e) {
    Value v = of_kind(Kind::kError);
    v.error = e;
    return v;
  }
  static Value of_lazy(Lazy* l) {
    Value v = of_kind(Kind::kLazy);
    v.lazy = l;
    return v;
  }
  // A view of `document`, which must outlive the view and must not be changed.
  static Value of_json(const json::Value& document);
  // The same for a token's claims and for the user made from them.
  static Value of_claims(const json::Value& document) {
    Value v = of_json(document);
    if (v.form == kJson) v.form = kClaimsRoot;
    return v;
  }

  bool is_error() const { return kind == Kind::kError; }
  bool is_true() const { return kind == Kind::kBool && boolean; }
  bool is_false() const { return kind == Kind::kBool && !boolean; }
  bool is_string() const { return kind == Kind::kString; }
  std::string_view string() const { return {text, size}; }  // of strings, bytes and types

 private:
  static Value of_kind(Kind k) {
    Value v;
    v.kind = k;
    return v;
  }
};
static_assert(sizeof(Value) == 16);

// A constant field name, prepared for the comparison with the members of a document.
struct FieldKey {
  FieldKey() = default;
  explicit FieldKey(std::string_view name);
  std::string_view text;
  bool is_short = false;        // fits into a json::Value itself
  std::uint64_t image[2] = {};  // then the bytes of that
};

Value list_at(const Value& list, std::size_t index);
Value map_key(const Value& map, std::size_t index);
Value map_value(const Value& map, std::size_t index);
// The entry's value, or kAbsent. 1, 1u and 1.0 are one key.
Value map_find(const Value& map, const Value& key);
Value map_find(const Value& map, std::string_view key);
Value map_find(const Value& map, const FieldKey& key);

// Equality of CEL: numbers by value across types, lists and maps by content; false if the kinds
// differ. May report an error (kError) if an opaque type cannot be compared.
bool equal(const Value& a, const Value& b);
// The same with a budget of elements to look at. A value with shared parts can be far larger than
// its memory. If `budget` has become 0, the answer has no meaning.
bool equal(const Value& a, const Value& b, std::uint64_t& budget);
// Whether its content, written out, has at most `room` elements (a text counts one for each sixteen
// bytes). Subtracts them from `room`.
bool fits(const Value& v, std::uint64_t& room);
// -1, 0, 1; or 2 when one is NaN. Only for two numbers, strings, bytes, bools, timestamps or
// durations.
int compare(const Value& a, const Value& b);
bool is_number(const Value& v);
bool is_valid_key(const Value& v);
bool is_zero(const Value& v);  // as optional.ofNonZeroValue understands it

// a + b for lists that are sets or have keys: elements of b replace equal elements of a.
Value add_typed_lists(Arena& arena, const Value& a, const Value& b);

std::string_view type_name(const Value& v);  // "int", "list", "google.protobuf.Timestamp"
std::uint64_t code_points(std::string_view text);
// The size of a value for the cost: code points, bytes, elements, or 1.
std::uint64_t actual_size(const Value& v);

// A list or map that is being made in an arena.
class ListBuilder {
 public:
  explicit ListBuilder(Arena& arena) : arena_(arena) {}
  void add(const Value& v);
  void reserve(std::size_t n);
  std::size_t size() const { return size_; }
  Value* data() { return items_; }
  Value build() const { return Value::of_items(items_, size_); }

 private:
  Arena& arena_;
  Value* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

class MapBuilder {
 public:
  explicit MapBuilder(Arena& arena) : keys_(arena), values_(arena), arena_(arena) {}
  bool add(const Value& key, const Value& value);      // false if the key is present already
  void replace(const Value& key, const Value& value);  // of a key that is present
  Value build(std::string_view type_name = {});

 private:
  std::size_t find(const Value& key) const;
  void rehash(std::size_t capacity);
  ListBuilder keys_;
  ListBuilder values_;
  Arena& arena_;
  std::uint32_t* index_ = nullptr;
  std::uint32_t mask_ = 0;
};

// The same value with a copy of everything that it points to in `arena`.
Value copy_value(Arena& arena, const Value& v);
// As JSON, if it has such a form: bytes as base64, timestamps and durations as text.
bool to_json(const Value& v, json::Value& out);

}  // namespace cardea::cel

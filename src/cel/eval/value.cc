#include "cel/eval/value.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/strings.h"
#include "cel/eval/opaque.h"
#include "cel/eval/time.h"

namespace cardea::cel {

Value Value::of_json(const json::Value& document) {
  using K = json::Value::Kind;
  if (document.is_string()) return of_text(document.as_string());
  switch (document.kind()) {
    case K::kNull:
      return null();
    case K::kBool:
      return of(document.as_bool());
    case K::kInt:
      return of_int(document.as_int());
    case K::kDouble:
      return of_double(document.as_double());
    case K::kString:
      return of_text(document.as_string());
    case K::kArray: {
      Value v = of_kind(Kind::kList);
      v.form = kJson;
      v.size = static_cast<std::uint32_t>(document.items().size());
      v.json_items = document.items().data();
      return v;
    }
    case K::kObject: {
      Value v = of_kind(Kind::kMap);
      v.form = kJson;
      v.size = static_cast<std::uint32_t>(document.members().size());
      v.json_members = document.members().data();
      return v;
    }
  }
  return null();
}

Value list_at(const Value& list, std::size_t index) {
  return list.form != Value::kOwn ? Value::of_json(list.json_items[index]) : list.items[index];
}

Value map_key(const Value& map, std::size_t index) {
  return map.form != Value::kOwn ? Value::of_text(map.json_members[index].key())
                                 : map.map->keys[index];
}

Value map_value(const Value& map, std::size_t index) {
  return map.form != Value::kOwn ? Value::of_json(map.json_members[index].value)
                                 : map.map->values[index];
}

bool is_number(const Value& v) {
  return v.kind == Kind::kInt || v.kind == Kind::kUint || v.kind == Kind::kDouble;
}

bool is_valid_key(const Value& v) {
  return v.kind == Kind::kBool || v.kind == Kind::kInt || v.kind == Kind::kUint ||
         v.kind == Kind::kString;
}

namespace {

int order(auto a, auto b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

// Compared as doubles, as CEL's own tests expect: integers near 2^63 with the same double are
// equal.
int compare_int_double(std::int64_t i, double d) {
  if (std::isnan(d)) return 2;
  if (d > 9223372036854775808.0) return -1;
  if (d < -9223372036854775808.0) return 1;
  return order(static_cast<double>(i), d);
}

int compare_uint_double(std::uint64_t u, double d) {
  if (std::isnan(d)) return 2;
  if (d > 18446744073709551616.0) return -1;
  if (d < 0) return 1;
  return order(static_cast<double>(u), d);
}

int flipped(int o) {
  return o == 2 ? 2 : -o;
}

int compare_numbers(const Value& a, const Value& b) {
  if (a.kind == b.kind) {
    if (a.kind == Kind::kInt) return order(a.integer, b.integer);
    if (a.kind == Kind::kUint) return order(a.natural, b.natural);
    if (std::isnan(a.real) || std::isnan(b.real)) return 2;
    return order(a.real, b.real);
  }
  if (b.kind == Kind::kDouble)
    return a.kind == Kind::kInt ? compare_int_double(a.integer, b.real)
                                : compare_uint_double(a.natural, b.real);
  if (a.kind == Kind::kDouble) return flipped(compare_numbers(b, a));
  if (a.kind == Kind::kInt)
    return a.integer < 0 ? -1 : order(static_cast<std::uint64_t>(a.integer), b.natural);
  return flipped(compare_numbers(b, a));
}

std::uint64_t mix(std::uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33;
  return h;
}

// Equal keys have equal hashes: whole doubles and unsigned integers hash as integers.
std::uint64_t hash_key(const Value& key) {
  switch (key.kind) {
    case Kind::kString:
      return std::hash<std::string_view>{}(key.string());
    case Kind::kBool:
      return mix(key.boolean ? 1 : 2);
    case Kind::kInt:
      return mix(static_cast<std::uint64_t>(key.integer));
    case Kind::kUint:
      return mix(key.natural);
    case Kind::kDouble:
      if (key.real >= -9223372036854775808.0 && key.real < 9223372036854775808.0)
        return mix(static_cast<std::uint64_t>(static_cast<std::int64_t>(key.real)));
      if (key.real >= 0 && key.real < 18446744073709551616.0)
        return mix(static_cast<std::uint64_t>(key.real));
      return 0;
    default:
      return 0;
  }
}

const json::Member* json_find(const Value& map, std::string_view key) {
  const json::Member* low = map.json_members;
  std::size_t count = map.size;
  if (count <= 8) {  // with few members, comparing lengths and bytes is faster than a search
    for (const json::Member* m = low; m != low + count; ++m) {
      const std::string_view name = m->name.as_string();
      if (name.size() == key.size() && std::memcmp(name.data(), key.data(), key.size()) == 0)
        return m;
    }
    return nullptr;
  }
  while (count > 0) {
    const std::size_t half = count / 2;
    const int c = low[half].key().compare(key);
    if (c == 0) return low + half;
    if (c < 0) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return nullptr;
}

}  // namespace

int compare(const Value& a, const Value& b) {
  if (is_number(a)) return compare_numbers(a, b);
  switch (a.kind) {
    case Kind::kString:
    case Kind::kBytes: {
      const int c = a.string().compare(b.string());  // UTF-8 order is code point order
      return c < 0 ? -1 : (c > 0 ? 1 : 0);
    }
    case Kind::kBool:
      return order(a.boolean, b.boolean);
    case Kind::kDuration:
      return order(a.integer, b.integer);
    case Kind::kTimestamp:
      return a.integer != b.integer ? order(a.integer, b.integer) : order(a.size, b.size);
    default:
      return 0;
  }
}

Value map_find(const Value& map, std::string_view key) {
  if (map.form != Value::kOwn) {
    const json::Member* member = json_find(map, key);
    return member != nullptr ? Value::of_json(member->value) : Value();
  }
  return map_find(map, Value::of_text(key));
}

FieldKey::FieldKey(std::string_view name) : text(name) {
  static_assert(sizeof(json::Value) == sizeof image);
  const json::Value value(name);
  // Two values made separately have the same bytes only if the text is inside them.
  is_short = value.same(json::Value(name));
  std::memcpy(image, static_cast<const void*>(&value), sizeof image);
}

Value map_find(const Value& map, const FieldKey& key) {
  constexpr std::uint32_t kFew = 16;
  if (map.form != Value::kJson || !key.is_short || map.size > kFew) return map_find(map, key.text);
  for (const json::Member *m = map.json_members, *end = m + map.size; m != end; ++m)
    if (std::memcmp(static_cast<const void*>(&m->name), key.image, sizeof key.image) == 0)
      return Value::of_json(m->value);
  return {};
}

// A double finds the integer that has exactly its value.
static bool whole_key(const Value& key, Value& out) {
  if (std::trunc(key.real) != key.real) return false;
  if (key.real >= -9223372036854775808.0 && key.real < 9223372036854775808.0)
    out = Value::of_int(static_cast<std::int64_t>(key.real));
  else if (key.real >= 0 && key.real < 18446744073709551616.0)
    out = Value::of_uint(static_cast<std::uint64_t>(key.real));
  else
    return false;
  return true;
}

Value map_find(const Value& map, const Value& key) {
  if (key.kind == Kind::kDouble) {
    Value whole;
    return whole_key(key, whole) ? map_find(map, whole) : Value();
  }
  if (map.form != Value::kOwn) return key.is_string() ? map_find(map, key.string()) : Value();
  const MapNode& node = *map.map;
  if (node.index == nullptr && key.is_string()) {
    for (std::uint32_t i = 0; i < map.size; ++i)
      if (node.keys[i].is_string() && node.keys[i].string() == key.string()) return node.values[i];
    return {};
  }
  if (node.index == nullptr) {
    for (std::uint32_t i = 0; i < map.size; ++i)
      if (equal(node.keys[i], key)) return node.values[i];
    return {};
  }
  for (std::uint64_t at = hash_key(key);; ++at) {
    const std::uint32_t entry = node.index[at & node.mask];
    if (entry == 0) return {};
    if (equal(node.keys[entry - 1], key)) return node.values[entry - 1];
  }
}

namespace {

bool same_keys(const Value& keys, const Value& a, const Value& b) {
  if (a.kind != Kind::kMap || b.kind != Kind::kMap) return false;
  for (std::uint32_t i = 0; i < keys.size; ++i) {
    const Value x = map_find(a, list_at(keys, i));
    const Value y = map_find(b, list_at(keys, i));
    if (x.kind != y.kind || (x.kind != Kind::kAbsent && !equal(x, y))) return false;
  }
  return true;
}

// Each element of `a` has an equal element in `b`.
bool all_within(const Value& a, const Value& b, std::uint64_t& budget) {
  for (std::uint32_t i = 0; i < a.size; ++i) {
    bool found = false;
    for (std::uint32_t k = 0; !found && k < b.size; ++k)
      found = equal(list_at(a, i), list_at(b, k), budget);
    if (!found) return false;
  }
  return true;
}

constexpr std::uint64_t kLookup = 4;  // the work of finding a key, as a number of comparisons

bool spend(std::uint64_t& budget, std::uint64_t units) {
  budget = budget > units ? budget - units : 0;
  return budget != 0;
}

}  // namespace

Value add_typed_lists(Arena& arena, const Value& a, const Value& b) {
  ListBuilder out(arena);
  const Value keys = a.list_type == Value::kKeyed ? a.items[-1] : Value();
  out.add(keys);
  for (std::uint32_t i = 0; i < a.size; ++i) out.add(list_at(a, i));
  for (std::uint32_t i = 0; i < b.size; ++i) {
    const Value item = list_at(b, i);
    std::size_t at = 1;
    for (; at < out.size(); ++at)
      if (a.list_type == Value::kSet ? equal(out.data()[at], item)
                                     : same_keys(keys, out.data()[at], item))
        break;
    if (at == out.size())
      out.add(item);
    else
      out.data()[at] = item;
  }
  Value v = Value::of_items(out.data() + 1, out.size() - 1);
  v.list_type = a.list_type;
  return v;
}

bool equal(const Value& a, const Value& b) {
  std::uint64_t budget = std::numeric_limits<std::uint64_t>::max();
  return equal(a, b, budget);
}

bool equal(const Value& a, const Value& b, std::uint64_t& budget) {
  if (!spend(budget, 1)) return false;
  if (a.kind != b.kind) return is_number(a) && is_number(b) && compare_numbers(a, b) == 0;
  switch (a.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.boolean == b.boolean;
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration:
      return a.integer == b.integer;
    case Kind::kDouble:
      return a.real == b.real;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return a.size == b.size && spend(budget, a.size / sizeof(Value)) && a.string() == b.string();
    case Kind::kTimestamp:
      return a.integer == b.integer && a.size == b.size;
    case Kind::kOptional:
      return a.size == b.size && (a.size == 0 || equal(*a.inner, *b.inner, budget));
    case Kind::kList:
      if (a.size != b.size) return false;
      if (a.list_type != Value::kAtomic || b.list_type != Value::kAtomic)
        return all_within(a, b, budget) && all_within(b, a, budget);
      for (std::uint32_t i = 0; i < a.size; ++i)
        if (!equal(list_at(a, i), list_at(b, i), budget)) return false;
      return true;
    case Kind::kMap:
      if (a.size != b.size) return false;
      for (std::uint32_t i = 0; i < a.size; ++i) {
        if (!spend(budget, kLookup)) return false;
        const Value other = map_find(b, map_key(a, i));
        if (other.kind == Kind::kAbsent || !equal(map_value(a, i), other, budget)) return false;
      }
      return true;
    default:
      return equal_opaque(a, b);
  }
}

bool fits(const Value& v, std::uint64_t& room) {
  const bool text = v.kind == Kind::kString || v.kind == Kind::kBytes;
  if (!spend(room, 1 + (text ? v.size / sizeof(Value) : 0))) return false;
  if (v.kind == Kind::kOptional) return v.size == 0 || fits(*v.inner, room);
  if (v.kind != Kind::kList && v.kind != Kind::kMap) return true;
  for (std::uint32_t i = 0; i < v.size; ++i) {
    if (v.kind == Kind::kList ? !fits(list_at(v, i), room)
                              : !fits(map_key(v, i), room) || !fits(map_value(v, i), room))
      return false;
  }
  return true;
}

bool is_zero(const Value& v) {
  switch (v.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !v.boolean;
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration:
      return v.integer == 0;
    case Kind::kDouble:
      return v.real == 0;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kMap:
      return v.size == 0;
    case Kind::kTimestamp:
      return v.integer == kFirstSecond && v.size == 0;
    default:
      return false;  // also an optional without a value
  }
}

std::string_view type_name(const Value& v) {
  static constexpr std::string_view kNames[] = {"absent",
                                                "null_type",
                                                "bool",
                                                "int",
                                                "uint",
                                                "double",
                                                "string",
                                                "bytes",
                                                "google.protobuf.Timestamp",
                                                "google.protobuf.Duration",
                                                "list",
                                                "map",
                                                "type",
                                                "optional_type",
                                                "net.IP",
                                                "net.CIDR",
                                                "kubernetes.URL",
                                                "kubernetes.Quantity",
                                                "kubernetes.Semver",
                                                "kubernetes.NamedFormat",
                                                "kubernetes.authorization.Authorizer",
                                                "kubernetes.authorization.PathCheck",
                                                "kubernetes.authorization.GroupCheck",
                                                "kubernetes.authorization.ResourceCheck",
                                                "kubernetes.authorization.Decision",
                                                "lazy",
                                                "error"};
  if (v.kind == Kind::kMap && v.form == Value::kOwn && v.map != nullptr &&
      !v.map->type_name.empty())
    return v.map->type_name;
  return kNames[static_cast<int>(v.kind)];
}

std::uint64_t code_points(std::string_view text) {
  // Bytes that continue a code point begin with the bits 10. Eight bytes are tested together.
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  std::uint64_t continued = 0;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    continued += static_cast<std::uint64_t>(std::popcount((word >> 7) & ~(word >> 6) & kOnes));
  }
  for (; i < text.size(); ++i) continued += (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  return text.size() - continued;
}

std::uint64_t actual_size(const Value& v) {
  switch (v.kind) {
    case Kind::kString:
      return code_points(v.string());
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kMap:
      return v.size;
    case Kind::kOptional:
      return v.size == 0 ? 1 : actual_size(*v.inner);
    case Kind::kIp:
      return ip_of(v).width();
    case Kind::kCidr:
      return (cidr_of(v).prefix + 7) / 8;
    default:
      return 1;
  }
}

void ListBuilder::reserve(std::size_t n) {
  if (n <= capacity_) return;
  auto* grown = static_cast<Value*>(arena_.allocate(n * sizeof(Value)));
  if (size_ > 0) std::memcpy(static_cast<void*>(grown), items_, size_ * sizeof(Value));
  items_ = grown;
  capacity_ = n;
}

void ListBuilder::add(const Value& v) {
  if (size_ == capacity_) reserve(capacity_ == 0 ? 4 : capacity_ * 2);
  items_[size_++] = v;
}

std::size_t MapBuilder::find(const Value& key) const {
  auto& keys = const_cast<ListBuilder&>(keys_);
  if (index_ == nullptr) {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (equal(keys.data()[i], key)) return i + 1;
    return 0;
  }
  for (std::uint64_t at = hash_key(key);; ++at) {
    const std::uint32_t entry = index_[at & mask_];
    if (entry == 0 || equal(keys.data()[entry - 1], key)) return entry;
  }
}

void MapBuilder::rehash(std::size_t capacity) {
  const std::span<std::uint32_t> table = arena_.array<std::uint32_t>(capacity);
  index_ = table.data();
  mask_ = static_cast<std::uint32_t>(capacity - 1);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    std::uint64_t at = hash_key(keys_.data()[i]);
    while (index_[at & mask_] != 0) ++at;
    index_[at & mask_] = static_cast<std::uint32_t>(i + 1);
  }
}

bool MapBuilder::add(const Value& key, const Value& value) {
  if (find(key) != 0) return false;
  keys_.add(key);
  values_.add(value);
  const std::size_t count = keys_.size();
  if (index_ != nullptr && count * 2 <= mask_) {
    std::uint64_t at = hash_key(key);
    while (index_[at & mask_] != 0) ++at;
    index_[at & mask_] = static_cast<std::uint32_t>(count);
  } else if (count > 8) {
    rehash(std::bit_ceil(count * 4));
  }
  return true;
}

void MapBuilder::replace(const Value& key, const Value& value) {
  values_.data()[find(key) - 1] = value;
}

Value MapBuilder::build(std::string_view name) {
  auto* node = arena_.make<MapNode>();
  node->keys = keys_.data();
  node->values = values_.data();
  node->index = index_;
  node->mask = mask_;
  node->type_name = name;
  return Value::of_map(node, keys_.size());
}

Value copy_value(Arena& arena, const Value& v) {
  Value out = v;
  switch (v.kind) {
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      out.text = arena.copy(v.string()).data();
      return out;
    case Kind::kOptional:
      if (v.size != 0) out.inner = arena.make<Value>(copy_value(arena, *v.inner));
      return out;
    case Kind::kList: {
      ListBuilder list(arena);
      list.reserve(v.size);
      for (std::uint32_t i = 0; i < v.size; ++i) list.add(copy_value(arena, list_at(v, i)));
      return list.build();
    }
    case Kind::kMap: {
      MapBuilder map(arena);
      for (std::uint32_t i = 0; i < v.size; ++i)
        map.add(copy_value(arena, map_key(v, i)), copy_value(arena, map_value(v, i)));
      return map.build(v.form == Value::kOwn && v.map != nullptr ? arena.copy(v.map->type_name)
                                                                 : std::string_view());
    }
    case Kind::kError:
      out.error = arena.make<ErrorNode>(
          ErrorNode{arena.copy(v.error->message), v.error->position, v.error->fatal});
      return out;
    case Kind::kNull:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kTimestamp:
    case Kind::kDuration:
    case Kind::kAbsent:
    case Kind::kLazy:
      return out;
    default:
      return copy_opaque(arena, v);
  }
}

bool to_json(const Value& v, json::Value& out) {
  switch (v.kind) {
    case Kind::kNull:
      out = json::Value();
      return true;
    case Kind::kBool:
      out = json::Value(v.boolean);
      return true;
    case Kind::kInt:
      out = json::Value(v.integer);
      return true;
    case Kind::kUint:
      if (v.natural > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        out = json::Value(static_cast<double>(v.natural));
      else
        out = json::Value(static_cast<std::int64_t>(v.natural));
      return true;
    case Kind::kDouble:
      out = json::Value(v.real);
      return std::isfinite(v.real);
    case Kind::kString:
      out = json::Value(v.string());
      return true;
    case Kind::kBytes:
      out = json::Value(base64(v.string()));
      return true;
    case Kind::kTimestamp:
      out = json::Value(print_timestamp(v));
      return true;
    case Kind::kDuration:
      out = json::Value(print_duration(v.integer));
      return true;
    case Kind::kOptional:
      if (v.size == 0) {
        out = json::Value();
        return true;
      }
      return to_json(*v.inner, out);
    case Kind::kList: {
      std::vector<json::Value> items(v.size);
      for (std::uint32_t i = 0; i < v.size; ++i)
        if (!to_json(list_at(v, i), items[i])) return false;
      out = json::Value::array(std::move(items));
      return true;
    }
    case Kind::kMap: {
      std::vector<json::Member> members(v.size);
      for (std::uint32_t i = 0; i < v.size; ++i) {
        const Value key = map_key(v, i);
        if (!key.is_string() || !to_json(map_value(v, i), members[i].value)) return false;
        members[i].name = json::Value(key.string());
      }
      out = json::Value::object(std::move(members));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace cardea::cel

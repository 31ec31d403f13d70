#include "json/value.h"

#include <algorithm>
#include <new>

#include "base/result.h"

namespace cardea::json {

struct Value::Text : Node {
  std::size_t length;
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }

  static Text* make(std::string_view text) {
    void* memory = ::operator new(sizeof(Text) + text.size());
    Text* t = new (memory) Text;
    t->length = text.size();
    std::memcpy(t->bytes(), text.data(), text.size());
    return t;
  }
};

struct Value::Array : Node {
  std::vector<Value> items;
};

struct Value::Object : Node {
  std::vector<Member> members;

  // The first member whose key is not less than `key`.
  std::size_t position(std::string_view key) const {
    std::size_t n = members.size();
    if (n <= 8) {
      std::size_t i = 0;
      while (i < n && members[i].key() < key) ++i;
      return i;
    }
    auto at = std::lower_bound(members.begin(), members.end(), key,
                               [](const Member& m, std::string_view k) { return m.key() < k; });
    return static_cast<std::size_t>(at - members.begin());
  }
};

namespace {

// Makes room for one more at `at`, or closes the gap there. Values hold no pointer to themselves,
// so that they are moved as bytes: many times faster than one by one.
template <typename T>
void open_gap(std::vector<T>& all, std::size_t at, T filling) {
  all.emplace_back();
  void* gap = static_cast<void*>(all.data() + at);
  std::memmove(static_cast<void*>(all.data() + at + 1), gap, (all.size() - 1 - at) * sizeof(T));
  new (gap) T(std::move(filling));
}

template <typename T>
void close_gap(std::vector<T>& all, std::size_t at) {
  T taken = std::move(all[at]);
  void* gap = static_cast<void*>(all.data() + at);
  std::memmove(gap, static_cast<const void*>(all.data() + at + 1),
               (all.size() - 1 - at) * sizeof(T));
  new (static_cast<void*>(all.data() + all.size() - 1)) T();
  all.pop_back();
}

}  // namespace

Value::Value(std::string_view text) : Value() {
  if (text.size() <= kShortMax) {
    raw_[0] = kShortTag;
    raw_[1] = static_cast<unsigned char>(text.size());
    if (!text.empty())
      std::memcpy(raw_ + 2, text.data(), text.size());  // an empty view may point nowhere
  } else {
    set_node(kLongTag, Text::make(text));
  }
}

Value Value::array(std::vector<Value> items) {
  auto* a = new Array;
  a->items = std::move(items);
  Value v;
  v.set_node(kArrayTag, a);
  return v;
}

Value Value::object(std::vector<Member> members) {
  auto before = [](const Member& a, const Member& b) { return a.key() < b.key(); };
  if (!std::is_sorted(members.begin(), members.end(), before))
    std::stable_sort(members.begin(), members.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (kept && members[kept - 1].key() == members[i].key())
      members[kept - 1].value.swap(members[i].value);
    else if (kept++ != i)
      members[kept - 1] = std::move(members[i]);
  }
  members.resize(kept);
  auto* o = new Object;
  o->members = std::move(members);
  Value v;
  v.set_node(kObjectTag, o);
  return v;
}

Value Value::object(std::initializer_list<std::pair<std::string_view, Value>> list) {
  std::vector<Member> members;
  members.reserve(list.size());
  for (const auto& [key, value] : list) members.push_back({key, value});
  return object(std::move(members));
}

void Value::swap(Value& other) noexcept {
  unsigned char t[sizeof raw_];
  std::memcpy(t, raw_, sizeof raw_);
  std::memcpy(raw_, other.raw_, sizeof raw_);
  std::memcpy(other.raw_, t, sizeof raw_);
}

void Value::release() noexcept {
  Node* n = node();
  if (n->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  switch (raw_[0]) {
    case kLongTag: {
      auto* t = static_cast<Text*>(n);
      t->~Text();
      ::operator delete(t);
      break;
    }
    case kArrayTag:
      delete static_cast<Array*>(n);
      break;
    default:
      delete static_cast<Object*>(n);
      break;
  }
}

std::int64_t Value::as_int() const noexcept {
  if (is_int()) {
    std::int64_t i;
    std::memcpy(&i, raw_ + 8, 8);
    return i;
  }
  if (!is_double()) return 0;
  double d = as_double();
  if (!(d > -9.2233720368547758e18 && d < 9.2233720368547758e18)) return 0;
  return static_cast<std::int64_t>(d);
}

double Value::as_double() const noexcept {
  if (is_int()) return static_cast<double>(as_int());
  if (!is_double()) return 0;
  double d;
  std::memcpy(&d, raw_ + 8, 8);
  return d;
}

std::string_view Value::long_text() const noexcept {
  if (raw_[0] != kLongTag) return {};
  auto* t = static_cast<const Text*>(node());
  return {t->bytes(), t->length};
}

std::span<const Value> Value::items() const noexcept {
  if (!is_array()) return {};
  return static_cast<const Array*>(node())->items;
}

std::span<const Member> Value::members() const noexcept {
  if (!is_object()) return {};
  return static_cast<const Object*>(node())->members;
}

std::size_t Value::size() const noexcept {
  return is_array() ? items().size() : members().size();
}

namespace {
const Value kNull;
}

const Value* Value::find(std::string_view key) const noexcept {
  if (!is_object()) return nullptr;
  auto* o = static_cast<const Object*>(node());
  std::size_t at = o->position(key);
  if (at == o->members.size() || o->members[at].key() != key) return nullptr;
  return &o->members[at].value;
}

const Value& Value::operator[](std::string_view key) const noexcept {
  const Value* v = find(key);
  return v ? *v : kNull;
}

const Value& Value::operator[](std::size_t index) const noexcept {
  auto all = items();
  return index < all.size() ? all[index] : kNull;
}

Value::Array& Value::own_array() {
  if (is_null()) *this = array();
  CARDEA_CHECK(is_array());
  auto* a = static_cast<Array*>(node());
  if (a->references.load(std::memory_order_acquire) != 1) {
    *this = array(a->items);
    a = static_cast<Array*>(node());
  }
  return *a;
}

Value::Object& Value::own_object() {
  if (is_null()) *this = object(std::vector<Member>{});
  CARDEA_CHECK(is_object());
  auto* o = static_cast<Object*>(node());
  if (o->references.load(std::memory_order_acquire) != 1) {
    *this = object(o->members);
    o = static_cast<Object*>(node());
  }
  return *o;
}

Value& Value::member(std::string_view key) {
  Object& o = own_object();
  std::size_t at = o.position(key);
  if (at == o.members.size() || o.members[at].key() != key)
    open_gap(o.members, at, Member{key, Value()});
  return o.members[at].value;
}

Value& Value::set(std::string_view key, Value value) {
  Value& m = member(key);
  m = std::move(value);
  return m;
}

bool Value::erase(std::string_view key) {
  if (!has(key)) return false;
  Object& o = own_object();
  close_gap(o.members, o.position(key));
  return true;
}

Value& Value::item(std::size_t index) {
  Array& a = own_array();
  CARDEA_CHECK(index < a.items.size());
  return a.items[index];
}

void Value::push_back(Value value) {
  own_array().items.push_back(std::move(value));
}

void Value::erase_item(std::size_t index) {
  Array& a = own_array();
  CARDEA_CHECK(index < a.items.size());
  close_gap(a.items, index);
}

void Value::insert_item(std::size_t index, Value value) {
  Array& a = own_array();
  CARDEA_CHECK(index <= a.items.size());
  open_gap(a.items, index, std::move(value));
}

bool operator==(const Value& a, const Value& b) noexcept {
  if (a.same(b)) return true;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kNull:
      return true;
    case Value::Kind::kBool:
      return a.as_bool() == b.as_bool();
    case Value::Kind::kInt:
      return a.as_int() == b.as_int();
    case Value::Kind::kDouble:
      return a.as_double() == b.as_double();
    case Value::Kind::kString:
      return a.as_string() == b.as_string();
    case Value::Kind::kArray:
      return std::ranges::equal(a.items(), b.items());
    case Value::Kind::kObject:
      return std::ranges::equal(a.members(), b.members());
  }
  return false;
}

}  // namespace cardea::json

#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cardea::json {

struct Member;

// A JSON value: sixteen bytes that hold a scalar or short text, or share a node with other values.
//
// Copying shares; nothing that is shared is ever modified. The editing functions (set, member,
// push_back...) change this Value alone: a node that others share is copied first, one level at a
// time, so an edit costs the path to what changed. Members of an object are kept sorted by key.
//
// Reading from several threads is safe. Editing needs a Value of one's own (a copy is enough).
// References and string_views obtained from a Value live as long as it, unedited.
class Value {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  Value() noexcept { std::memset(raw_, 0, sizeof raw_); }
  Value(bool b) noexcept : Value() {
    raw_[0] = kBoolTag;
    raw_[8] = b;
  }
  Value(std::int64_t i) noexcept : Value() {
    raw_[0] = kIntTag;
    std::memcpy(raw_ + 8, &i, 8);
  }
  Value(int i) noexcept : Value(static_cast<std::int64_t>(i)) {}
  Value(double d) noexcept : Value() {
    raw_[0] = kDoubleTag;
    std::memcpy(raw_ + 8, &d, 8);
  }
  Value(std::string_view text);
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(const std::string& text) : Value(std::string_view(text)) {}

  static Value array(std::vector<Value> items = {});
  // Sorts the members; of equal keys the last one stays.
  static Value object(std::vector<Member> members);
  static Value object(std::initializer_list<std::pair<std::string_view, Value>> members = {});

  Value(const Value& other) noexcept {
    std::memcpy(raw_, other.raw_, sizeof raw_);
    if (is_shared_node()) retain();
  }
  Value(Value&& other) noexcept {
    std::memcpy(raw_, other.raw_, sizeof raw_);
    std::memset(other.raw_, 0, sizeof raw_);
  }
  Value& operator=(Value other) noexcept {
    swap(other);
    return *this;
  }
  ~Value() {
    if (is_shared_node()) release();
  }
  void swap(Value& other) noexcept;

  Kind kind() const noexcept {
    static constexpr Kind kKinds[] = {Kind::kNull,   Kind::kBool,   Kind::kInt,   Kind::kDouble,
                                      Kind::kString, Kind::kString, Kind::kArray, Kind::kObject};
    return kKinds[raw_[0]];
  }
  bool is_null() const noexcept { return raw_[0] == kNullTag; }
  bool is_bool() const noexcept { return raw_[0] == kBoolTag; }
  bool is_int() const noexcept { return raw_[0] == kIntTag; }
  bool is_double() const noexcept { return raw_[0] == kDoubleTag; }
  bool is_number() const noexcept { return is_int() || is_double(); }
  bool is_string() const noexcept { return raw_[0] == kShortTag || raw_[0] == kLongTag; }
  bool is_array() const noexcept { return raw_[0] == kArrayTag; }
  bool is_object() const noexcept { return raw_[0] == kObjectTag; }

  // Each gives a neutral answer (false, 0, "", nothing) when the value is of another kind.
  bool as_bool() const noexcept { return is_bool() && raw_[8]; }
  std::int64_t as_int() const noexcept;  // a double is truncated
  double as_double() const noexcept;     // an int is converted
  std::string_view as_string() const noexcept {
    if (raw_[0] == kShortTag) return {reinterpret_cast<const char*>(raw_ + 2), raw_[1]};
    return long_text();
  }
  std::span<const Value> items() const noexcept;
  std::span<const Member> members() const noexcept;
  std::size_t size() const noexcept;  // of an array or object, else 0
  bool empty() const noexcept { return size() == 0; }

  // The member or item, or null: `v["metadata"]["labels"]["app"]` is safe on anything.
  const Value& operator[](std::string_view key) const noexcept;
  const Value& operator[](const char* key) const noexcept { return (*this)[std::string_view(key)]; }
  const Value& operator[](std::size_t index) const noexcept;
  const Value& operator[](int index) const noexcept {
    return (*this)[static_cast<std::size_t>(index)];
  }
  const Value* find(std::string_view key) const noexcept;  // nullptr when absent or no object
  bool has(std::string_view key) const noexcept { return find(key) != nullptr; }

  // Editing. An object function on null makes an object of it first, an array function an array;
  // on any other kind it is a bug.
  Value& set(std::string_view key, Value value);  // returns the member
  Value& member(std::string_view key);            // adds null when absent
  bool erase(std::string_view key);               // whether it was there
  Value& item(std::size_t index);
  void push_back(Value value);
  void erase_item(std::size_t index);
  void insert_item(std::size_t index, Value value);

  // Deep equality. 1 and 1.0 differ, as they do in Kubernetes.
  friend bool operator==(const Value& a, const Value& b) noexcept;

  // True when both share the same node (or are equal scalars): a cheap proof of equality.
  bool same(const Value& other) const noexcept {
    return std::memcmp(raw_, other.raw_, sizeof raw_) == 0;
  }

 private:
  struct Text;
  struct Array;
  struct Object;
  struct Node {
    std::atomic<std::uint32_t> references{1};
  };

  enum Tag : unsigned char {
    kNullTag,
    kBoolTag,
    kIntTag,
    kDoubleTag,
    kShortTag,
    kLongTag,
    kArrayTag,
    kObjectTag
  };
  static constexpr std::size_t kShortMax = 14;

  std::string_view long_text() const noexcept;
  bool is_shared_node() const noexcept { return raw_[0] >= kLongTag; }
  Node* node() const noexcept {
    Node* n;
    std::memcpy(&n, raw_ + 8, sizeof n);
    return n;
  }
  void set_node(unsigned char tag, Node* n) noexcept {
    raw_[0] = tag;
    std::memcpy(raw_ + 8, &n, sizeof n);
  }
  void retain() const noexcept { node()->references.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  Array& own_array();
  Object& own_object();

  // raw_[0] is the tag. Short text: raw_[1] its length, raw_[2..] its bytes. Scalars and nodes at
  // raw_ + 8.
  alignas(8) unsigned char raw_[16];
};

// One member of an object.
struct Member {
  Value name;  // always a string
  Value value;
  std::string_view key() const noexcept { return name.as_string(); }
  friend bool operator==(const Member& a, const Member& b) noexcept {
    return a.name == b.name && a.value == b.value;
  }
};

}  // namespace cardea::json

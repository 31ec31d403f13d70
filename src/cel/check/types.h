#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cardea::cel {

// A type as the checker sees it. Compared by structure with same_type().
struct Type {
  enum Kind {
    kDyn,
    kError,
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
    kOpaque,
    kObject,
    kParam
  };
  Kind kind = kDyn;
  std::string name;                 // of opaque, object and parameter types
  std::vector<const Type*> params;  // element; key and value; the type of a type
  bool nullable = false;            // a wrapper type: the value or null
};

// A declared record: its fields and their types. Selecting another field is a compile error.
struct ObjectType {
  std::string name;
  std::map<std::string, const Type*, std::less<>> fields;
};

// Owns types. Pointers stay valid as long as the pool.
class TypePool {
 public:
  const Type* simple(Type::Kind kind) const { return &simple_[kind]; }
  const Type* dyn() const { return simple(Type::kDyn); }
  const Type* list(const Type* element);
  const Type* map(const Type* key, const Type* value);
  const Type* type_of(const Type* inner);
  const Type* optional(const Type* inner);
  const Type* opaque(std::string_view name);
  const Type* object(std::string_view name);
  const Type* param(std::string_view name);
  const Type* wrapper(Type::Kind kind);
  const Type* make(Type type);
  // Reads the notation of declaration tables: `int`, `list(A)`, `map(K, V)`, `optional(V)`,
  // `type(A)`, `net.IP`. One capital letter is a parameter; a name that begins with `.` is an
  // object type.
  const Type* parse(std::string_view text);

  TypePool();
  TypePool(const TypePool&) = delete;

 private:
  const Type* parse_at(std::string_view text, std::size_t& at);
  std::vector<Type> simple_;
  std::deque<Type> made_;
};

bool same_type(const Type* a, const Type* b);
std::string print_type(const Type* type);  // as messages show it: list(int), optional_type(string)

}  // namespace cardea::cel

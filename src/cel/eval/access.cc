#include "cel/eval/access.h"

#include <cmath>

#include "base/strings.h"
#include "cel/check/schema_types.h"
#include "cel/syntax/print.h"

namespace cardea::cel {
namespace {

// The position in a list that an index names, or -1 with `bad` set if there is none.
std::int64_t list_position(const Value& key, bool& bad) {
  bad = false;
  if (key.kind == Kind::kInt) return key.integer;
  if (key.kind == Kind::kUint)
    return key.natural > 0x7FFFFFFF ? -1 : static_cast<std::int64_t>(key.natural);
  if (key.kind == Kind::kDouble && std::trunc(key.real) == key.real && std::fabs(key.real) < 1e15)
    return static_cast<std::int64_t>(key.real);
  bad = true;
  return -1;
}

// A part of claims is also claims.
Value as_claims(Value v) {
  if (v.form == Value::kJson) v.form = Value::kClaims;
  return v;
}

Value element(const Value& list, std::int64_t at) {
  const Value v = list_at(list, static_cast<std::size_t>(at));
  return list.form >= Value::kClaims ? as_claims(v) : v;
}

Value entry(const Value& map, const Value& key) {
  return key.is_string() ? member_of(map, key.string()) : map_find(map, key);
}

bool can_be_key(const Value& key) {
  return is_valid_key(key) || key.kind == Kind::kDouble;
}

}  // namespace

Value member_of(const Value& map, std::string_view key) {
  if (map.form < Value::kClaims) return map_find(map, key);
  if (key.find("__") == key.npos) return as_claims(map_find(map, key));
  if (const auto plain = unescape_property(key)) return as_claims(map_find(map, *plain));
  return map.form == Value::kClaims ? as_claims(map_find(map, key)) : Value();
}

Value select_field(Frame& f, const Value& target, std::string_view field) {
  if (target.kind == Kind::kMap) {
    const Value v = member_of(target, field);
    return v.kind != Kind::kAbsent ? v : f.error(cat("no such key: ", field));
  }
  if (target.kind == Kind::kOptional) {
    bool present = false;
    const Value v = find_field(f, target, field, present);
    if (v.is_error()) return v;
    return present ? f.some(v) : Value::none();
  }
  if (target.kind == Kind::kNull || f.lenient) return f.error(cat("no such key: ", field));
  return f.error(cat("unsupported field selection target: ", type_name(target)));
}

Value find_field(Frame& f, const Value& target, std::string_view field, bool& present) {
  present = false;
  if (target.kind == Kind::kMap) {
    const Value v = member_of(target, field);
    present = v.kind != Kind::kAbsent;
    return v;
  }
  if (target.kind == Kind::kOptional)
    return target.size == 0 ? Value() : find_field(f, *target.inner, field, present);
  if (f.lenient && target.kind != Kind::kList) return {};
  return f.error(cat("no such key: ", field));
}

Value index_value(Frame& f, const Value& target, const Value& key) {
  if (target.kind == Kind::kList) {
    bool bad = false;
    const std::int64_t at = list_position(key, bad);
    if (bad) return f.error(cat("unsupported index type '", type_name(key), "' in list"));
    if (at < 0 || at >= static_cast<std::int64_t>(target.size))
      return f.error(cat("index out of bounds: ", at));
    return element(target, at);
  }
  if (target.kind == Kind::kMap) {
    if (!can_be_key(key)) return f.error(cat("unsupported key type: ", type_name(key)));
    const Value v = entry(target, key);
    return v.kind != Kind::kAbsent
               ? v
               : f.error(cat("no such key: ",
                             key.is_string() ? std::string(key.string()) : print_value(key)));
  }
  if (target.kind == Kind::kOptional) {
    bool present = false;
    const Value v = find_index(f, target, key, present);
    if (v.is_error()) return v;
    return present ? f.some(v) : Value::none();
  }
  return f.no_such_overload();
}

Value find_index(Frame& f, const Value& target, const Value& key, bool& present) {
  present = false;
  if (target.kind == Kind::kOptional)
    return target.size == 0 ? Value() : find_index(f, *target.inner, key, present);
  if (target.kind == Kind::kList) {
    bool bad = false;
    const std::int64_t at = list_position(key, bad);
    if (bad) return f.error(cat("unsupported index type '", type_name(key), "' in list"));
    if (at < 0 || at >= static_cast<std::int64_t>(target.size)) return {};
    present = true;
    return element(target, at);
  }
  if (target.kind == Kind::kMap) {
    if (!can_be_key(key)) return f.error(cat("unsupported key type: ", type_name(key)));
    const Value v = entry(target, key);
    present = v.kind != Kind::kAbsent;
    return v;
  }
  if (f.lenient && key.is_string()) return {};
  return f.no_such_overload();
}

}  // namespace cardea::cel

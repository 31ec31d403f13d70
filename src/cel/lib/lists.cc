#include <bit>

#include "base/strings.h"
#include "cel/cost/cost.h"
#include "cel/eval/frame.h"
#include "cel/eval/sorting.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {
namespace {

using Args = const Value*;
constexpr std::int64_t kMostRange = 1'000'000;

Value slice(Frame& f, Args a, std::size_t) {
  const std::int64_t start = a[1].integer;
  const std::int64_t end = a[2].integer;
  if (start < 0 || end < 0)
    return f.error(cat("cannot slice(", start, ", ", end, "), negative indexes not supported"));
  if (start > end)
    return f.error(cat("cannot slice(", start, ", ", end,
                       "), start index must be less than or equal to end index"));
  if (end > static_cast<std::int64_t>(a[0].size))
    return f.error(cat("cannot slice(", start, ", ", end, "), list is length ", a[0].size));
  Value out = a[0];  // a view of the same items
  out.size = static_cast<std::uint32_t>(end - start);
  if (out.form != Value::kOwn)
    out.json_items += start;
  else
    out.items += start;
  return out;
}

bool flatten_into(Frame& f, ListBuilder& out, const Value& list, std::int64_t depth) {
  for (std::uint32_t i = 0; i < list.size; ++i) {
    const Value v = list_at(list, i);
    if (v.kind == Kind::kList && depth > 0) {
      if (!flatten_into(f, out, v, depth - 1)) return false;
    } else {
      out.add(v);
    }
    f.spend(2);  // the cost counts the outer list only
    if (!f.room_for(0) || f.work == 0) return false;
  }
  return true;
}
Value flatten(Frame& f, Args a, std::size_t n) {
  const std::int64_t depth = n > 1 ? a[1].integer : 1;
  if (depth < 0) return f.error("level must be non-negative");
  ListBuilder out(f.arena);
  if (flatten_into(f, out, a[0], depth)) return out.build();
  return f.work == 0 ? f.over_cost() : f.over_memory();
}

Value range(Frame& f, Args a, std::size_t) {
  const std::int64_t n = a[0].integer;
  if (n < 0) return f.error(cat("lists.range: size must be non-negative, got ", n));
  // The price is its number of elements: a list that costs too much is not made.
  if (static_cast<std::uint64_t>(n) > f.limits.cost) return f.over_cost();
  if (n > kMostRange || !f.room_for(static_cast<std::size_t>(n) * sizeof(Value)))
    return f.over_memory();
  ListBuilder out(f.arena);
  out.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) out.add(Value::of_int(i));
  return out.build();
}

Value reverse(Frame& f, Args a, std::size_t) {
  if (!f.room_for(a[0].size * sizeof(Value))) return f.over_memory();
  ListBuilder out(f.arena);
  out.reserve(a[0].size);
  for (std::uint32_t i = a[0].size; i > 0; --i) out.add(list_at(a[0], i - 1));
  return out.build();
}

Value distinct(Frame& f, Args a, std::size_t) {
  // Quadratic for values that cannot be keys; the cost of the call includes this.
  ListBuilder out(f.arena);
  MapBuilder seen(f.arena);
  for (std::uint32_t i = 0; i < a[0].size; ++i) {
    const Value v = list_at(a[0], i);
    bool fresh = true;
    if (is_valid_key(v) || (v.kind == Kind::kDouble && v.real == v.real)) {
      fresh = seen.add(v, Value::null());
    } else {
      for (std::size_t k = 0; fresh && k < out.size(); ++k) fresh = !f.same(out.data()[k], v);
    }
    if (fresh) out.add(v);
    if (!f.room_for(0) || f.work == 0) return f.over_memory();
  }
  return out.build();
}

Value sort(Frame& f, Args a, std::size_t) {
  // A list without a type costs one.
  f.spend(a[0].size * std::uint64_t{4} * std::bit_width(a[0].size));
  if (f.work == 0) return f.over_cost();
  return sort_with_keys(f, a[0], a[0]);
}
Value sort_keys(Frame& f, Args a, std::size_t) {
  return sort_with_keys(f, a[0], a[1]);
}

#define CEL_SORT(type)                                                                             \
  {"sort", "list_" type "_sort", "list(" type ").() list(" type ")", sort, rule::self_compare, 2}, \
      {"@sortByAssociatedKeys",                                                                    \
       "list_" type "_sortByAssociatedKeys",                                                       \
       "list(T).(list(" type ")) list(T)",                                                         \
       sort_keys,                                                                                  \
       nullptr,                                                                                    \
       2}

constexpr OverloadRow kRows[] = {
    {"slice", "list_slice", "list(T).(int, int) list(T)", slice, rule::made_list},
    {"flatten", "list_flatten", "list(list(T)).() list(T)", flatten, rule::flatten, 1},
    {"flatten", "list_flatten_int", "list(dyn).(int) list(dyn)", flatten, rule::flatten, 1},
    {"lists.range", "lists_range", "(int) list(int)", range, rule::made_list, 2},
    {"reverse", "list_reverse", "list(T).() list(T)", reverse, rule::made_list, 2},
    {"distinct", "list_distinct", "list(T).() list(T)", distinct, rule::self_compare, 2},
    CEL_SORT("int"),
    CEL_SORT("uint"),
    CEL_SORT("double"),
    CEL_SORT("bool"),
    CEL_SORT("duration"),
    CEL_SORT("timestamp"),
    CEL_SORT("string"),
    CEL_SORT("bytes"),
};

}  // namespace

std::span<const OverloadRow> lists_overloads() {
  return kRows;
}

}  // namespace cardea::cel

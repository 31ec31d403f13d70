#include "cel/cost/cost.h"
#include "cel/eval/frame.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {
namespace {

using Args = const Value*;

bool holds(Frame& f, const Value& list, const Value& v) {
  for (std::uint32_t i = 0; i < list.size && f.work != 0; ++i)
    if (f.same(list_at(list, i), v)) return true;
  return false;
}
bool holds_all(Frame& f, const Value& list, const Value& wanted) {
  for (std::uint32_t i = 0; i < wanted.size; ++i)
    if (!holds(f, list, list_at(wanted, i))) return false;
  return true;
}
Value contains(Frame& f, Args a, std::size_t) {
  return Value::of(holds_all(f, a[0], a[1]));
}
Value equivalent(Frame& f, Args a, std::size_t) {
  return Value::of(holds_all(f, a[0], a[1]) && holds_all(f, a[1], a[0]));
}
Value intersects(Frame& f, Args a, std::size_t) {
  for (std::uint32_t i = 0; i < a[0].size && f.work != 0; ++i)
    if (holds(f, a[1], list_at(a[0], i))) return Value::of(true);
  return Value::of(false);
}

constexpr OverloadRow kRows[] = {
    {"sets.contains", "list_sets_contains_list", "(list(T), list(T)) bool", contains,
     rule::product},
    {"sets.equivalent", "list_sets_equivalent_list", "(list(T), list(T)) bool", equivalent,
     rule::product_twice},
    {"sets.intersects", "list_sets_intersects_list", "(list(T), list(T)) bool", intersects,
     rule::product},
};

}  // namespace

std::span<const OverloadRow> sets_overloads() {
  return kRows;
}

}  // namespace cardea::cel

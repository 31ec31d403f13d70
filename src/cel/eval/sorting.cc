#include "cel/eval/sorting.h"

#include <algorithm>
#include <cmath>

namespace cardea::cel {
namespace {

constexpr KindSet kComparable = set_of(Kind::kInt) | set_of(Kind::kUint) | set_of(Kind::kDouble) |
                                set_of(Kind::kBool) | set_of(Kind::kDuration) |
                                set_of(Kind::kTimestamp) | set_of(Kind::kString) |
                                set_of(Kind::kBytes);

bool before(const Value& a, const Value& b) {
  if (a.kind == Kind::kDouble) {  // also orders NaN, which equals nothing
    const bool a_nan = std::isnan(a.real);
    const bool b_nan = std::isnan(b.real);
    if (a_nan || b_nan) return a_nan && !b_nan;
  }
  return compare(a, b) < 0;
}

}  // namespace

Value sort_with_keys(Frame& f, const Value& list, const Value& keys) {
  if (list.size != keys.size)
    return f.error(
        "@sortByAssociatedKeys() expected a list of the same size as the associated keys list");
  if (list.size == 0) return list;
  if (!f.room_for(list.size * (sizeof(Value) + sizeof(std::uint32_t)))) return f.over_memory();
  const Kind kind = list_at(keys, 0).kind;
  if ((kComparable & set_of(kind)) == 0) return f.error("list elements must be comparable");
  for (std::uint32_t i = 1; i < keys.size; ++i)
    if (list_at(keys, i).kind != kind) return f.error("list elements must have the same type");
  const std::span<std::uint32_t> order = f.arena.array<std::uint32_t>(list.size);
  for (std::uint32_t i = 0; i < list.size; ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return before(list_at(keys, a), list_at(keys, b));
  });
  ListBuilder out(f.arena);
  out.reserve(list.size);
  for (const std::uint32_t i : order) out.add(list_at(list, i));
  return out.build();
}

}  // namespace cardea::cel

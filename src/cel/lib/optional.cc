#include "cel/eval/frame.h"
#include "cel/lib/libraries.h"
#include "cel/syntax/operators.h"

namespace cardea::cel {
namespace {

using Args = const Value*;

Value of(Frame& f, Args a, std::size_t) {
  return f.some(a[0]);
}
Value of_non_zero(Frame& f, Args a, std::size_t) {
  return is_zero(a[0]) ? Value::none() : f.some(a[0]);
}
Value none(Frame&, Args, std::size_t) {
  return Value::none();
}
Value value(Frame& f, Args a, std::size_t) {
  return a[0].size != 0 ? *a[0].inner : f.error("optional.none() dereference");
}
Value has_value(Frame&, Args a, std::size_t) {
  return Value::of(a[0].size != 0);
}
Value first(Frame& f, Args a, std::size_t) {
  return a[0].size == 0 ? Value::none() : f.some(list_at(a[0], 0));
}
Value last(Frame& f, Args a, std::size_t) {
  return a[0].size == 0 ? Value::none() : f.some(list_at(a[0], a[0].size - 1));
}
Value unwrap(Frame& f, Args a, std::size_t) {
  ListBuilder out(f.arena);
  for (std::uint32_t i = 0; i < a[0].size; ++i) {
    const Value v = list_at(a[0], i);
    if (v.kind != Kind::kOptional) return f.error("value is not an optional");
    if (v.size != 0) out.add(*v.inner);
  }
  return out.build();
}

constexpr OverloadRow kRows[] = {
    {"optional.of", "optional_of", "(V) optional(V)", of},
    {"optional.ofNonZeroValue", "optional_ofNonZeroValue", "(V) optional(V)", of_non_zero},
    {"optional.none", "optional_none", "() optional(V)", none},
    {"value", "optional_value", "optional(V).() V", value},
    {"hasValue", "optional_hasValue", "optional(V).() bool", has_value},
    {"or", "optional_or_optional", "optional(V).(optional(V)) optional(V)"},
    {"orValue", "optional_orValue_value", "optional(V).(V) V"},
    {op::kOptionalIndex, "list_optindex_optional_int", "(list(V), int) optional(V)"},
    {op::kOptionalIndex, "optional_list_optindex_optional_int",
     "(optional(list(V)), int) optional(V)"},
    {op::kOptionalIndex, "map_optindex_optional_value", "(map(K, V), K) optional(V)"},
    {op::kOptionalIndex, "optional_map_optindex_optional_value",
     "(optional(map(K, V)), K) optional(V)"},
    {op::kIndex, "optional_list_index_int", "(optional(list(V)), int) optional(V)"},
    {op::kIndex, "optional_map_index_value", "(optional(map(K, V)), K) optional(V)"},
    {"last", "list_last", "list(V).() optional(V)", last, nullptr, 2},
    {"first", "list_first", "list(V).() optional(V)", first, nullptr, 2},
    {"optional.unwrap", "optional_unwrap", "(list(optional(V))) list(V)", unwrap, nullptr, 2},
    {"unwrapOpt", "optional_unwrapOpt", "list(optional(V)).() list(V)", unwrap, nullptr, 2},
};

}  // namespace

std::span<const OverloadRow> optional_overloads() {
  return kRows;
}

}  // namespace cardea::cel

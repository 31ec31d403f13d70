#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/eval/regex.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {
namespace {

using Args = const Value*;

Value index_of(Frame& f, Args a, std::size_t) {
  for (std::uint32_t i = 0; i < a[0].size; ++i)
    if (f.same(list_at(a[0], i), a[1])) return Value::of_int(i);
  return Value::of_int(-1);
}
Value last_index_of(Frame& f, Args a, std::size_t) {
  for (std::uint32_t i = a[0].size; i > 0; --i)
    if (f.same(list_at(a[0], i - 1), a[1])) return Value::of_int(i - 1);
  return Value::of_int(-1);
}
Value includes(Frame& f, Args a, std::size_t n) {
  if (a[0].kind != Kind::kList) return Value::of(f.same(a[0], a[1]));
  return Value::of(index_of(f, a, n).integer >= 0);
}

bool comparable(const Value& a, const Value& b) {
  constexpr KindSet kOrdered = set_of(Kind::kBool) | set_of(Kind::kString) | set_of(Kind::kBytes) |
                               set_of(Kind::kTimestamp) | set_of(Kind::kDuration);
  return (is_number(a) && is_number(b)) || (a.kind == b.kind && (kOrdered & set_of(a.kind)) != 0);
}

Value is_sorted(Frame& f, Args a, std::size_t) {
  for (std::uint32_t i = 1; i < a[0].size; ++i) {
    const Value before = list_at(a[0], i - 1);
    const Value now = list_at(a[0], i);
    if (!comparable(before, now)) return f.no_such_overload();
    if (compare(before, now) == 1) return Value::of(false);
  }
  return Value::of(true);
}

template <int kSign>
Value extremum(Frame& f, Args a, std::size_t) {
  if (a[0].size == 0)
    return f.error(kSign > 0 ? "max called on empty list" : "min called on empty list");
  Value best = list_at(a[0], 0);
  for (std::uint32_t i = 1; i < a[0].size; ++i) {
    const Value v = list_at(a[0], i);
    if (!comparable(v, best)) return f.no_such_overload();
    if (compare(v, best) == kSign) best = v;
  }
  return best;
}

template <Kind kKind>
Value sum(Frame& f, Args a, std::size_t) {
  Value total = kKind == Kind::kDouble     ? Value::of_double(0)
                : kKind == Kind::kUint     ? Value::of_uint(0)
                : kKind == Kind::kDuration ? Value::of_duration(0)
                                           : Value::of_int(0);
  for (std::uint32_t i = 0; i < a[0].size; ++i) {
    const Value v = list_at(a[0], i);
    if (i == 0 && v.kind != kKind)
      total = v.kind == Kind::kDouble     ? Value::of_double(0)
              : v.kind == Kind::kUint     ? Value::of_uint(0)
              : v.kind == Kind::kDuration ? Value::of_duration(0)
                                          : Value::of_int(0);
    if (v.kind != total.kind) return f.no_such_overload();
    bool over = false;
    switch (v.kind) {
      case Kind::kDouble:
        total.real += v.real;
        break;
      case Kind::kUint:
        over = __builtin_add_overflow(total.natural, v.natural, &total.natural);
        break;
      default:
        over = __builtin_add_overflow(total.integer, v.integer, &total.integer);
    }
    if (over)
      return f.error(v.kind == Kind::kDuration ? "duration overflow"
                     : v.kind == Kind::kUint   ? "unsigned integer overflow"
                                               : "integer overflow");
  }
  return total;
}

#define CEL_ORDERED(type)                                                            \
  {"isSorted", "list_" type "_is_sorted_bool", "list(" type ").() bool", is_sorted}, \
      {"max", "list_" type "_max_" type, "list(" type ").() " type, extremum<1>}, {  \
    "min", "list_" type "_min_" type, "list(" type ").() " type, extremum<-1>        \
  }

constexpr OverloadRow kRows[] = {
    {"indexOf", "list_a_index_of_int", "list(A).(A) int", index_of},
    {"lastIndexOf", "list_a_last_index_of_int", "list(A).(A) int", last_index_of},
    {"includes", "list_includes_dyn_dyn", "dyn.(dyn) bool", includes, nullptr, 1},
    CEL_ORDERED("int"),
    CEL_ORDERED("uint"),
    CEL_ORDERED("double"),
    CEL_ORDERED("bool"),
    CEL_ORDERED("duration"),
    CEL_ORDERED("timestamp"),
    CEL_ORDERED("string"),
    CEL_ORDERED("bytes"),
    {"sum", "list_int_sum_int", "list(int).() int", sum<Kind::kInt>},
    {"sum", "list_uint_sum_uint", "list(uint).() uint", sum<Kind::kUint>},
    {"sum", "list_double_sum_double", "list(double).() double", sum<Kind::kDouble>},
    {"sum", "list_duration_sum_duration", "list(duration).() duration", sum<Kind::kDuration>},
};

constexpr OverloadRow kRegexRows[] = {
    {"find", "string_find_string", "string.(string) string", regex_find},
    {"findAll", "string_find_all_string", "string.(string) list(string)", regex_find_all},
    {"findAll", "string_find_all_string_int", "string.(string, int) list(string)", regex_find_all},
};

Value escape_key(Frame& f, Args a, std::size_t) {
  std::string out;
  for (const char c : a[0].string()) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return f.text(out);
}
constexpr OverloadRow kPatchRows[] = {
    {"jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", "(string) string", escape_key}};

}  // namespace

std::span<const OverloadRow> k8s_lists_overloads() {
  return kRows;
}
std::span<const OverloadRow> k8s_regex_overloads() {
  return kRegexRows;
}
std::span<const OverloadRow> jsonpatch_overloads() {
  return kPatchRows;
}

}  // namespace cardea::cel

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/strings.h"
#include "cel/cost/cost.h"
#include "cel/eval/frame.h"
#include "cel/eval/opaque.h"
#include "cel/eval/regex.h"
#include "cel/eval/time.h"
#include "cel/lib/libraries.h"
#include "cel/syntax/operators.h"
#include "cel/syntax/print.h"

namespace cardea::cel {
namespace {

using Args = const Value*;
constexpr std::int64_t kIntMin = std::numeric_limits<std::int64_t>::min();

template <typename Operation>
Value checked_int(Frame& f, std::int64_t a, std::int64_t b, Operation operation) {
  std::int64_t r = 0;
  return operation(a, b, &r) ? f.error("integer overflow") : Value::of_int(r);
}
template <typename Operation>
Value checked_uint(Frame& f, std::uint64_t a, std::uint64_t b, Operation operation) {
  std::uint64_t r = 0;
  return operation(a, b, &r) ? f.error("unsigned integer overflow") : Value::of_uint(r);
}
#define CEL_INT(name, builtin)                                                    \
  Value name(Frame& f, Args a, std::size_t) {                                     \
    return checked_int(f, a[0].integer, a[1].integer,                             \
                       [](auto x, auto y, auto* r) { return builtin(x, y, r); }); \
  }
#define CEL_UINT(name, builtin)                                                    \
  Value name(Frame& f, Args a, std::size_t) {                                      \
    return checked_uint(f, a[0].natural, a[1].natural,                             \
                        [](auto x, auto y, auto* r) { return builtin(x, y, r); }); \
  }
CEL_INT(add_int, __builtin_add_overflow)
CEL_INT(subtract_int, __builtin_sub_overflow)
CEL_INT(multiply_int, __builtin_mul_overflow)
CEL_UINT(add_uint, __builtin_add_overflow)
CEL_UINT(subtract_uint, __builtin_sub_overflow)
CEL_UINT(multiply_uint, __builtin_mul_overflow)

Value divide_int(Frame& f, Args a, std::size_t) {
  if (a[1].integer == 0) return f.error("division by zero");
  if (a[0].integer == kIntMin && a[1].integer == -1) return f.error("integer overflow");
  return Value::of_int(a[0].integer / a[1].integer);
}
Value modulo_int(Frame& f, Args a, std::size_t) {
  if (a[1].integer == 0) return f.error("modulus by zero");
  if (a[0].integer == kIntMin && a[1].integer == -1) return f.error("integer overflow");
  return Value::of_int(a[0].integer % a[1].integer);
}
Value divide_uint(Frame& f, Args a, std::size_t) {
  return a[1].natural == 0 ? f.error("division by zero")
                           : Value::of_uint(a[0].natural / a[1].natural);
}
Value modulo_uint(Frame& f, Args a, std::size_t) {
  return a[1].natural == 0 ? f.error("modulus by zero")
                           : Value::of_uint(a[0].natural % a[1].natural);
}
Value negate_int(Frame& f, Args a, std::size_t) {
  return a[0].integer == kIntMin ? f.error("integer overflow") : Value::of_int(-a[0].integer);
}
Value add_double(Frame&, Args a, std::size_t) {
  return Value::of_double(a[0].real + a[1].real);
}
Value subtract_double(Frame&, Args a, std::size_t) {
  return Value::of_double(a[0].real - a[1].real);
}
Value multiply_double(Frame&, Args a, std::size_t) {
  return Value::of_double(a[0].real * a[1].real);
}
Value divide_double(Frame&, Args a, std::size_t) {
  return Value::of_double(a[0].real / a[1].real);
}
Value negate_double(Frame&, Args a, std::size_t) {
  return Value::of_double(-a[0].real);
}

Value concatenate(Frame& f, const Value& a, const Value& b) {
  const std::size_t size = std::size_t{a.size} + b.size;
  if (!f.room_for(size)) return f.over_memory();
  f.spend(size / 2);  // texts without a type cost one
  if (f.work == 0) return f.over_cost();
  char* out = f.arena.text(size);
  if (a.size > 0) std::memcpy(out, a.text, a.size);
  if (b.size > 0) std::memcpy(out + a.size, b.text, b.size);
  return Value::of_text({out, size});
}
Value add_text(Frame& f, Args a, std::size_t) {
  if (a[0].size == 0) return a[1];
  if (a[1].size == 0) return a[0];
  Value v = concatenate(f, a[0], a[1]);
  if (!v.is_error()) v.kind = a[0].kind;
  return v;
}
Value add_list(Frame& f, Args a, std::size_t) {
  const std::size_t size = std::size_t{a[0].size} + a[1].size;
  if (!f.room_for(size * sizeof(Value))) return f.over_memory();
  f.spend(size > 64 ? 4 * size : 0);  // one unit of cost for any length
  if (f.work == 0) return f.over_cost();
  if (a[0].list_type != Value::kAtomic) return add_typed_lists(f.arena, a[0], a[1]);
  ListBuilder out(f.arena);
  out.reserve(size);
  for (int k = 0; k < 2; ++k)
    for (std::uint32_t i = 0; i < a[k].size; ++i) out.add(list_at(a[k], i));
  return out.build();
}

Value timestamp_plus(Frame& f, const Value& t, __int128 nanos) {
  __int128 total = static_cast<__int128>(t.integer) * 1'000'000'000 + t.size + nanos;
  std::int64_t rest = static_cast<std::int64_t>(total % 1'000'000'000);
  total /= 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --total;
  }
  if (total < kFirstSecond || total > kLastSecond) return f.error("timestamp overflow");
  return Value::of_timestamp(static_cast<std::int64_t>(total), static_cast<std::uint32_t>(rest));
}
Value add_durations(Frame& f, Args a, std::size_t) {
  std::int64_t r = 0;
  return __builtin_add_overflow(a[0].integer, a[1].integer, &r) ? f.error("duration overflow")
                                                                : Value::of_duration(r);
}
Value subtract_durations(Frame& f, Args a, std::size_t) {
  std::int64_t r = 0;
  return __builtin_sub_overflow(a[0].integer, a[1].integer, &r) ? f.error("duration overflow")
                                                                : Value::of_duration(r);
}
Value timestamp_duration(Frame& f, Args a, std::size_t) {
  return timestamp_plus(f, a[0], a[1].integer);
}
Value duration_timestamp(Frame& f, Args a, std::size_t) {
  return timestamp_plus(f, a[1], a[0].integer);
}
Value timestamp_minus(Frame& f, Args a, std::size_t) {
  return a[1].integer == kIntMin ? f.error("integer overflow")
                                 : timestamp_plus(f, a[0], -static_cast<__int128>(a[1].integer));
}
Value timestamp_difference(Frame& f, Args a, std::size_t) {
  const __int128 d = (static_cast<__int128>(a[0].integer) - a[1].integer) * 1'000'000'000 +
                     static_cast<std::int64_t>(a[0].size) - static_cast<std::int64_t>(a[1].size);
  if (d > std::numeric_limits<std::int64_t>::max() || d < kIntMin)
    return f.error("duration overflow");
  return Value::of_duration(static_cast<std::int64_t>(d));
}

// Whether the order of the two is one of the expected orders.
template <int... kWanted>
Value ordered(Frame& f, Args a, std::size_t) {
  const int c = compare(a[0], a[1]);
  return c == 2 ? f.error("NaN values cannot be ordered") : Value::of(((c == kWanted) || ...));
}
constexpr Implementation less = ordered<-1>;
constexpr Implementation less_equal = ordered<-1, 0>;
constexpr Implementation greater = ordered<1>;
constexpr Implementation greater_equal = ordered<1, 0>;

Value in_list(Frame& f, Args a, std::size_t) {
  for (std::uint32_t i = 0; i < a[1].size; ++i)
    if (f.same(a[0], list_at(a[1], i))) return Value::of(true);
  return Value::of(false);
}
Value in_map(Frame& f, Args a, std::size_t) {
  if ((!is_valid_key(a[0]) && a[0].kind != Kind::kDouble) || a[1].form == Value::kClaimsRoot)
    return f.no_such_overload();
  return Value::of(map_find(a[1], a[0]).kind != Kind::kAbsent);
}
Value size_text(Frame& f, Args a, std::size_t) {
  f.spend(a[0].size / 128);  // one unit of cost, but every character is read
  return Value::of_int(static_cast<std::int64_t>(code_points(a[0].string())));
}
Value size_other(Frame& f, Args a, std::size_t) {
  return a[0].form == Value::kClaimsRoot ? f.no_such_overload() : Value::of_int(a[0].size);
}

Value same(Frame&, Args a, std::size_t) {
  return a[0];
}
Value type_of(Frame&, Args a, std::size_t) {
  return Value::of_type(type_name(a[0]));
}

// A text that is not in the form that the conversion expects.
Value unreadable(Frame& f, std::string_view type) {
  return f.error(cat("type conversion error from 'string' to '", type, "'"));
}

Value text_to_bool(Frame& f, Args a, std::size_t) {
  const std::string_view s = a[0].string();
  for (const std::string_view t : {"1", "t", "T", "true", "TRUE", "True"})
    if (s == t) return Value::of(true);
  for (const std::string_view t : {"0", "f", "F", "false", "FALSE", "False"})
    if (s == t) return Value::of(false);
  return unreadable(f, "bool");
}
Value text_to_bytes(Frame&, Args a, std::size_t) {
  return Value::of_bytes(a[0].string());
}
Value bytes_to_text(Frame& f, Args a, std::size_t) {
  return is_valid_utf8(a[0].string()) ? Value::of_text(a[0].string())
                                      : f.error("invalid UTF-8 in bytes, cannot convert to string");
}
Value int_to_double(Frame&, Args a, std::size_t) {
  return Value::of_double(static_cast<double>(a[0].integer));
}
Value uint_to_double(Frame&, Args a, std::size_t) {
  return Value::of_double(static_cast<double>(a[0].natural));
}
// Go allows underscores between digits.
bool drop_underscores(std::string& text) {
  auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  for (std::size_t at; (at = text.find('_')) != std::string::npos;) {
    if (at == 0 || !digit(at - 1) || !digit(at + 1)) return false;
    text.erase(at, 1);
  }
  return true;
}
// The conversion of a text costs one unit for any length; the time that it takes is counted as
// work. False: it is too much.
bool may_read(Frame& f, const Value& text, std::uint64_t per_byte) {
  f.spend(text.size > 64 ? text.size * per_byte : 0);
  return f.work > 0;
}

Value text_to_double(Frame& f, Args a, std::size_t) {
  if (!may_read(f, a[0], 4)) return f.over_cost();
  std::string text(a[0].string());
  const bool hex = text.find_first_of("xX") != std::string::npos;
  if ((hex && text.find_first_of("pP") == std::string::npos) || !drop_underscores(text))
    text.clear();
  char* end = nullptr;
  const bool bad_start = text.empty() || text[0] == ' ' || text[0] == '\t' || text[0] == '\n' ||
                         text[0] == '\r' || text[0] == '\f' || text[0] == '\v';
  const double d = bad_start ? 0 : std::strtod(text.c_str(), &end);
  const bool odd = text.find("nan(") != std::string::npos ||
                   text.find("NAN(") != std::string::npos || text.find("NaN(") != std::string::npos;
  if (bad_start || odd || end != text.c_str() + text.size()) return unreadable(f, "double");
  const bool word = text.find_first_of("nN") != std::string::npos && !hex;
  if (std::isinf(d) && !word) return unreadable(f, "double");
  return Value::of_double(d);
}
Value text_to_duration(Frame& f, Args a, std::size_t) {
  if (!may_read(f, a[0], 6)) return f.over_cost();
  const auto d = parse_duration(a[0].string());
  return d ? Value::of_duration(*d) : unreadable(f, "google.protobuf.Duration");
}
Value text_to_timestamp(Frame& f, Args a, std::size_t) {
  const auto t = parse_timestamp(a[0].string());
  return t ? *t : unreadable(f, "google.protobuf.Timestamp");
}
Value int_to_timestamp(Frame& f, Args a, std::size_t) {
  return in_range(a[0].integer) ? Value::of_timestamp(a[0].integer, 0)
                                : f.error("timestamp overflow");
}
Value double_to_int(Frame& f, Args a, std::size_t) {
  if (!(a[0].real > -9223372036854775808.0 && a[0].real < 9223372036854775808.0))
    return f.error("integer overflow");
  return Value::of_int(static_cast<std::int64_t>(a[0].real));
}
Value uint_to_int(Frame& f, Args a, std::size_t) {
  return a[0].natural > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
             ? f.error("integer overflow")
             : Value::of_int(static_cast<std::int64_t>(a[0].natural));
}
Value duration_to_int(Frame&, Args a, std::size_t) {
  return Value::of_int(a[0].integer);
}
Value timestamp_to_int(Frame&, Args a, std::size_t) {
  return Value::of_int(a[0].integer);
}
Value text_to_int(Frame& f, Args a, std::size_t) {
  if (!may_read(f, a[0], 1)) return f.over_cost();
  const std::string text(a[0].string());
  errno = 0;
  char* end = nullptr;
  const bool plain = !text.empty() && text.find_first_not_of("+-0123456789") == std::string::npos;
  const long long n = plain ? std::strtoll(text.c_str(), &end, 10) : 0;
  if (!plain || end != text.c_str() + text.size() || end == text.c_str())
    return unreadable(f, "int");
  if (errno == ERANGE) return unreadable(f, "int");
  return Value::of_int(n);
}
Value double_to_uint(Frame& f, Args a, std::size_t) {
  if (!(a[0].real >= 0 && a[0].real < 18446744073709551616.0))
    return f.error("unsigned integer overflow");
  return Value::of_uint(static_cast<std::uint64_t>(a[0].real));
}
Value int_to_uint(Frame& f, Args a, std::size_t) {
  return a[0].integer < 0 ? f.error("unsigned integer overflow")
                          : Value::of_uint(static_cast<std::uint64_t>(a[0].integer));
}
Value text_to_uint(Frame& f, Args a, std::size_t) {
  if (!may_read(f, a[0], 1)) return f.over_cost();
  const std::string text(a[0].string());
  errno = 0;
  const bool plain = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const unsigned long long n = plain ? std::strtoull(text.c_str(), nullptr, 10) : 0;
  if (!plain) return unreadable(f, "uint");
  if (errno == ERANGE) return unreadable(f, "uint");
  return Value::of_uint(n);
}
Value scalar_to_text(Frame& f, Args a, std::size_t) {
  switch (a[0].kind) {
    case Kind::kBool:
      return Value::of_text(a[0].boolean ? "true" : "false");
    case Kind::kInt:
      return f.text(std::to_string(a[0].integer));
    case Kind::kUint:
      return f.text(std::to_string(a[0].natural));
    case Kind::kDouble:
      return f.text(format_double(a[0].real));
    case Kind::kDuration:
      return f.text(print_duration(a[0].integer));
    default:
      return f.text(print_with_offset(a[0]));
  }
}

Value contains(Frame&, Args a, std::size_t) {
  return Value::of(a[0].string().find(a[1].string()) != std::string_view::npos);
}
Value ends_with(Frame&, Args a, std::size_t) {
  return Value::of(a[0].string().ends_with(a[1].string()));
}
Value starts_with(Frame&, Args a, std::size_t) {
  return Value::of(a[0].string().starts_with(a[1].string()));
}

template <typename Part>
Value civil_part(Frame& f, Args a, std::size_t n, Part part) {
  const auto c = civil_in(a[0], n > 1 ? a[1].string() : std::string_view());
  if (!c) return f.error(cat("unknown time zone ", a[1].string()));
  return Value::of_int(part(*c));
}
#define CEL_CIVIL(name, expression)                                                         \
  Value name(Frame& f, Args a, std::size_t n) {                                             \
    return civil_part(f, a, n, [&](const Civil& c) -> std::int64_t { return expression; }); \
  }
CEL_CIVIL(year, c.year)
CEL_CIVIL(month, c.month - 1)
CEL_CIVIL(day_of_year, c.day_of_year)
CEL_CIVIL(day_of_month, c.day - 1)
CEL_CIVIL(date, c.day)
CEL_CIVIL(day_of_week, c.day_of_week)
CEL_CIVIL(hours, c.hour)
CEL_CIVIL(minutes, c.minute)
CEL_CIVIL(seconds, c.second)
CEL_CIVIL(milliseconds, (static_cast<void>(c), a[0].size / 1'000'000))
Value duration_hours(Frame&, Args a, std::size_t) {
  return Value::of_int(a[0].integer / 3'600'000'000'000);
}
Value duration_minutes(Frame&, Args a, std::size_t) {
  return Value::of_int(a[0].integer / 60'000'000'000);
}
Value duration_seconds(Frame&, Args a, std::size_t) {
  return Value::of_int(a[0].integer / 1'000'000'000);
}
Value duration_milliseconds(Frame&, Args a, std::size_t) {
  return Value::of_int(a[0].integer / 1'000'000);
}

// The logical operators, equality and indexing have their own steps; these rows are for the
// checker.
constexpr OverloadRow kRows[] = {
    {op::kConditional, "conditional", "(bool, A, A) A"},
    {op::kAnd, "logical_and", "(bool, bool) bool"},
    {op::kOr, "logical_or", "(bool, bool) bool"},
    {op::kNot, "logical_not", "(bool) bool"},
    {op::kEqual, "equals", "(A, A) bool"},
    {op::kNotEqual, "not_equals", "(A, A) bool"},
    {op::kIndex, "index_list", "(list(A), int) A"},
    {op::kIndex, "index_map", "(map(A, B), A) B"},
    {op::kAdd, "add_bytes", "(bytes, bytes) bytes", add_text, rule::sum_tenth},
    {op::kAdd, "add_double", "(double, double) double", add_double},
    {op::kAdd, "add_duration_duration", "(duration, duration) duration", add_durations},
    {op::kAdd, "add_duration_timestamp", "(duration, timestamp) timestamp", duration_timestamp},
    {op::kAdd, "add_timestamp_duration", "(timestamp, duration) timestamp", timestamp_duration},
    {op::kAdd, "add_int64", "(int, int) int", add_int},
    {op::kAdd, "add_list", "(list(A), list(A)) list(A)", add_list},
    {op::kAdd, "add_string", "(string, string) string", add_text, rule::sum_tenth},
    {op::kAdd, "add_uint64", "(uint, uint) uint", add_uint},
    {op::kDivide, "divide_double", "(double, double) double", divide_double},
    {op::kDivide, "divide_int64", "(int, int) int", divide_int},
    {op::kDivide, "divide_uint64", "(uint, uint) uint", divide_uint},
    {op::kModulo, "modulo_int64", "(int, int) int", modulo_int},
    {op::kModulo, "modulo_uint64", "(uint, uint) uint", modulo_uint},
    {op::kMultiply, "multiply_double", "(double, double) double", multiply_double},
    {op::kMultiply, "multiply_int64", "(int, int) int", multiply_int},
    {op::kMultiply, "multiply_uint64", "(uint, uint) uint", multiply_uint},
    {op::kNegate, "negate_double", "(double) double", negate_double},
    {op::kNegate, "negate_int64", "(int) int", negate_int},
    {op::kSubtract, "subtract_double", "(double, double) double", subtract_double},
    {op::kSubtract, "subtract_duration_duration", "(duration, duration) duration",
     subtract_durations},
    {op::kSubtract, "subtract_int64", "(int, int) int", subtract_int},
    {op::kSubtract, "subtract_timestamp_duration", "(timestamp, duration) timestamp",
     timestamp_minus},
    {op::kSubtract, "subtract_timestamp_timestamp", "(timestamp, timestamp) duration",
     timestamp_difference},
    {op::kSubtract, "subtract_uint64", "(uint, uint) uint", subtract_uint},
#define CEL_ORDER(op_name, prefix, fn)                                               \
  {op_name, prefix "_bool", "(bool, bool) bool", fn},                                \
      {op_name, prefix "_int64", "(int, int) bool", fn},                             \
      {op_name, prefix "_int64_double", "(int, double) bool", fn},                   \
      {op_name, prefix "_int64_uint64", "(int, uint) bool", fn},                     \
      {op_name, prefix "_uint64", "(uint, uint) bool", fn},                          \
      {op_name, prefix "_uint64_double", "(uint, double) bool", fn},                 \
      {op_name, prefix "_uint64_int64", "(uint, int) bool", fn},                     \
      {op_name, prefix "_double", "(double, double) bool", fn},                      \
      {op_name, prefix "_double_int64", "(double, int) bool", fn},                   \
      {op_name, prefix "_double_uint64", "(double, uint) bool", fn},                 \
      {op_name, prefix "_string", "(string, string) bool", fn, rule::smaller_tenth}, \
      {op_name, prefix "_bytes", "(bytes, bytes) bool", fn, rule::smaller_tenth},    \
      {op_name, prefix "_timestamp", "(timestamp, timestamp) bool", fn}, {           \
    op_name, prefix "_duration", "(duration, duration) bool", fn                     \
  }
    CEL_ORDER(op::kLess, "less", less),
    CEL_ORDER(op::kLessEqual, "less_equals", less_equal),
    CEL_ORDER(op::kGreater, "greater", greater),
    CEL_ORDER(op::kGreaterEqual, "greater_equals", greater_equal),
    {op::kIn, "in_list", "(A, list(A)) bool", in_list, rule::second_size},
    {op::kIn, "in_map", "(A, map(A, B)) bool", in_map},
    {"size", "size_bytes", "(bytes) int", size_other},
    {"size", "bytes_size", "bytes.() int", size_other},
    {"size", "size_list", "(list(A)) int", size_other},
    {"size", "list_size", "list(A).() int", size_other},
    {"size", "size_map", "(map(A, B)) int", size_other},
    {"size", "map_size", "map(A, B).() int", size_other},
    {"size", "size_string", "(string) int", size_text},
    {"size", "string_size", "string.() int", size_text},
    {"type", "type", "(A) type(A)", type_of},
    {"dyn", "to_dyn", "(A) dyn", same},
    {"bool", "bool_to_bool", "(bool) bool", same},
    {"bool", "string_to_bool", "(string) bool", text_to_bool},
    {"bytes", "bytes_to_bytes", "(bytes) bytes", same},
    {"bytes", "string_to_bytes", "(string) bytes", text_to_bytes, rule::first_tenth},
    {"double", "double_to_double", "(double) double", same},
    {"double", "int64_to_double", "(int) double", int_to_double},
    {"double", "string_to_double", "(string) double", text_to_double},
    {"double", "uint64_to_double", "(uint) double", uint_to_double},
    {"duration", "duration_to_duration", "(duration) duration", same},
    {"duration", "string_to_duration", "(string) duration", text_to_duration},
    {"int", "int64_to_int64", "(int) int", same},
    {"int", "double_to_int64", "(double) int", double_to_int},
    {"int", "duration_to_int64", "(duration) int", duration_to_int},
    {"int", "string_to_int64", "(string) int", text_to_int},
    {"int", "timestamp_to_int64", "(timestamp) int", timestamp_to_int},
    {"int", "uint64_to_int64", "(uint) int", uint_to_int},
    {"string", "string_to_string", "(string) string", same},
    {"string", "bool_to_string", "(bool) string", scalar_to_text},
    {"string", "bytes_to_string", "(bytes) string", bytes_to_text, rule::first_tenth},
    {"string", "double_to_string", "(double) string", scalar_to_text},
    {"string", "duration_to_string", "(duration) string", scalar_to_text},
    {"string", "int64_to_string", "(int) string", scalar_to_text},
    {"string", "timestamp_to_string", "(timestamp) string", scalar_to_text},
    {"string", "uint64_to_string", "(uint) string", scalar_to_text},
    {"timestamp", "timestamp_to_timestamp", "(timestamp) timestamp", same},
    {"timestamp", "int64_to_timestamp", "(int) timestamp", int_to_timestamp},
    {"timestamp", "string_to_timestamp", "(string) timestamp", text_to_timestamp},
    {"uint", "uint64_to_uint64", "(uint) uint", same},
    {"uint", "double_to_uint64", "(double) uint", double_to_uint},
    {"uint", "int64_to_uint64", "(int) uint", int_to_uint},
    {"uint", "string_to_uint64", "(string) uint", text_to_uint},
    {"contains", "contains_string", "string.(string) bool", contains, rule::contains},
    {"endsWith", "ends_with_string", "string.(string) bool", ends_with, rule::second_tenth},
    {"startsWith", "starts_with_string", "string.(string) bool", starts_with, rule::second_tenth},
    {"matches", "matches", "(string, string) bool", regex_matches, rule::matches},
    {"matches", "matches_string", "string.(string) bool", regex_matches, rule::matches},
#define CEL_TIME(fn_name, id, fn)                        \
  {fn_name, id, "timestamp.() int", fn}, {               \
    fn_name, id "_with_tz", "timestamp.(string) int", fn \
  }
    CEL_TIME("getFullYear", "timestamp_to_year", year),
    CEL_TIME("getMonth", "timestamp_to_month", month),
    CEL_TIME("getDayOfYear", "timestamp_to_day_of_year", day_of_year),
    CEL_TIME("getDayOfMonth", "timestamp_to_day_of_month", day_of_month),
    CEL_TIME("getDate", "timestamp_to_day_of_month_1_based", date),
    CEL_TIME("getDayOfWeek", "timestamp_to_day_of_week", day_of_week),
    CEL_TIME("getHours", "timestamp_to_hours", hours),
    CEL_TIME("getMinutes", "timestamp_to_minutes", minutes),
    CEL_TIME("getSeconds", "timestamp_to_seconds", seconds),
    CEL_TIME("getMilliseconds", "timestamp_to_milliseconds", milliseconds),
    {"getHours", "duration_to_hours", "duration.() int", duration_hours},
    {"getMinutes", "duration_to_minutes", "duration.() int", duration_minutes},
    {"getSeconds", "duration_to_seconds", "duration.() int", duration_seconds},
    {"getMilliseconds", "duration_to_milliseconds", "duration.() int", duration_milliseconds},
};

}  // namespace

std::span<const OverloadRow> standard_overloads() {
  return kRows;
}

}  // namespace cardea::cel

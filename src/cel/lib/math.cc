#include <cmath>
#include <limits>

#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {
namespace {

using Args = const Value*;

template <int kSign>
Value extremum(Frame& f, Args a, std::size_t n) {
  if (n == 1 && a[0].kind != Kind::kList) return a[0];
  const bool list = n == 1;
  const std::uint32_t count = list ? a[0].size : static_cast<std::uint32_t>(n);
  if (count == 0)
    return f.error(kSign > 0 ? "math.@max(list) argument must not be empty"
                             : "math.@min(list) argument must not be empty");
  Value best;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Value v = list ? list_at(a[0], i) : a[i];
    if (!is_number(v)) return f.no_such_overload();
    const int order = i == 0 ? kSign : compare(v, best);
    if (order == 2) return f.error("NaN values cannot be ordered");
    if (order == kSign) best = v;
  }
  return best;
}

Value ceil_of(Frame&, Args a, std::size_t) {
  return Value::of_double(std::ceil(a[0].real));
}
Value floor_of(Frame&, Args a, std::size_t) {
  return Value::of_double(std::floor(a[0].real));
}
Value round_of(Frame&, Args a, std::size_t) {
  return Value::of_double(std::round(a[0].real));
}
Value trunc_of(Frame&, Args a, std::size_t) {
  return Value::of_double(std::trunc(a[0].real));
}
Value is_inf(Frame&, Args a, std::size_t) {
  return Value::of(std::isinf(a[0].real));
}
Value is_nan(Frame&, Args a, std::size_t) {
  return Value::of(std::isnan(a[0].real));
}
Value is_finite(Frame&, Args a, std::size_t) {
  return Value::of(std::isfinite(a[0].real));
}

Value abs_of(Frame& f, Args a, std::size_t) {
  if (a[0].kind == Kind::kDouble) return Value::of_double(std::fabs(a[0].real));
  if (a[0].kind == Kind::kUint) return a[0];
  if (a[0].integer == std::numeric_limits<std::int64_t>::min()) return f.error("integer overflow");
  return Value::of_int(a[0].integer < 0 ? -a[0].integer : a[0].integer);
}
Value sign_of(Frame&, Args a, std::size_t) {
  if (a[0].kind == Kind::kUint) return Value::of_uint(a[0].natural > 0);
  if (a[0].kind == Kind::kInt) return Value::of_int((a[0].integer > 0) - (a[0].integer < 0));
  if (std::isnan(a[0].real)) return a[0];
  return Value::of_double((a[0].real > 0) - (a[0].real < 0));
}
Value sqrt_of(Frame&, Args a, std::size_t) {
  const double d = a[0].kind == Kind::kDouble ? a[0].real
                   : a[0].kind == Kind::kInt  ? static_cast<double>(a[0].integer)
                                              : static_cast<double>(a[0].natural);
  return Value::of_double(std::sqrt(d));
}

// int and uint have the same bits, so one function works for both. The kind of the result is that
// of the first argument.
Value with_bits(const Value& like, std::uint64_t bits) {
  Value v = like;
  v.natural = bits;
  return v;
}
Value bit_and(Frame&, Args a, std::size_t) {
  return with_bits(a[0], a[0].natural & a[1].natural);
}
Value bit_or(Frame&, Args a, std::size_t) {
  return with_bits(a[0], a[0].natural | a[1].natural);
}
Value bit_xor(Frame&, Args a, std::size_t) {
  return with_bits(a[0], a[0].natural ^ a[1].natural);
}
Value bit_not(Frame&, Args a, std::size_t) {
  return with_bits(a[0], ~a[0].natural);
}
Value shift_left(Frame& f, Args a, std::size_t) {
  if (a[1].integer < 0) return f.error(cat("math.bitShiftLeft() negative offset: ", a[1].integer));
  return with_bits(a[0], a[1].integer > 63 ? 0 : a[0].natural << a[1].integer);
}
Value shift_right(Frame& f, Args a, std::size_t) {
  if (a[1].integer < 0) return f.error(cat("math.bitShiftRight() negative offset: ", a[1].integer));
  return with_bits(a[0], a[1].integer > 63 ? 0 : a[0].natural >> a[1].integer);
}

#define CEL_EXTREMUM(name, id, fn)                                                 \
  {name, id "_double", "(double) double", fn}, {name, id "_int", "(int) int", fn}, \
      {name, id "_uint", "(uint) uint", fn},                                       \
      {name, id "_double_double", "(double, double) double", fn},                  \
      {name, id "_int_int", "(int, int) int", fn},                                 \
      {name, id "_uint_uint", "(uint, uint) uint", fn},                            \
      {name, id "_int_uint", "(int, uint) dyn", fn},                               \
      {name, id "_int_double", "(int, double) dyn", fn},                           \
      {name, id "_double_int", "(double, int) dyn", fn},                           \
      {name, id "_double_uint", "(double, uint) dyn", fn},                         \
      {name, id "_uint_int", "(uint, int) dyn", fn},                               \
      {name, id "_uint_double", "(uint, double) dyn", fn},                         \
      {name, id "_list_double", "(list(double)) double", fn},                      \
      {name, id "_list_int", "(list(int)) int", fn}, {                             \
    name, id "_list_uint", "(list(uint)) uint", fn                                 \
  }

constexpr OverloadRow kRows[] = {
    CEL_EXTREMUM("math.@max", "math_@max", extremum<1>),
    CEL_EXTREMUM("math.@min", "math_@min", extremum<-1>),
    {"math.ceil", "math_ceil_double", "(double) double", ceil_of, nullptr, 1},
    {"math.floor", "math_floor_double", "(double) double", floor_of, nullptr, 1},
    {"math.round", "math_round_double", "(double) double", round_of, nullptr, 1},
    {"math.trunc", "math_trunc_double", "(double) double", trunc_of, nullptr, 1},
    {"math.isInf", "math_isInf_double", "(double) bool", is_inf, nullptr, 1},
    {"math.isNaN", "math_isNaN_double", "(double) bool", is_nan, nullptr, 1},
    {"math.isFinite", "math_isFinite_double", "(double) bool", is_finite, nullptr, 1},
    {"math.abs", "math_abs_double", "(double) double", abs_of, nullptr, 1},
    {"math.abs", "math_abs_int", "(int) int", abs_of, nullptr, 1},
    {"math.abs", "math_abs_uint", "(uint) uint", abs_of, nullptr, 1},
    {"math.sign", "math_sign_double", "(double) double", sign_of, nullptr, 1},
    {"math.sign", "math_sign_int", "(int) int", sign_of, nullptr, 1},
    {"math.sign", "math_sign_uint", "(uint) uint", sign_of, nullptr, 1},
    {"math.bitAnd", "math_bitAnd_int_int", "(int, int) int", bit_and, nullptr, 1},
    {"math.bitAnd", "math_bitAnd_uint_uint", "(uint, uint) uint", bit_and, nullptr, 1},
    {"math.bitOr", "math_bitOr_int_int", "(int, int) int", bit_or, nullptr, 1},
    {"math.bitOr", "math_bitOr_uint_uint", "(uint, uint) uint", bit_or, nullptr, 1},
    {"math.bitXor", "math_bitXor_int_int", "(int, int) int", bit_xor, nullptr, 1},
    {"math.bitXor", "math_bitXor_uint_uint", "(uint, uint) uint", bit_xor, nullptr, 1},
    {"math.bitNot", "math_bitNot_int_int", "(int) int", bit_not, nullptr, 1},
    {"math.bitNot", "math_bitNot_uint_uint", "(uint) uint", bit_not, nullptr, 1},
    {"math.bitShiftLeft", "math_bitShiftLeft_int_int", "(int, int) int", shift_left, nullptr, 1},
    {"math.bitShiftLeft", "math_bitShiftLeft_uint_int", "(uint, int) uint", shift_left, nullptr, 1},
    {"math.bitShiftRight", "math_bitShiftRight_int_int", "(int, int) int", shift_right, nullptr, 1},
    {"math.bitShiftRight", "math_bitShiftRight_uint_int", "(uint, int) uint", shift_right, nullptr,
     1},
    {"math.sqrt", "math_sqrt_double", "(double) double", sqrt_of, nullptr, 2},
    {"math.sqrt", "math_sqrt_int", "(int) double", sqrt_of, nullptr, 2},
    {"math.sqrt", "math_sqrt_uint", "(uint) double", sqrt_of, nullptr, 2},
};

}  // namespace

std::span<const OverloadRow> math_overloads() {
  return kRows;
}

}  // namespace cardea::cel

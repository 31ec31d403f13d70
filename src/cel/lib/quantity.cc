#include "base/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/eval/opaque.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {

// The texts of Amounts have been parsed before, so parsing cannot fail.
static Quantity read(const Amount& amount) {
  return *Quantity::parse(amount.text);
}

bool same_amount(const Amount& a, const Amount& b) {
  return a.text == b.text || read(a) == read(b);
}

namespace {

using Args = const Value*;

Value made(Frame& f, std::string_view text, Amount small) {
  small.text = f.arena.copy(text);
  return Value::of_opaque(Kind::kQuantity, f.arena.make<Amount>(small));
}
Quantity read(const Value& v) {
  return cel::read(amount_of(v));
}

std::string_view take_digits(std::string_view& rest) {
  const std::string_view digits = rest.substr(
      0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
  rest.remove_prefix(digits.size());
  return digits;
}

// The power of ten or two that a suffix stands for.
struct Suffix {
  bool binary = false;
  int exponent = 0;
};
Suffix read_suffix(std::string_view text) {
  static constexpr std::string_view kDecimal = "num kMGTPE";
  if (text.size() == 2 && text[1] == 'i')
    return {true, 10 * (static_cast<int>(std::string_view("KMGTPE").find(text[0])) + 1)};
  if (text.size() == 1) return {false, 3 * static_cast<int>(kDecimal.find(text[0])) - 9};
  constexpr std::int64_t kLeast = -100'000, kMost = 1'000;  // what can be parsed lies between
  std::int64_t exponent = 0;
  if (text.size() > 1) {
    const char* from = text.data() + (text[1] == '+' ? 2 : 1);
    auto [end, error] = std::from_chars(from, text.data() + text.size(), exponent);
    if (error == std::errc::result_out_of_range) exponent = *from == '-' ? kLeast : kMost;
  }
  return {false, static_cast<int>(std::clamp(exponent, kLeast, kMost))};
}

// Kubernetes' form of an amount that can be parsed: 64 bits if the digits are sure to fit,
// otherwise billionths, or ones where an amount is cut to the largest.
Amount form_of(std::string_view rest, const Quantity& amount) {
  constexpr int kMostDigits = 18;
  constexpr int kFinest = -9;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  rest.remove_prefix(std::min(rest.find_first_not_of('0'), rest.size()));
  std::string digits(take_digits(rest));
  if (digits.empty()) digits = "0";
  const int whole = static_cast<int>(digits.size());
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    digits += take_digits(rest);
  }
  const int fraction = static_cast<int>(digits.size()) - whole;
  const Suffix suffix = read_suffix(rest);
  const int room = !suffix.binary ? kMostDigits - static_cast<int>(digits.size())
                   : fraction > 0
                       ? -1
                       : 14 - whole -
                             static_cast<int>(static_cast<float>(suffix.exponent) * 3 / 10);
  Amount out;
  out.scale = (suffix.binary ? 0 : suffix.exponent) - fraction;
  if (room >= 0 && out.scale >= kFinest) {
    std::from_chars(digits.data(), digits.data() + digits.size(), out.value);
    out.small = !__builtin_mul_overflow(
        out.value, suffix.binary ? std::int64_t{1} << suffix.exponent : 1, &out.value);
    if (negative) out.value = -out.value;
  }
  const bool cut = suffix.binary && amount.as_int64() == (negative ? -INT64_MAX : INT64_MAX);
  if (!out.small) out.scale = cut ? 0 : kFinest;
  return out;
}

bool scaled(std::int64_t& value, int places) {
  for (; places > 0 && value != 0; --places)
    if (__builtin_mul_overflow(value, 10, &value)) return false;
  return true;
}

// The sum at the finer scale of the two; small if it fits.
Amount sum(Amount a, Amount b) {
  const std::int32_t scale = std::min(a.scale, b.scale);
  if (a.small && b.small) {
    if (b.value == 0) return a;
    if (a.value == 0) return b;
    Amount& coarse = a.scale > b.scale ? a : b;
    const bool fits = scaled(coarse.value, coarse.scale - scale) &&
                      !__builtin_add_overflow(a.value, b.value, &a.value);
    if (fits) return {{}, true, scale, a.value};
  }
  return {{}, false, scale, 0};
}

Value parse(Frame& f, Args a, std::size_t) {
  const auto q = Quantity::parse(a[0].string());
  return q ? made(f, a[0].string(), form_of(a[0].string(), *q)) : f.error(q.error().message);
}
Value is_quantity(Frame&, Args a, std::size_t) {
  return Value::of(Quantity::parse(a[0].string()).has_value());
}
Value sign(Frame&, Args a, std::size_t) {
  return Value::of_int(read(a[0]).sign());
}
Value compare_to(Frame&, Args a, std::size_t) {
  const auto order = read(a[0]) <=> read(a[1]);
  return Value::of_int(order < 0 ? -1 : order > 0 ? 1 : 0);
}
Value greater(Frame&, Args a, std::size_t) {
  return Value::of(read(a[0]) > read(a[1]));
}
Value less(Frame&, Args a, std::size_t) {
  return Value::of(read(a[0]) < read(a[1]));
}
// As Go computes it, which is not always the nearest double.
double power_of_ten(int n) {
  auto ten_to = [](int e) { return std::strtod(cat("1e", e).c_str(), nullptr); };
  if (n > 308) return HUGE_VAL;
  if (n < -323) return 0;
  return n < 0 ? ten_to(n / 32 * 32) / ten_to(-n % 32) : ten_to(n / 32 * 32) * ten_to(n % 32);
}
// Multiplied as in Kubernetes.
Value as_float(Frame&, Args a, std::size_t) {
  const Amount& amount = amount_of(a[0]);
  const double base = amount.small ? static_cast<double>(amount.value)
                                   : read(a[0]).as_double(-amount.scale);
  return Value::of_double(amount.scale == 0 ? base : base * power_of_ten(amount.scale));
}
bool integer(const Value& v, std::int64_t& out) {
  const Amount& amount = amount_of(v);
  out = amount.value;
  return amount.small && amount.scale >= 0 && scaled(out, amount.scale);
}
Value as_integer(Frame& f, Args a, std::size_t) {
  std::int64_t i = 0;
  return integer(a[0], i) ? Value::of_int(i) : f.error("cannot convert value to integer");
}
Value is_integer(Frame&, Args a, std::size_t) {
  std::int64_t i = 0;
  return Value::of(integer(a[0], i));
}
Quantity operand(const Value& v) {
  return v.kind == Kind::kInt ? Quantity(v.integer) : read(v);
}
Amount small_operand(const Value& v) {
  return v.kind == Kind::kInt ? Amount{{}, true, 0, v.integer} : amount_of(v);
}
// A text that gives the same amount when it is read. The usual one does not where reading cuts
// binary amounts.
Value made(Frame& f, const Quantity& q, const Amount& form) {
  std::string text = q.print();
  auto again = Quantity::parse(text);
  if (again && *again != q) {
    text = q.print_exponent();
    again = Quantity::parse(text);
  }
  // INVARIANT: the text of an Amount can be parsed. A sum may have an exponent that cannot.
  if (!again) return f.error("the amount is too large");
  return made(f, text, form);
}
Value add(Frame& f, Args a, std::size_t) {
  return made(f, read(a[0]) + operand(a[1]), sum(amount_of(a[0]), small_operand(a[1])));
}
Value subtract(Frame& f, Args a, std::size_t) {
  Amount other = small_operand(a[1]);
  other.small &= !__builtin_sub_overflow(std::int64_t{0}, other.value, &other.value);
  return made(f, read(a[0]) - operand(a[1]), sum(amount_of(a[0]), other));
}

#define Q "kubernetes.Quantity"
constexpr OverloadRow kRows[] = {
    {"quantity", "string_to_quantity", "(string) " Q, parse},
    {"isQuantity", "is_quantity_string", "(string) bool", is_quantity},
    {"sign", "quantity_sign", Q ".() int", sign},
    {"isGreaterThan", "quantity_is_greater_than", Q ".(" Q ") bool", greater},
    {"isLessThan", "quantity_is_less_than", Q ".(" Q ") bool", less},
    {"compareTo", "quantity_compare_to", Q ".(" Q ") int", compare_to},
    {"asApproximateFloat", "quantity_get_float", Q ".() double", as_float},
    {"asInteger", "quantity_get_int", Q ".() int", as_integer},
    {"isInteger", "quantity_is_integer", Q ".() bool", is_integer},
    {"add", "quantity_add", Q ".(" Q ") " Q, add},
    {"add", "quantity_add_int", Q ".(int) " Q, add},
    {"sub", "quantity_sub", Q ".(" Q ") " Q, subtract},
    {"sub", "quantity_sub_int", Q ".(int) " Q, subtract},
    {"sign", "quantity_sign_global", "(" Q ") int", sign},
};

}  // namespace

std::span<const OverloadRow> quantity_overloads() {
  return kRows;
}

}  // namespace cardea::cel

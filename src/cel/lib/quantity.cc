#include "base/quantity.h"

#include "cel/frame.h"
#include "cel/lib/libraries.h"
#include "cel/opaque.h"

namespace cardea::cel {

// Texts of Amounts were read once already, so they read again.
static Quantity read(const Amount& amount) { return *Quantity::parse(amount.text); }

bool same_amount(const Amount& a, const Amount& b) { return a.text == b.text || read(a) == read(b); }

namespace {

using Args = const Value*;

Value made(Frame& f, std::string_view text) { return Value::of_opaque(Kind::kQuantity, f.arena.make<Amount>(Amount{f.arena.copy(text)})); }
Quantity read(const Value& v) { return cel::read(amount_of(v)); }

Value parse(Frame& f, Args a, std::size_t) {
  const auto q = Quantity::parse(a[0].string());
  return q ? made(f, a[0].string()) : f.error(q.error().message);
}
Value is_quantity(Frame&, Args a, std::size_t) { return Value::of(Quantity::parse(a[0].string()).has_value()); }
Value sign(Frame&, Args a, std::size_t) { return Value::of_int(read(a[0]).sign()); }
Value compare_to(Frame&, Args a, std::size_t) {
  const auto order = read(a[0]) <=> read(a[1]);
  return Value::of_int(order < 0 ? -1 : order > 0 ? 1 : 0);
}
Value greater(Frame&, Args a, std::size_t) { return Value::of(read(a[0]) > read(a[1])); }
Value less(Frame&, Args a, std::size_t) { return Value::of(read(a[0]) < read(a[1])); }
Value as_float(Frame&, Args a, std::size_t) { return Value::of_double(read(a[0]).as_double()); }
Value as_integer(Frame& f, Args a, std::size_t) {
  const auto i = read(a[0]).as_int64();
  return i ? Value::of_int(*i) : f.error("cannot convert value to integer");
}
Value is_integer(Frame&, Args a, std::size_t) { return Value::of(read(a[0]).as_int64().has_value()); }
Quantity operand(const Value& v) { return v.kind == Kind::kInt ? Quantity(v.integer) : read(v); }
Value add(Frame& f, Args a, std::size_t) { return made(f, (read(a[0]) + operand(a[1])).print()); }
Value subtract(Frame& f, Args a, std::size_t) { return made(f, (read(a[0]) - operand(a[1])).print()); }

#define Q "kubernetes.Quantity"
constexpr OverloadRow kRows[] = {
    {"quantity", "string_to_quantity", "(string) " Q, parse}, {"isQuantity", "is_quantity_string", "(string) bool", is_quantity},
    {"sign", "quantity_sign", Q ".() int", sign}, {"isGreaterThan", "quantity_is_greater_than", Q ".(" Q ") bool", greater},
    {"isLessThan", "quantity_is_less_than", Q ".(" Q ") bool", less}, {"compareTo", "quantity_compare_to", Q ".(" Q ") int", compare_to},
    {"asApproximateFloat", "quantity_get_float", Q ".() double", as_float}, {"asInteger", "quantity_get_int", Q ".() int", as_integer},
    {"isInteger", "quantity_is_integer", Q ".() bool", is_integer}, {"add", "quantity_add", Q ".(" Q ") " Q, add},
    {"add", "quantity_add_int", Q ".(int) " Q, add}, {"sub", "quantity_sub", Q ".(" Q ") " Q, subtract}, {"sub", "quantity_sub_int", Q ".(int) " Q, subtract},
    {"sign", "quantity_sign_global", "(" Q ") int", sign},
};

}  // namespace

std::span<const OverloadRow> quantity_overloads() { return kRows; }

}  // namespace cardea::cel

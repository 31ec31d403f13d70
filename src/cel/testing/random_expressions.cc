#include "cel/testing/random_expressions.h"

#include <array>

#include "base/strings.h"

namespace cardea::cel {
namespace {

// Written between %: e an expression, v a variable in scope, n the name of a new variable that the
// next %b, a body, sees; m a second one.
constexpr std::array kForms = {
    // operators, the frequent ones more than once
    "(%e) && (%e)", "(%e) && (%e)", "(%e) && (%e)", "(%e) || (%e)", "(%e) || (%e)", "(%e) || (%e)",
    "!(%e)", "!(%e)", "(%e) ? (%e) : (%e)", "(%e) ? (%e) : (%e)", "(%e) == (%e)", "(%e) == (%e)",
    "(%e) != (%e)", "(%e) < (%e)", "(%e) <= (%e)", "(%e) > (%e)", "(%e) >= (%e)", "(%e) + (%e)",
    "(%e) + (%e)", "(%e) - (%e)", "(%e) * (%e)", "(%e) / (%e)", "(%e) % (%e)", "-(%e)",
    "(%e) in (%e)", "(%e) in (%e)", "%v == %v", "%v in [%v, %e]",
    // selections
    "%v.x", "%v.x", "%v.y", "%v.x.y", "has(%v.x)", "has(%v.y)", "has(%v.x.y)", "(%e).x",
    "has((%e).x)", "(%e)[%e]", "%v[%e]", "%v[0]", "%v[\"x\"]", "%v.?x", "%v.?x.y", "%v.?x.?y",
    "(%e).?x", "(%e)[?%e]", "%v[?%e]", "%v[?\"x\"]", "(%e).?x.orValue(%e)", "%v[%v]", "%v.x[%v.y]",
    // literals
    "[%e, %e]", "[%e]", "[%e, ?%e]", "[?%e]", "{%e: %e}", "{\"x\": %e, \"y\": %e}",
    "{\"x\": %e, ?\"y\": %e}", "{?%e: %e}",
    // optionals
    "optional.of(%e)", "optional.ofNonZeroValue(%e)", "(%e).orValue(%e)", "(%e).or(%e)",
    "(%e).value()", "(%e).hasValue()", "(%e).optMap(%n, %b)", "(%e).optFlatMap(%n, %b)",
    "optional.of(%e).optMap(%n, %b)", "(%e).first()", "(%e).last()", "optional.unwrap(%e)",
    // loops and bindings
    "(%e).all(%n, %b)", "(%e).all(%n, %b)", "(%e).exists(%n, %b)", "(%e).exists(%n, %b)",
    "%v.exists(%n, %b)", "%v.all(%n, %b)", "(%e).exists_one(%n, %b)", "(%e).map(%n, %b)",
    "(%e).map(%n, %b)", "(%e).map(%n, %b, %b)", "(%e).filter(%n, %b)", "%v.map(%n, %b)",
    "%v.filter(%n, %b)", "(%e).all(%n, %m, %b)", "(%e).exists(%n, %m, %b)", "%v.exists(%n, %m, %b)",
    "(%e).existsOne(%n, %m, %b)", "(%e).transformList(%n, %m, %b)",
    "(%e).transformList(%n, %m, %b, %b)", "%v.transformMap(%n, %m, %b)",
    "(%e).transformMap(%n, %m, %b, %b)", "(%e).transformMapEntry(%n, %m, {%b: %b})",
    "(%e).sortBy(%n, %b)", "cel.bind(%n, %e, %b)", "cel.bind(%n, %e, %b)",
    "[1, 2, 3].exists(%n, %b)", "[\"x\", \"y\"].all(%n, %b)",
    "{\"x\": 1, \"y\": 2}.exists(%n, %m, %b)", "[1, 2].map(%n, %b)",
    // conversions and functions
    "size(%e)", "(%e).size()", "string(%e)", "int(%e)", "uint(%e)", "double(%e)", "bool(%e)",
    "bytes(%e)", "dyn(%e)", "type(%e)", "duration(%e)", "timestamp(%e)", "(%e).startsWith(%e)",
    "(%e).endsWith(%e)", "(%e).contains(%e)", "(%e).matches(%e)", "(%e).matches(\"^[xy]$\")",
    "(%e).getHours()", "(%e).getFullYear(\"Europe/Berlin\")", "(%e).getSeconds()",
    "math.greatest(%e, %e)", "math.least(%e)", "math.abs(%e)", "math.bitAnd(%e, %e)",
    "(%e).split(%e)", "(%e).join(%e)", "(%e).replace(%e, %e)", "(%e).substring(%e)",
    "(%e).charAt(%e)", "(%e).indexOf(%e)", "(%e).upperAscii()", "\"%s-%d\".format([%e, %e])",
    "(%e).trim()", "sets.contains(%e, %e)", "sets.intersects(%e, %e)", "sets.equivalent(%e, %e)",
    "(%e).sort()", "(%e).distinct()", "(%e).flatten()", "(%e).reverse()", "(%e).slice(%e, %e)",
    "lists.range(3)", "base64.encode(%e)",
    // Kubernetes'
    "(%e).sum()", "(%e).max()", "(%e).isSorted()", "(%e).find(%e)", "(%e).findAll(\"[a-z]\")",
    "quantity(%e)", "isQuantity(%e)", "quantity(\"1Gi\").isLessThan(%e)", "quantity(\"2\").add(%e)",
    "ip(%e)", "isIP(%e)", "cidr(%e)", "cidr(\"10.0.0.0/8\").containsIP(%e)", "url(%e)",
    "semver(%e)", "semver(\"1.2.3\").compareTo(%e)", "format.dns1123Label().validate(%e)"};

constexpr std::array kAtoms = {"true",
                               "true",
                               "false",
                               "false",
                               "0",
                               "1",
                               "2",
                               "-1",
                               "1u",
                               "2u",
                               "1.5",
                               "1.0",
                               "\"x\"",
                               "\"x\"",
                               "\"y\"",
                               "\"\"",
                               "null",
                               "[]",
                               "{}",
                               "[1, 2, 3]",
                               "[true, false]",
                               "[\"x\", \"y\"]",
                               "{\"x\": 1}",
                               "{\"x\": true, \"y\": \"z\"}",
                               "{1: 2, 2u: 3}",
                               "b\"x\"",
                               "duration(\"1s\")",
                               "duration(\"90m\")",
                               "timestamp(\"2024-02-29T12:34:56Z\")",
                               "optional.none()",
                               "optional.of(1)",
                               "optional.of({\"x\": 1})",
                               "1 / 0",
                               "int",
                               "string",
                               "quantity(\"1Gi\")",
                               "ip(\"10.0.0.1\")",
                               "cidr(\"10.0.0.0/8\")",
                               "semver(\"1.2.3\")",
                               "\"10.0.0.1\"",
                               "\"1.2.3\"",
                               "double(\"NaN\")",
                               "[optional.of(1), optional.none()]",
                               "9223372036854775807",
                               "dyn(1)"};

}  // namespace

std::uint32_t RandomExpressions::below(std::uint32_t n) {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<std::uint32_t>((state_ >> 32) % n);
}

std::string RandomExpressions::variable() {
  static constexpr std::array kNames = {"a", "b", "c", "d"};
  if (locals_ > 0 && below(2) == 0) return cat("v", below(static_cast<std::uint32_t>(locals_)));
  return kNames[below(kNames.size())];
}

std::string RandomExpressions::atom() {
  return below(3) == 0 ? kAtoms[below(kAtoms.size())] : variable();
}

std::string RandomExpressions::expression(int depth) {
  if (depth <= 0) return atom();
  const std::string_view form = kForms[below(kForms.size())];
  const int before = locals_;
  int opened = 0;
  std::string out;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%' || i + 1 == form.size() || form[i + 1] == ' ' || form[i + 1] == 's' ||
        form[i + 1] == 'd') {
      out += form[i];
      continue;
    }
    switch (form[++i]) {
      case 'v':
        out += variable();
        break;
      case 'n':
      case 'm':
        out += cat("v", before + opened++);
        break;
      case 'b':
        locals_ = before + opened;
        out += expression(depth - 1 - static_cast<int>(below(2)));
        locals_ = before;
        break;
      default:
        out += expression(depth - 1 - static_cast<int>(below(2)));
    }
  }
  return out;
}

Value RandomExpressions::value(Arena& arena, int depth) {
  switch (below(depth > 0 ? 16 : 11)) {
    case 0:
      return Value::null();
    case 1:
    case 2:
      return Value::of(below(2) == 0);
    case 3:
    case 4:
      return Value::of_int(static_cast<std::int64_t>(below(4)) - 1);
    case 5:
      return Value::of_text(below(2) == 0 ? "x" : "y");
    case 6:
      return Value::of_double(below(3) * 0.5);
    case 7:
      return Value::of_uint(below(3));
    case 8:
      return below(2) == 0 ? Value::of_bytes("x") : Value::of_text("10.0.0.1");
    case 9:
      return below(2) == 0 ? Value::of_duration(1'000'000'000)
                           : Value::of_timestamp(1'709'210'096, 0);
    case 10:
      return below(2) == 0 ? Value::none() : Value::some(arena.make<Value>(value(arena, 0)));
    case 11:
    case 12: {
      ListBuilder list(arena);
      for (std::uint32_t i = below(4); i > 0; --i) list.add(value(arena, depth - 1));
      return list.build();
    }
    default: {
      MapBuilder map(arena);
      for (const std::string_view key : {"x", "y", "z"})
        if (below(2) == 0) map.add(Value::of_text(key), value(arena, depth - 1));
      return map.build();
    }
  }
}

}  // namespace cardea::cel

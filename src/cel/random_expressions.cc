#include "cel/random_expressions.h"

#include <array>

#include "base/strings.h"

namespace cardea::cel {

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
  static constexpr std::array kAtoms = {"true", "false", "0", "1", "2", "-1", "1u", "1.5", "\"x\"", "\"y\"", "\"\"", "null", "[]", "{}", "[1, 2, 3]", "[true, false]", "{\"x\": 1}",
                                        "{\"x\": true, \"y\": \"z\"}", "b\"x\"", "duration(\"1s\")", "optional.none()", "optional.of(1)", "1 / 0", "[\"x\", \"y\"]"};
  return below(3) == 0 ? kAtoms[below(kAtoms.size())] : variable();
}

std::string RandomExpressions::loop(int depth) {
  static constexpr std::array kMacros = {"all", "exists", "exists_one", "map", "filter"};
  const std::string range = expression(depth - 1);
  const std::string name = cat("v", locals_++);
  const std::string body = expression(depth - 1);
  --locals_;
  return cat("(", range, ").", kMacros[below(kMacros.size())], "(", name, ", ", body, ")");
}

std::string RandomExpressions::expression(int depth) {
  if (depth <= 0) return atom();
  auto e = [&] { return expression(depth - 1 - static_cast<int>(below(2))); };
  static constexpr std::array kBinary = {"&&", "||", "&&", "||", "==", "!=", "<", "<=", ">", "+", "-", "*", "/", "%", "in"};
  switch (below(22)) {
    case 0: return atom();
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7: {
      const std::string left = e();
      return cat("(", left, ") ", kBinary[below(kBinary.size())], " (", e(), ")");
    }
    case 8: return cat("!(", e(), ")");
    case 9: {
      const std::string condition = e();
      const std::string yes = e();
      return cat("(", condition, ") ? (", yes, ") : (", e(), ")");
    }
    case 10: return cat(variable(), ".x");
    case 11: return cat("has(", variable(), ".", below(2) == 0 ? "x" : "y", ")");
    case 12: {
      const std::string target = e();
      return cat("(", target, ")[", e(), "]");
    }
    case 13: return cat("size(", e(), ")");
    case 14: return cat("string(", e(), ")");
    case 15: {
      const std::string target = e();
      return cat("(", target, ").startsWith(", e(), ")");
    }
    case 16: {
      const std::string first = e();
      return cat("[", first, ", ", e(), "]");
    }
    case 17: {
      const std::string target = e();
      return cat("(", target, ").?x.orValue(", e(), ")");
    }
    case 18: {
      const std::string init = e();
      const std::string name = cat("v", locals_++);
      const std::string body = e();
      --locals_;
      return cat("cel.bind(", name, ", ", init, ", ", body, ")");
    }
    case 19: {
      const std::string target = e();
      const std::string name = cat("v", locals_++);
      const std::string body = e();
      --locals_;
      return cat("(", target, ").", below(2) == 0 ? "optMap" : "optFlatMap", "(", name, ", ", body, ")");
    }
    default: return loop(depth);
  }
}

Value RandomExpressions::value(Arena& arena, int depth) {
  switch (below(depth > 0 ? 12 : 8)) {
    case 0: return Value::null();
    case 1:
    case 2: return Value::of(below(2) == 0);
    case 3:
    case 4: return Value::of_int(static_cast<std::int64_t>(below(4)) - 1);
    case 5: return Value::of_text(below(2) == 0 ? "x" : "y");
    case 6: return Value::of_double(below(3) * 0.5);
    case 7: return Value::of_uint(below(3));
    case 8:
    case 9: {
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

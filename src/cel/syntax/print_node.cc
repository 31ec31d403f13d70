#include <algorithm>

#include "base/strings.h"
#include "cel/syntax/operators.h"
#include "cel/syntax/print.h"

namespace cardea::cel {
namespace {

struct Operator {
  std::string_view function;
  std::string_view text;
  int precedence;  // smaller binds tighter
};
constexpr Operator kOperators[] = {
    {op::kMultiply, "*", 3},   {op::kDivide, "/", 3},    {op::kModulo, "%", 3},
    {op::kAdd, "+", 4},        {op::kSubtract, "-", 4},  {op::kLess, "<", 5},
    {op::kLessEqual, "<=", 5}, {op::kGreater, ">", 5},   {op::kGreaterEqual, ">=", 5},
    {op::kEqual, "==", 5},     {op::kNotEqual, "!=", 5}, {op::kIn, "in", 5},
    {op::kAnd, "&&", 6},       {op::kOr, "||", 7}};

const Operator* operator_of(const Node& n) {
  std::string_view function = n.name;
  switch (n.op) {
    case Op::kAnd:
      function = op::kAnd;
      break;
    case Op::kOr:
      function = op::kOr;
      break;
    case Op::kEqual:
      function = op::kEqual;
      break;
    case Op::kNotEqual:
      function = op::kNotEqual;
      break;
    case Op::kInSet:
      function = op::kIn;
      break;
    case Op::kCall:
      if (n.count == 2 && !n.member) break;
      return nullptr;
    default:
      return nullptr;
  }
  const auto* found = std::ranges::find(kOperators, function, &Operator::function);
  return found == std::end(kOperators) ? nullptr : found;
}

// A call with two arguments or more, receivers not counted: the canonical form puts it in
// parentheses.
bool is_complex(const Node& n) {
  if (operator_of(n) != nullptr) return true;
  switch (n.op) {
    case Op::kConditional:
    case Op::kIndex:
    case Op::kOptionalIndex:
    case Op::kOptionalSelect:
      return true;
    case Op::kCall:
      return n.count - (n.member ? 1 : 0) >= 2;
    default:
      return false;
  }
}

int precedence_of(const Node& n) {
  if (const Operator* o = operator_of(n)) return o->precedence;
  if (n.op == Op::kConditional) return 8;
  if (n.op == Op::kIndex || n.op == Op::kOptionalIndex || n.op == Op::kOptionalSelect) return 1;
  return 0;
}

bool is_plain_name(std::string_view name) {
  if (name.empty() || name == "in" || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}
  std::string out;

  void visit(const Node& n) {
    switch (n.op) {
      case Op::kConst:
        if (n.count == 0) return print_value_to(out, n.value);
        out += cat(n.name, "(");
        visit(*n.args[0]);
        out += ")";
        return;
      case Op::kSlot:
      case Op::kLocal:
      case Op::kUnresolved:
        out += n.name;
        return;
      case Op::kBound:
        out += n.name.starts_with("@index") ? cat("cel.index(", n.name.substr(6), ")")
                                            : std::string(n.name);
        return;
      case Op::kPath:
        out += n.name;
        for (const std::string_view field : n.fields) {
          out += ".";
          add_field(field);
        }
        return;
      case Op::kHas:
        out += "has(";
        receiver(*n.args[0]);
        out += ".";
        add_field(n.name);
        out += ")";
        return;
      case Op::kSelect:
      case Op::kOptionalSelect:
        receiver(*n.args[0]);
        out += n.op == Op::kSelect ? "." : ".?";
        add_field(n.name);
        return;
      case Op::kIndex:
      case Op::kOptionalIndex:
        receiver(*n.args[0]);
        out += n.op == Op::kIndex ? "[" : "[?";
        visit(*n.args[1]);
        out += "]";
        return;
      case Op::kNot:
        unary("!", *n.args[0]);
        return;
      case Op::kConditional:
        conditional(n);
        return;
      case Op::kList:
        list(n);
        return;
      case Op::kMap:
        map(n);
        return;
      case Op::kStruct:
        structure(n);
        return;
      case Op::kLoop:
      case Op::kOptionalMap:
        macro(n);
        return;
      case Op::kBind:
        out += cat("cel.bind(", n.var1, ", ");
        arguments(n, 0);
        out += ")";
        return;
      case Op::kBlock:
        out += "cel.block([";
        for (std::size_t i = 0; i + 1 < n.count; ++i) {
          if (i > 0) out += ", ";
          visit(*n.args[i]);
        }
        out += "], ";
        visit(*n.args[n.count - 1]);
        out += ")";
        return;
      default:
        call(n);
    }
  }

 private:
  void add_field(std::string_view name) {
    if (is_plain_name(name))
      out += name;
    else
      out += cat("`", name, "`");
  }

  void wrapped(const Node& n, bool parentheses) {
    if (parentheses) out += "(";
    visit(n);
    if (parentheses) out += ")";
  }

  static bool is_unary(const Node& n) {
    return n.op == Op::kNot || (n.op == Op::kCall && n.name == op::kNegate);
  }

  void receiver(const Node& n) {
    wrapped(n, operator_of(n) != nullptr || n.op == Op::kConditional || is_unary(n));
  }

  void unary(std::string_view sign, const Node& operand) {
    out += sign;
    // Repeated signs would cancel out when they are parsed again.
    const bool signed_itself = is_unary(operand) ||
                               (operand.op == Op::kConst && operand.count == 0 &&
                                is_number(operand.value));
    const std::size_t start = out.size();
    wrapped(operand, is_complex(operand) || signed_itself);
    // Before a digit the minus would be parsed as the sign of the number.
    if (sign == "-" && (out[start] == '-' || (out[start] >= '0' && out[start] <= '9'))) {
      out.insert(start, "(");
      out += ")";
    }
  }

  void conditional(const Node& n) {
    auto part = [&](const Node& p) {
      if (is_complex(p))
        wrapped(p, true);
      else
        alternative(p);
    };
    wrapped(*n.args[0], is_complex(*n.args[0]));
    between("?", op::kConditional);
    part(*n.args[1]);
    out += " : ";
    part(*n.args[2]);
  }

  // Writes ` op `, with a line break if the options say so.
  void between(std::string_view text, std::string_view function) {
    const bool wraps = options_.wrap_column > 0 &&
                       std::ranges::find(options_.wrap_on, function) != options_.wrap_on.end() &&
                       out.size() - line_start_ + function.size() >= options_.wrap_column;
    if (!wraps) {
      out += cat(" ", text, " ");
    } else if (options_.wrap_after) {
      out += cat(" ", text, "\n");
      line_start_ = out.size();
    } else {
      out += "\n";
      line_start_ = out.size();
      out += cat(text, " ");
    }
  }

  void binary(const Node& n, const Operator& o) {
    const bool flat = n.op == Op::kAnd || n.op == Op::kOr;
    for (std::size_t i = 0; i < n.count; ++i) {
      if (i > 0) between(o.text, o.function);
      const Node& operand = *n.args[i];
      const int p = precedence_of(operand);
      wrapped(operand,
              is_complex(operand) && (p > o.precedence || (i > 0 && !flat && p == o.precedence)));
    }
  }

  void arguments(const Node& n, std::size_t first) {
    for (std::size_t i = first; i < n.count; ++i) {
      if (i > first) out += ", ";
      visit(*n.args[i]);
    }
  }

  void call(const Node& n) {
    if (const Operator* o = operator_of(n)) return binary(n, *o);
    if (n.name == op::kNegate) return unary("-", *n.args[0]);
    if (n.name == "math.@max" || n.name == "math.@min") return extremum(n);
    if (n.member) {
      receiver(*n.args[0]);
      out += ".";
    }
    out += cat(n.name, "(");
    if (n.member && n.count == 2 && (n.name == "orValue" || n.name == "or"))
      alternative(*n.args[1]);
    else
      arguments(n, n.member ? 1 : 0);
    out += ")";
  }

  // A part that is evaluated only when needed may fail without an effect. An element of `{}` has
  // every type, so the checker would take the first type that fits and refuse the others at run
  // time; `dyn` leaves the type open.
  void alternative(const Node& n) {
    const bool fails = n.op == Op::kConst && n.count == 0 && n.value.is_error();
    if (fails) out += "dyn(";
    visit(n);
    if (fails) out += ")";
  }

  void extremum(const Node& n) {
    out += n.name == "math.@max" ? "math.greatest(" : "math.least(";
    arguments(n, 0);
    out += ")";
  }

  void macro(const Node& n) {
    receiver(*n.args[0]);
    out += cat(".", n.name, "(", n.var1, ", ");
    if (!n.var2.empty()) out += cat(n.var2, ", ");
    arguments(n, 1);
    out += ")";
  }

  void mark(const Node& n, std::size_t i) {
    if (!n.marked.empty() && n.marked[i]) out += "?";
  }

  void list(const Node& n) {
    out += "[";
    for (std::size_t i = 0; i < n.count; ++i) {
      if (i > 0) out += ", ";
      mark(n, i);
      visit(*n.args[i]);
    }
    out += "]";
  }

  void map(const Node& n) {
    out += "{";
    for (std::size_t i = 0; i < n.count; i += 2) {
      if (i > 0) out += ", ";
      mark(n, i / 2);
      visit(*n.args[i]);
      out += ": ";
      visit(*n.args[i + 1]);
    }
    out += "}";
  }

  void structure(const Node& n) {
    out += cat(n.name, "{");
    for (std::size_t i = 0; i < n.count; ++i) {
      if (i > 0) out += ", ";
      mark(n, i);
      add_field(n.fields[i]);
      out += ": ";
      visit(*n.args[i]);
    }
    out += "}";
  }

  const PrintOptions& options_;
  std::size_t line_start_ = 0;
};

}  // namespace

std::string print(const Node& node, const PrintOptions& options) {
  Printer printer(options);
  printer.visit(node);
  return std::move(printer.out);
}

}  // namespace cardea::cel

#include "cel/partial/bounds.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "cel/syntax/print.h"

namespace cardea::cel {

bool surely_bool(const Node& n) {
  switch (n.op) {
    case Op::kConst:
      return n.value.kind == Kind::kBool || n.value.is_error();
    case Op::kSlot:
    case Op::kPath:
      return n.bool_typed;
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kInSet:
    case Op::kHas:
      return true;
    case Op::kLoop:
      return n.macro == Macro::kAll || n.macro == Macro::kExists || n.macro == Macro::kExistsOne;
    case Op::kConditional:
      return surely_bool(*n.args[1]) && surely_bool(*n.args[2]);
    case Op::kBind:
      return surely_bool(*n.args[1]);
    case Op::kCall:
      return n.target != nullptr && !n.target->overloads.empty() &&
             std::ranges::all_of(n.target->overloads,
                                 [](const Overload* o) { return o->result->kind == Type::kBool; });
    default:
      return false;
  }
}

Bounds bounds_of(const Node& n) {
  switch (n.op) {
    case Op::kConst:
      return {n.value.is_true(), n.value.is_false(), n.value.is_error()};
    case Op::kAnd:
    case Op::kOr: {
      // Written for &&; || is the same with true and false exchanged.
      const bool conjunction = n.op == Op::kAnd;
      Bounds out{true, false, false};
      for (const Node* arg : n.children()) {
        const Bounds b = bounds_of(*arg);
        const bool neutral = conjunction ? b.can_be_true : b.can_be_false;
        const bool decisive = conjunction ? b.can_be_false : b.can_be_true;
        out.can_be_true &= neutral;
        out.can_be_false |= decisive;
        out.can_fail |= b.can_fail || !surely_bool(*arg);
      }
      if (!conjunction) std::swap(out.can_be_true, out.can_be_false);
      return out;
    }
    case Op::kNot: {
      const Bounds b = bounds_of(*n.args[0]);
      return {b.can_be_false, b.can_be_true, b.can_fail || !surely_bool(*n.args[0])};
    }
    case Op::kConditional: {
      const Bounds c = bounds_of(*n.args[0]);
      const Bounds yes = bounds_of(*n.args[1]);
      const Bounds no = bounds_of(*n.args[2]);
      return {(c.can_be_true && yes.can_be_true) || (c.can_be_false && no.can_be_true),
              (c.can_be_true && yes.can_be_false) || (c.can_be_false && no.can_be_false),
              c.can_fail || !surely_bool(*n.args[0]) || (c.can_be_true && yes.can_fail) ||
                  (c.can_be_false && no.can_fail)};
    }
    case Op::kSlot:
      return {true, true, true};
    default:
      return {};
  }
}

namespace {

std::string path_text(const Node& n) {
  std::string out(n.name);
  for (const std::string_view field : n.fields) out += cat(".", field);
  return out;
}

// The text of a chain of constant selections on a variable, or nothing.
std::optional<std::string> attribute_text(const Node& n) {
  switch (n.op) {
    case Op::kSlot:
    case Op::kPath:
      return path_text(n);
    case Op::kSelect:
    case Op::kHas:
    case Op::kOptionalSelect: {
      auto base = attribute_text(*n.args[0]);
      if (base) *base += cat(".", n.name);
      return base;
    }
    case Op::kIndex:
    case Op::kOptionalIndex: {
      if (n.args[1]->op != Op::kConst) return std::nullopt;
      auto base = attribute_text(*n.args[0]);
      if (base) *base += cat("[", print_value(n.args[1]->value), "]");
      return base;
    }
    default:
      return std::nullopt;
  }
}

void collect(const Node& n, std::vector<std::string>& out) {
  if (const auto text = attribute_text(n)) {
    if (std::ranges::find(out, *text) == out.end()) out.push_back(*text);
    return;
  }
  for (const Node* child : n.children()) collect(*child, out);
}

// Only plain reads: a path or select that fails makes the comparison fail, and never true.
std::optional<std::string> plain_attribute(const Node& n) {
  if (n.op == Op::kHas || n.op == Op::kOptionalSelect || n.op == Op::kOptionalIndex)
    return std::nullopt;
  return attribute_text(n);
}

void add(std::vector<Implied>& out, Implied one) {
  const auto found = std::ranges::find(out, one.attribute, &Implied::attribute);
  if (found == out.end()) {
    out.push_back(std::move(one));
    return;
  }
  // Both must hold: the values that are in both remain.
  std::erase_if(found->values, [&](const Value& v) {
    return std::ranges::none_of(one.values, [&](const Value& w) { return equal(v, w); });
  });
}

std::vector<Implied> implied_by_any(const Node& n) {
  std::vector<Implied> out = implied_by(*n.args[0]);
  for (std::size_t i = 1; i < n.count && !out.empty(); ++i) {
    const std::vector<Implied> other = implied_by(*n.args[i]);
    std::erase_if(out, [&](Implied& one) {
      const auto same = std::ranges::find(other, one.attribute, &Implied::attribute);
      if (same == other.end()) return true;
      for (const Value& v : same->values)
        if (std::ranges::none_of(one.values, [&](const Value& w) { return equal(v, w); }))
          one.values.push_back(v);
      return false;
    });
  }
  return out;
}

}  // namespace

std::vector<std::string> attributes_of(const Node& node) {
  std::vector<std::string> out;
  collect(node, out);
  return out;
}

std::vector<Implied> implied_by(const Node& n) {
  std::vector<Implied> out;
  switch (n.op) {
    case Op::kAnd:
      for (const Node* arg : n.children())
        for (Implied& one : implied_by(*arg)) add(out, std::move(one));
      break;
    case Op::kOr:
      return implied_by_any(n);
    case Op::kEqual:
      for (int side = 0; side < 2; ++side)
        if (n.args[1 - side]->op == Op::kConst)
          if (const auto attribute = plain_attribute(*n.args[side]))
            add(out, {*attribute, {n.args[1 - side]->value}});
      break;
    case Op::kInSet:
      if (const auto attribute = plain_attribute(*n.args[0])) {
        Implied one{*attribute, {}};
        const Value& list = n.args[1]->value;
        for (std::uint32_t i = 0; i < list.size; ++i) one.values.push_back(list_at(list, i));
        add(out, std::move(one));
      }
      break;
    case Op::kConditional: {
      // true needs (c and a) or (not c and b).
      std::vector<Implied> yes = implied_by(*n.args[0]);
      for (Implied& one : implied_by(*n.args[1])) add(yes, std::move(one));
      if (n.args[2]->op == Op::kConst && !n.args[2]->value.is_true()) return yes;
      break;
    }
    case Op::kConst:
      break;
    default:
      break;
  }
  return out;
}

}  // namespace cardea::cel

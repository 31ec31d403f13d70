#include "cel/partial/facts.h"

#include <algorithm>

#include "base/strings.h"
#include "cel/partial/implication.h"
#include "cel/syntax/print.h"

namespace cardea::cel {
namespace {

using Values = std::vector<Value>;

bool has(const Values& list, const Value& value) {
  return std::ranges::any_of(list, [&](const Value& v) { return equal(v, value); });
}

// Whether the order of two values is known without a doubt.
bool are_comparable(const Value& a, const Value& b) {
  return (a.kind == Kind::kString && b.kind == Kind::kString) ||
         (a.kind == Kind::kInt && b.kind == Kind::kInt);
}

const Value* constant_of(const Node& n) {
  return n.op == Op::kConst && !n.value.is_error() && is_simple(n.value) ? &n.value : nullptr;
}

// A selection by name or constant on a variable, without optionals.
bool is_plain_selection(const Node& n) {
  if (n.optional_typed) return false;
  switch (n.op) {
    case Op::kSlot:
    case Op::kPath:
      return true;
    case Op::kSelect:
      return is_plain_selection(*n.args[0]);
    case Op::kIndex:
      return n.args[1]->op == Op::kConst && is_plain_selection(*n.args[0]);
    default:
      return false;
  }
}

// The text of a selection, as it is printed.
std::string selected(std::string_view from, std::string_view field) {
  const bool is_name = std::ranges::all_of(field, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return is_name ? cat(from, ".", field) : cat(from, ".`", field, "`");
}

struct Order {
  std::string_view name, turned;
  bool is_above, strict;
};
constexpr Order kOrders[] = {{"_>_", "_<_", true, true},
                             {"_>=_", "_<=_", true, false},
                             {"_<_", "_>_", false, true},
                             {"_<=_", "_>=_", false, false}};

}  // namespace

bool is_simple(const Value& v) {
  switch (v.kind) {
    case Kind::kNull:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kString:
      return true;
    default:
      return false;
  }
}

const std::string& Texts::of(const Node& node) {
  auto [at, is_new] = known_.try_emplace(&node);
  if (is_new) at->second = print(node);
  return at->second;
}

void Facts::Term::learn_one_of(Values more) {
  if (!values)
    values = std::move(more);
  else
    std::erase_if(*values, [&](const Value& v) { return !cel::has(more, v); });
}

bool Facts::Term::allows(const Value& v) const {
  auto in_order = [&](const auto& bounds, int wanted) {
    return std::ranges::all_of(bounds, [&](const auto& bound) {
      if (!are_comparable(v, bound.first)) return true;
      const int order = compare(v, bound.first);
      return order == wanted || (order == 0 && !bound.second);
    });
  };
  if (cel::has(others, v) || !in_order(above, 1) || !in_order(below, -1)) return false;
  if (!is_text()) return true;
  if (!v.is_string()) return false;
  auto all = [](const std::vector<std::string>& list, auto fits) {
    return std::ranges::all_of(list, fits);
  };
  return all(prefixes, [&](const std::string& p) { return v.string().starts_with(p); }) &&
         all(suffixes, [&](const std::string& s) { return v.string().ends_with(s); }) &&
         all(infixes, [&](const std::string& i) { return v.string().contains(i); });
}

std::optional<Facts::Claim> Facts::claim_of(const Literal& l) {
  using Kind = Claim::Kind;
  const Node& n = *l.node;
  if (l.is) return Claim{.kind = Kind::kIs, .term = &n, .values = {*l.is}};
  if (n.op == Op::kEqual || n.op == Op::kNotEqual) {
    const bool is_equal = (n.op == Op::kEqual) == l.truth;
    for (int side = 0; side < 2; ++side)
      if (const Value* c = constant_of(*n.args[1 - side]))
        return Claim{
            .kind = is_equal ? Kind::kIs : Kind::kIsNot, .term = n.args[side], .values = {*c}};
    return std::nullopt;
  }
  if (n.op == Op::kInSet) {
    Claim out{.kind = l.truth ? Kind::kIs : Kind::kIsNot, .term = n.args[0]};
    const Value& list = n.args[1]->value;
    for (std::uint32_t i = 0; i < list.size; ++i) {
      out.values.push_back(list_at(list, i));
      if (!is_simple(out.values.back())) return std::nullopt;
    }
    return out;
  }
  if (is_plain_selection(n)) {
    static const Value kTruths[] = {Value::of(false), Value::of(true)};
    return Claim{.kind = Kind::kIs, .term = &n, .values = {kTruths[l.truth ? 1 : 0]}};
  }
  if (n.op != Op::kCall || n.count != 2) return std::nullopt;
  for (const Order& order : kOrders) {
    const bool is_turned = n.name == order.turned && constant_of(*n.args[0]);
    if (n.name != order.name && !is_turned) continue;
    const Value* c = constant_of(*n.args[is_turned ? 0 : 1]);
    if (!c) continue;
    const Node* term = n.args[is_turned ? 1 : 0];
    if (l.truth)
      return Claim{.kind = order.is_above ? Kind::kAbove : Kind::kBelow,
                   .term = term,
                   .values = {*c},
                   .strict = order.strict};
    // Texts have an order; of two numbers, one may be none.
    if (!c->is_string()) return std::nullopt;
    return Claim{.kind = order.is_above ? Kind::kBelow : Kind::kAbove,
                 .term = term,
                 .values = {*c},
                 .strict = !order.strict};
  }
  const Value* c = constant_of(*n.args[1]);
  if (!n.member || !c || !c->is_string() || !l.truth) return std::nullopt;
  const std::optional<Kind> kind = n.name == "startsWith" ? std::optional(Kind::kPrefix)
                                   : n.name == "endsWith" ? std::optional(Kind::kSuffix)
                                   : n.name == "contains" ? std::optional(Kind::kInfix)
                                                          : std::nullopt;
  if (!kind) return std::nullopt;
  return Claim{.kind = *kind, .term = n.args[0], .values = {*c}};
}

std::string Facts::opaque_text(const Literal& l) {
  const Node& n = *l.node;
  if (n.op != Op::kEqual && n.op != Op::kNotEqual) return cat(l.truth ? "+" : "-", texts_.of(n));
  // Equality has no direction, and one that fails is neither equal nor unequal.
  std::string_view a = texts_.of(*n.args[0]), b = texts_.of(*n.args[1]);
  if (b < a) std::swap(a, b);
  return cat((n.op == Op::kEqual) == l.truth ? "+" : "-", a, " == ", b);
}

void Facts::add_reads(const Node& n) {
  switch (n.op) {
    case Op::kPath: {
      if (n.optional_typed) return;
      std::string text(n.name);
      for (const std::string_view field : n.fields) {
        opened_.insert(text);
        text = selected(text, field);
        read_.insert(text);
      }
      return;
    }
    case Op::kSelect:
    case Op::kIndex:
      if (!is_plain_selection(n)) return;
      opened_.insert(texts_.of(*n.args[0]));
      if (n.op == Op::kSelect) read_.insert(texts_.of(n));
      add_reads(*n.args[0]);
      return;
    case Op::kHas:
      if (is_plain_selection(*n.args[0])) add_reads(*n.args[0]);
      return;
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kInSet:
    case Op::kCall:
      for (const Node* child : n.children()) add_reads(*child);
      return;
    default:
      return;
  }
}

void Facts::add(const Literal& l) {
  add_reads(*l.node);
  if (!l.is) opaque_.insert(opaque_text(l));
  const Node& n = *l.node;
  if (n.op == Op::kHas && l.truth && is_plain_selection(*n.args[0])) {
    read_.insert(selected(texts_.of(*n.args[0]), n.name));
    opened_.insert(texts_.of(*n.args[0]));
  }
  if (n.op == Op::kLoop && l.truth) loops_.push_back(&n);
  const std::optional<Claim> claim = claim_of(l);
  if (!claim) return;
  Term& term = terms_[texts_.of(*claim->term)];
  switch (claim->kind) {
    case Claim::Kind::kIs:
      return term.learn_one_of(claim->values);
    case Claim::Kind::kIsNot:
      term.others.insert(term.others.end(), claim->values.begin(), claim->values.end());
      return;
    case Claim::Kind::kAbove:
      term.above.emplace_back(claim->values[0], claim->strict);
      return;
    case Claim::Kind::kBelow:
      term.below.emplace_back(claim->values[0], claim->strict);
      return;
    case Claim::Kind::kPrefix:
      term.prefixes.emplace_back(claim->values[0].string());
      return;
    case Claim::Kind::kSuffix:
      term.suffixes.emplace_back(claim->values[0].string());
      return;
    case Claim::Kind::kInfix:
      term.infixes.emplace_back(claim->values[0].string());
      return;
  }
}

bool Facts::are_contradictory() const {
  const bool is_both = std::ranges::any_of(opaque_, [&](const std::string& text) {
    return text.starts_with('+') && opaque_.contains(cat("-", text.substr(1)));
  });
  return is_both || std::ranges::any_of(terms_, [](const auto& one) {
           const Term& term = one.second;
           return term.values && std::ranges::none_of(
                                     *term.values, [&](const Value& v) { return term.allows(v); });
         });
}

bool Facts::holds(const Claim& claim, const Value& v) {
  const Value& first = claim.values.empty() ? v : claim.values[0];
  switch (claim.kind) {
    case Claim::Kind::kIs:
      return has(claim.values, v);
    case Claim::Kind::kIsNot:
      return !has(claim.values, v);
    case Claim::Kind::kAbove:
    case Claim::Kind::kBelow: {
      if (!are_comparable(v, first)) return false;
      const int order = compare(v, first);
      return order == (claim.kind == Claim::Kind::kAbove ? 1 : -1) || (order == 0 && !claim.strict);
    }
    case Claim::Kind::kPrefix:
      return v.is_string() && v.string().starts_with(first.string());
    case Claim::Kind::kSuffix:
      return v.is_string() && v.string().ends_with(first.string());
    case Claim::Kind::kInfix:
      return v.is_string() && v.string().contains(first.string());
  }
  return false;
}

// What has fields or items is no simple value.
bool Facts::is_unequal_by_kind(const Claim& claim) {
  return claim.kind == Claim::Kind::kIsNot && is_plain_selection(*claim.term) &&
         opened_.contains(texts_.of(*claim.term));
}

bool Facts::entail(const Claim& claim) {
  if (is_unequal_by_kind(claim)) return true;
  auto at = terms_.find(texts_.of(*claim.term));
  if (at == terms_.end()) return false;
  const Term& term = at->second;
  if (term.values)
    return std::ranges::all_of(*term.values,
                               [&](const Value& v) { return !term.allows(v) || holds(claim, v); });
  auto has_bound = [&](const auto& bounds, int stronger) {
    return std::ranges::any_of(bounds, [&](const auto& bound) {
      if (!are_comparable(bound.first, claim.values[0])) return false;
      const int order = compare(bound.first, claim.values[0]);
      return order == stronger || (order == 0 && (bound.second || !claim.strict));
    });
  };
  auto any = [](const std::vector<std::string>& list, auto fits) {
    return std::ranges::any_of(list, fits);
  };
  switch (claim.kind) {
    case Claim::Kind::kIs:
      return false;
    case Claim::Kind::kIsNot:
      return std::ranges::none_of(claim.values, [&](const Value& v) { return term.allows(v); });
    case Claim::Kind::kAbove:
      return has_bound(term.above, 1);
    case Claim::Kind::kBelow:
      return has_bound(term.below, -1);
    case Claim::Kind::kPrefix:
      return any(term.prefixes,
                 [&](const std::string& p) { return p.starts_with(claim.values[0].string()); });
    case Claim::Kind::kSuffix:
      return any(term.suffixes,
                 [&](const std::string& s) { return s.ends_with(claim.values[0].string()); });
    case Claim::Kind::kInfix: {
      auto contains = [&](const std::string& t) { return t.contains(claim.values[0].string()); };
      return any(term.prefixes, contains) || any(term.suffixes, contains) ||
             any(term.infixes, contains);
    }
  }
  return false;
}

bool Facts::was_read(const Node& n) {
  return is_plain_selection(*n.args[0]) && read_.contains(selected(texts_.of(*n.args[0]), n.name));
}

// A loop over the same list with a stronger body: what is true of all items, or of one.
bool Facts::entail_loop(const Node& loop) {
  if (loop.macro != Macro::kAll && loop.macro != Macro::kExists) return false;
  return std::ranges::any_of(loops_, [&](const Node* known) {
    return known->macro == loop.macro && known->var1 == loop.var1 && known->var2 == loop.var2 &&
           known->count == loop.count && loop.count == 2 &&
           texts_.of(*known->args[0]) == texts_.of(*loop.args[0]) &&
           implies(known->args[1], loop.args[1]);
  });
}

bool Facts::entail(const Literal& l) {
  if (opaque_.contains(opaque_text(l))) return true;
  const Node& n = *l.node;
  if (n.op == Op::kHas && l.truth) return was_read(n);
  if (n.op == Op::kLoop && l.truth) return entail_loop(n);
  const std::optional<Claim> claim = claim_of(l);
  return claim && entail(*claim);
}

}  // namespace cardea::cel

#include "cel/partial/implication.h"

#include <algorithm>
#include <deque>

#include "cel/partial/facts.h"

namespace cardea::cel {
namespace {

// Literals that hold at once. Of several cases, one holds.
using Case = std::vector<Literal>;
using Cases = std::vector<Case>;
constexpr std::size_t kMostCases = 128, kMostSteps = 20'000, kMostOfASet = 16;

// Opens a premise into cases. To leave out literals of a case is always right: less is known then.
class Opening {
 public:
  Cases open(const Node& n, bool truth) {
    if (++steps_ > kMostSteps) return {{}};
    switch (n.op) {
      case Op::kConst:
        return n.value.kind == Kind::kBool && n.value.boolean == truth ? Cases{{}} : Cases{};
      case Op::kAnd:
      case Op::kOr:
        return (n.op == Op::kAnd) == truth ? all_of(n, truth) : any_of(n, truth);
      case Op::kNot:
        return open(*n.args[0], !truth);
      case Op::kConditional: {
        Cases out = both(open(*n.args[0], true), open(*n.args[1], truth));
        return either(std::move(out), both(open(*n.args[0], false), open(*n.args[2], truth)));
      }
      case Op::kInSet:
        return of_set(n, truth);
      default:
        return {{{.node = &n, .truth = truth}}};
    }
  }

 private:
  static Cases both(const Cases& a, const Cases& b) {
    if (a.empty() || b.empty()) return {};
    if (a.size() * b.size() > kMostCases) return a.size() < b.size() ? b : a;
    Cases out;
    for (const Case& one : a)
      for (const Case& other : b) {
        Case& joined = out.emplace_back(one);
        joined.insert(joined.end(), other.begin(), other.end());
      }
    return out;
  }
  static Cases either(Cases a, Cases b) {
    if (a.size() + b.size() > kMostCases) return {{}};
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  Cases all_of(const Node& n, bool truth) {
    Cases out{{}};
    for (const Node* child : n.children()) out = both(out, open(*child, truth));
    return out;
  }
  Cases any_of(const Node& n, bool truth) {
    Cases out;
    for (const Node* child : n.children()) {
      Cases more = open(*child, truth);
      if (out.size() + more.size() > kMostCases) return {{{.node = &n, .truth = truth}}};
      out = either(std::move(out), std::move(more));
    }
    return out;
  }
  // Each item is a case, if they are few.
  Cases of_set(const Node& n, bool truth) {
    const Value& list = n.args[1]->value;
    Cases whole{{{.node = &n, .truth = truth}}};
    if (!truth || list.size > kMostOfASet) return whole;
    Cases out;
    for (std::uint32_t i = 0; i < list.size; ++i) {
      const Value& item = items_.emplace_back(list_at(list, i));
      if (!is_simple(item)) return whole;
      out.push_back({{.node = &n}, {.node = n.args[0], .is = &item}});
    }
    return out;
  }

  std::size_t steps_ = 0;
  std::deque<Value> items_;
};

// Whether a conclusion follows in one case.
class Conclusion {
 public:
  Conclusion(Facts& facts, std::size_t& steps) : facts_(facts), steps_(steps) {}

  bool follows(const Node& n, bool truth) {
    if (++steps_ > kMostSteps) return false;
    switch (n.op) {
      case Op::kConst:
        return n.value.kind == Kind::kBool && n.value.boolean == truth;
      case Op::kAnd:
      case Op::kOr: {
        auto one = [&](const Node* child) { return follows(*child, truth); };
        return (n.op == Op::kAnd) == truth ? std::ranges::all_of(n.children(), one)
                                           : std::ranges::any_of(n.children(), one) ||
                                                 facts_.entail({.node = &n, .truth = truth});
      }
      case Op::kNot:
        return follows(*n.args[0], !truth);
      case Op::kConditional:
        return (follows(*n.args[0], true) && follows(*n.args[1], truth)) ||
               (follows(*n.args[0], false) && follows(*n.args[2], truth));
      default:
        return facts_.entail({.node = &n, .truth = truth});
    }
  }

 private:
  Facts& facts_;
  std::size_t& steps_;
};

}  // namespace

bool implies(const Node* if_true, const Node* then) {
  return implies(if_true, {&then, 1}, {});
}

bool implies(const Node* if_true, std::span<const Node* const> any_of,
             std::span<const KnownAttribute> known) {
  Opening opening;
  Texts texts;
  std::size_t steps = 0;
  const Cases cases = if_true ? opening.open(*if_true, true) : Cases{{}};
  return std::ranges::all_of(cases, [&](const Case& one) {
    Facts facts(texts);
    for (const KnownAttribute& k : known) facts.add(k.name, k.value);
    for (const Literal& literal : one) facts.add(literal);
    steps += one.size();
    if (facts.are_contradictory()) return true;
    return std::ranges::any_of(
        any_of, [&](const Node* then) { return Conclusion(facts, steps).follows(*then, true); });
  });
}

}  // namespace cardea::cel

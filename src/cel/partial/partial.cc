#include "cel/partial/partial.h"

#include <algorithm>

#include "cel/partial/bounds.h"
#include "cel/syntax/print.h"

namespace cardea::cel {
namespace {

constexpr std::uint32_t kMostUnrolled = 32;
constexpr std::uint32_t kMostUnrolledInAll = 2048;  // loops in loops would multiply

// The result of reducing a part: a value (perhaps an error), or a smaller expression.
struct Outcome {
  Value value;
  const Node* node = nullptr;
  bool known() const { return node == nullptr; }
  bool failed() const { return node == nullptr && value.is_error(); }
};

Outcome known(const Value& v) {
  return {v, nullptr};
}
Outcome left(const Node* n) {
  return {Value(), n};
}

}  // namespace

// Walks through the part of a program that depends on the unknowns; everything else is evaluated at
// once.
class Reducer {
 public:
  Reducer(const Program& program, const Unknowns& unknowns, Frame& frame,
          std::unique_ptr<Arena>& kept)
      : unknowns_(unknowns),
        f_(frame),
        kept_(kept),
        checked_(program.is_checked()),
        states_(frame.arena.array<State>(program.locals())) {}

  Outcome visit(const Node* n) {
    if (is_known(n) && !may_pass_for_optional(n)) return settle(n);
    switch (n->op) {
      case Op::kSlot:
        return left(n);
      case Op::kPath:
        return path(n);
      case Op::kLocal:
        return left(n);
      case Op::kBound:
        return bound(n);
      case Op::kSelect:
      case Op::kHas:
      case Op::kOptionalSelect:
      case Op::kIndex:
      case Op::kOptionalIndex:
        return access(n);
      case Op::kAnd:
        return logical(n, false);
      case Op::kOr:
        return logical(n, true);
      case Op::kConditional:
        return conditional(n);
      case Op::kOptionalOr:
      case Op::kOptionalOrValue:
        return optional_or(n);
      case Op::kLoop:
        return loop(n);
      case Op::kBind:
        return bind(n);
      case Op::kBlock:
        return block(n);
      case Op::kOptionalMap:
        return optional_map(n);
      default:
        return strict(n);
    }
  }

  // The memory of the residual, allocated when something remains.
  Arena& kept() {
    if (kept_ == nullptr) kept_ = std::make_unique<Arena>();
    return *kept_;
  }

  // The residual must not point into the documents from which it was made.
  const Node* constant(const Value& v, const Node* from) {
    Node* n = kept().make<Node>();
    n->op = Op::kConst;
    n->position = from->position;
    std::uint64_t room = f_.limits.memory / sizeof(Value);
    n->value = copy_value(kept(), fits(v, room) ? v : f_.over_memory());
    return n;
  }

 private:
  struct State {
    bool unknown = false;
    const Node* init = nullptr;  // the expression of a bound variable, if its value is not known
  };

  // A part that fails keeps its own text if the text names no known data.
  const Node* as_node(const Outcome& o, const Node* from) {
    if (!o.known()) return o.node;
    if (o.value.is_error() && from->reads == 0 && !from->reads_locals) return from;
    if (from->op == Op::kConst) return from;
    return constant(o.value, from);
  }

  // Data of unknown type beside a part with a type: printed so that the checker still accepts it.
  const Node* as_dyn(const Node* n) {
    const Node* args[] = {n};
    Node* made = copy(n, args);
    made->name = "dyn";
    made->dyn_typed = true;
    return made;
  }

  // The same for data that became known where `from` had no type.
  const Node* untyped(const Outcome& o, const Node* from, const Node* made) {
    return checked_ && o.known() && from->dyn_typed && made->op == Op::kConst && made->count == 0 &&
                   !made->value.is_error()
               ? as_dyn(made)
               : made;
  }

  // math.least([x, "a"]) fails for every x, and its macro does not even accept this text.
  static bool has_no_number(const Outcome& list) {
    if (list.known() || list.node->op != Op::kList) return false;
    return std::ranges::any_of(list.node->children(), [](const Node* item) {
      return item->op == Op::kList || item->op == Op::kMap ||
             (item->op == Op::kConst && !item->value.is_error() && !is_number(item->value));
    });
  }

  // Whether no overload takes the known arguments: then every completion fails.
  static bool never_fits(const Node* n, const std::vector<Outcome>& parts) {
    if (n->op != Op::kCall || n->target == nullptr) return false;
    // The parser refuses literals that are not numbers as arguments of math.least, so none remain
    // there.
    if (n->name.starts_with("math.@m")) {
      auto is_no_number = [&](const Outcome& part) {
        return !part.known() &&
               (part.node->op == Op::kMap || (part.node->op == Op::kList && parts.size() > 1));
      };
      if (has_no_number(parts[0]) || std::ranges::any_of(parts, is_no_number)) return true;
    }
    for (const Overload* o : n->target->overloads) {
      bool fits = o->kinds.size() == parts.size();
      for (std::size_t i = 0; fits && i < parts.size(); ++i)
        fits = !parts[i].known() || (o->kinds[i] & set_of(parts[i].value.kind)) != 0;
      if (fits) return false;
    }
    return true;
  }

  Outcome settle(const Node* n) {
    const Value v = evaluate_node(*n, f_);
    return known(v);
  }

  // INVARIANT: locals are numbered by nesting, so those from depth_ on are introduced inside the
  // part itself.
  bool is_known(const Node* n) const {
    if (n->has_effects || (n->reads & unknowns_.bits()) != 0) return false;
    if (!n->reads_locals || open_unknown_ == 0) return true;
    if (n->op == Op::kLocal) return n->index >= depth_ || !states_[n->index].unknown;
    if (n->op == Op::kBound)
      return n->index >= depth_ ? is_known(n->args[0]) : !states_[n->index].unknown;
    if (n->op == Op::kTake) return n->index >= depth_ || !states_[n->index].unknown;
    return std::ranges::all_of(n->children(), [&](const Node* child) { return is_known(child); });
  }

  Outcome path(const Node* n) {
    if (unknowns_.whole(n->index)) return left(n);
    std::vector<Qualifier> qualifiers;
    for (const std::string_view field : n->fields)
      qualifiers.push_back({Value::of_text(field), false});
    return unknowns_.touched(n->index, qualifiers) ? left(n) : settle(n);
  }

  Outcome bound(const Node* n) {
    const State& state = states_[n->index];
    if (!state.unknown) return settle(n);
    if (state.init == nullptr) return left(n);
    const Node* init = state.init;
    return left(copy(n, {&init, 1}));
  }

  Node* copy(const Node* n, std::span<const Node* const> args) {
    Node* made = kept().make<Node>(*n);
    const std::span<const Node*> list = kept().array<const Node*>(args.size());
    std::ranges::copy(args, list.begin());
    made->args = list.data();
    made->count = static_cast<std::uint16_t>(args.size());
    made->reads = 0;
    made->reads_locals = n->op == Op::kBound || n->op == Op::kLoop || n->op == Op::kBind ||
                         n->op == Op::kBlock || n->op == Op::kOptionalMap;
    for (const Node* arg : args) {
      made->reads |= arg->reads;
      made->reads_locals |= arg->reads_locals;
    }
    return made;
  }

  // Selections on a partly unknown variable: known unless their path reaches a pattern.
  bool trail(const Node* n, std::uint32_t& slot, std::vector<Qualifier>& out) {
    switch (n->op) {
      case Op::kSlot:
        slot = n->index;
        return true;
      case Op::kPath:
        slot = n->index;
        for (const std::string_view field : n->fields)
          out.push_back({Value::of_text(field), false});
        return true;
      case Op::kSelect:
      case Op::kHas:
      case Op::kOptionalSelect:
        if (!trail(n->args[0], slot, out)) return false;
        out.push_back({Value::of_text(n->name), false});
        return true;
      case Op::kIndex:
      case Op::kOptionalIndex: {
        if (!trail(n->args[0], slot, out) || !is_known(n->args[1])) return false;
        const Value key = evaluate_node(*n->args[1], f_);
        if (key.is_error()) return false;
        out.push_back({key, false});
        return true;
      }
      default:
        return false;
    }
  }

  Outcome access(const Node* n) {
    std::uint32_t slot = 0;
    std::vector<Qualifier> qualifiers;
    if (trail(n, slot, qualifiers) && unknowns_.partly(slot) &&
        !unknowns_.touched(slot, qualifiers))
      return settle(n);
    return n->op == Op::kIndex || n->op == Op::kOptionalIndex ? index(n) : strict(n);
  }

  // Indexing an empty optional gives an empty optional, for any key. A key that fails settles the
  // result only if the target is not an optional.
  Outcome index(const Node* n) {
    const Outcome target = visit(n->args[0]);
    if (target.failed()) return target;
    const bool optional = target.known() && target.value.kind == Kind::kOptional;
    if (optional && target.value.size == 0 && !n->plain_target) return target;
    const Outcome key = visit(n->args[1]);
    if (key.failed() && (target.known() || f_.fatal)) return key;
    if (target.known() && !optional && target.value.kind != Kind::kList &&
        target.value.kind != Kind::kMap)
      return scalar_index(n, target, key);
    return assemble(n, {target, key});
  }

  // A scalar has no elements: an error, or absent if the environment is lenient.
  Outcome scalar_index(const Node* n, const Outcome& target, const Outcome& key) {
    const Node* args[] = {as_dyn(as_node(target, n->args[0])), as_node(key, n->args[1])};
    if (n->op == Op::kOptionalIndex || key.known())
      return key.known() ? settle(copy(n, args)) : left(copy(n, args));
    f_.position = n->position;
    return known(f_.no_such_overload());
  }

  // Every step that needs all its parts: if one part always fails, the whole step fails.
  Outcome strict(const Node* n) {
    std::vector<Outcome> parts;
    parts.reserve(n->count);
    for (const Node* arg : n->children()) {
      parts.push_back(visit(arg));
      if (parts.back().failed()) return parts.back();
    }
    if (f_.fatal && !parts.empty()) return parts.back();
    return assemble(n, parts);
  }

  Outcome assemble(const Node* n, const std::vector<Outcome>& parts) {
    if (never_fits(n, parts)) {
      f_.position = n->position;
      return known(f_.no_such_overload());
    }
    if (in_nothing(n, parts)) return known(Value::of(false));
    if (fills_with_plain(n, parts)) {
      f_.position = n->position;
      return known(f_.error("cannot initialize optional entry from non-optional value"));
    }
    std::vector<const Node*> args;
    bool all = !n->has_effects;
    bool typed_beside = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      all &= parts[i].known();
      args.push_back(as_node(parts[i], n->args[i]));
      typed_beside |= !parts[i].known() && !n->args[i]->dyn_typed;
    }
    const bool literal = n->op == Op::kList || n->op == Op::kMap;
    const bool operation = n->op == Op::kEqual || n->op == Op::kNotEqual || n->op == Op::kIndex ||
                           n->op == Op::kOptionalIndex || n->op == Op::kCall;
    const bool typed_by_parts = literal || (operation && (typed_beside || n->dyn_typed));
    for (std::size_t i = 0; typed_by_parts && i < parts.size(); ++i)
      args[i] = untyped(parts[i], n->args[i], args[i]);
    if (n->op == Op::kList && !n->marked.empty() && !all) return left(marked_list(n, parts, args));
    Node* made = copy(n, args);
    made->has_effects = n->has_effects;
    return all ? settle(made) : left(made);
  }

  // `[?1]`, `{?k: 1}`: a marked element must be an optional.
  static bool fills_with_plain(const Node* n, const std::vector<Outcome>& parts) {
    const std::size_t step = n->op == Op::kMap ? 2 : 1;
    for (std::size_t i = 0; i < n->marked.size(); ++i) {
      const Outcome& part = parts[i * step + step - 1];
      if (n->marked[i] && part.known() && part.value.kind != Kind::kOptional) return true;
    }
    return false;
  }

  // An empty collection contains nothing. Only a plain variable cannot fail before this answer.
  bool in_nothing(const Node* n, const std::vector<Outcome>& parts) const {
    const bool test = n->op == Op::kInSet || (n->op == Op::kCall && n->name == "@in");
    if (!test || parts[0].known() || parts[0].node->op != Op::kSlot || !parts[1].known())
      return false;
    const Value& v = parts[1].value;
    return v.kind == Kind::kList && v.size == 0;
  }

  // [?optional.of(1), ?x]: known optionals become elements or disappear.
  Node* marked_list(const Node* n, const std::vector<Outcome>& parts,
                    const std::vector<const Node*>& args) {
    std::vector<const Node*> items;
    std::vector<char> marks;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool opens = n->marked[i] && parts[i].known() && parts[i].value.kind == Kind::kOptional;
      if (opens && parts[i].value.size == 0) continue;
      items.push_back(opens ? constant(*parts[i].value.inner, n->args[i]) : args[i]);
      marks.push_back(n->marked[i] && !opens);
    }
    Node* made = copy(n, items);
    const std::span<bool> marked = kept().array<bool>(marks.size());
    std::ranges::copy(marks, marked.begin());
    made->marked = marked;
    return made;
  }

  Outcome logical(const Node* n, bool decisive) {
    std::vector<const Node*> terms;
    const Node* problem = nullptr;
    for (const Node* arg : n->children()) {
      const Outcome o = visit(arg);
      if (f_.fatal) return o;
      if (add_term(n, arg, o, decisive, terms, problem)) return known(Value::of(decisive));
    }
    return combine(n, decisive, terms, problem);
  }

  // True when the term decides the whole.
  bool add_term(const Node* n, const Node* arg, const Outcome& o, bool decisive,
                std::vector<const Node*>& terms, const Node*& problem) {
    if (!o.known()) {
      if (o.node->op == (decisive ? Op::kOr : Op::kAnd))
        terms.insert(terms.end(), o.node->args, o.node->args + o.node->count);
      else
        terms.push_back(o.node);
      return false;
    }
    if (o.value.kind == Kind::kBool) return o.value.boolean == decisive;
    if (problem == nullptr) {
      f_.position = n->position;
      problem = o.value.is_error() ? as_node(o, arg) : constant(f_.no_such_overload(), arg);
    }
    return false;
  }

  Outcome combine(const Node* n, bool decisive, std::vector<const Node*>& terms,
                  const Node* problem) {
    if (terms.empty()) {
      if (problem == nullptr) return known(Value::of(!decisive));
      return known(problem->op == Op::kConst ? problem->value : evaluate_node(*problem, f_));
    }
    if (problem != nullptr) terms.push_back(problem);
    // A term that may not be a bool must stay an operand, because this is an error there.
    if (terms.size() == 1) {
      if (surely_bool(*terms[0])) return left(terms[0]);
      terms.push_back(constant(Value::of(!decisive), n));
    }
    Node* made = copy(n, terms);
    made->op = decisive ? Op::kOr : Op::kAnd;
    return left(made);
  }

  Outcome conditional(const Node* n) {
    const Outcome condition = visit(n->args[0]);
    if (condition.known()) {
      if (condition.value.kind == Kind::kBool)
        return visit(n->args[condition.value.boolean ? 1 : 2]);
      f_.position = n->position;
      return condition.value.is_error() ? condition : known(f_.no_such_overload());
    }
    const Outcome yes = visit(n->args[1]);
    const Outcome no = visit(n->args[2]);
    if (f_.fatal) return yes.failed() ? yes : no;
    if (yes.known() && no.known() && yes.value.is_true() && no.value.is_false() &&
        surely_bool(*condition.node))
      return condition;
    const Node* args[] = {condition.node, untyped(yes, n->args[1], as_node(yes, n->args[1])),
                          untyped(no, n->args[2], as_node(no, n->args[2]))};
    return left(copy(n, args));
  }

  // `x.or(y)` is x itself if x is not an optional, although its type says that it is.
  bool may_pass_for_optional(const Node* n) const {
    return checked_ && (n->op == Op::kOptionalOr || n->op == Op::kOptionalOrValue);
  }

  Outcome optional_or(const Node* n) {
    const Outcome first = visit(n->args[0]);
    if (first.known()) {
      if (first.value.kind != Kind::kOptional) {
        if (!checked_ || first.failed()) return first;
        // This is the result, with the type of an optional. Printed alone, it would be checked with
        // its real type.
        const Outcome second = visit(n->args[1]);
        const Node* args[] = {as_dyn(as_node(first, n->args[0])),
                              untyped(second, n->args[1], as_node(second, n->args[1]))};
        return left(copy(n, args));
      }
      if (first.value.size != 0)
        return n->op == Op::kOptionalOr ? first : known(*first.value.inner);
      return visit(n->args[1]);
    }
    const Outcome second = visit(n->args[1]);
    const Node* args[] = {first.node, untyped(second, n->args[1], as_node(second, n->args[1]))};
    return left(copy(n, args));
  }

  // Runs `body` with the locals from `index` on declared unknown, or known if `open` is false.
  template <typename Body>
  auto inside(std::uint32_t index, std::uint32_t count, bool open, const Node* init, Body body) {
    const std::uint32_t depth = depth_;
    depth_ = index + count;
    std::vector<State> before(states_.begin() + index, states_.begin() + index + count);
    for (std::uint32_t i = 0; i < count; ++i) states_[index + i] = {open, i == 0 ? init : nullptr};
    open_unknown_ += open;
    auto result = body();
    open_unknown_ -= open;
    std::ranges::copy(before, states_.begin() + index);
    depth_ = depth;
    return result;
  }

  Outcome loop(const Node* n) {
    const Outcome range = visit(n->args[0]);
    if (range.failed()) return range;
    if (!range.known() && n->macro == Macro::kSortBy && range.node->op == Op::kMap)
      return known(f_.no_such_overload());
    const std::uint32_t variables = n->var2.empty() ? 1 : 2;
    if (range.known()) {
      if (range.value.kind != Kind::kList &&
          (range.value.kind != Kind::kMap || n->macro == Macro::kSortBy)) {
        f_.position = n->position;
        return known(f_.no_such_overload());
      }
      const bool chain = n->macro == Macro::kAll || n->macro == Macro::kExists;
      if (chain && range.value.size <= kMostUnrolled &&
          (unrolled_ += range.value.size) <= kMostUnrolledInAll)
        return unroll(n, range.value, variables);
      if (range.value.size == 0 && !n->has_effects) return empty_loop(n, range);
      if (const Outcome all = gather(n, range.value, variables);
          all.known() && all.value.kind != Kind::kAbsent)
        return all;
    }
    // Elements of unknown type are printed as such; otherwise the checker might refuse the body.
    std::vector<const Node*> args{untyped(range, n->args[0], as_node(range, n->args[0]))};
    inside(n->index, variables, true, nullptr, [&] {
      for (std::size_t i = 1; i < n->count; ++i) {
        const Outcome part = visit(n->args[i]);
        args.push_back(untyped(part, n->args[i], as_node(part, n->args[i])));
      }
      return true;
    });
    Node* made = copy(n, args);
    made->constant_body = false;
    made->has_effects = n->has_effects;
    return is_known(made) ? settle(made) : left(made);
  }

  void bind_element(const Node* n, const Value& range, std::uint32_t i) {
    Value* local = f_.locals + n->index;
    const bool map = range.kind == Kind::kMap;
    const bool two = !n->var2.empty();
    local[0] = map ? map_key(range, i) : two ? Value::of_int(i) : list_at(range, i);
    if (two) local[1] = map ? map_value(range, i) : list_at(range, i);
  }

  // The result of a loop over known data whose body never needs unknown data; absent if it does.
  Outcome gather(const Node* n, const Value& range, std::uint32_t variables) {
    const bool counts = n->macro == Macro::kExistsOne;
    if (!counts && n->macro != Macro::kMap && n->macro != Macro::kFilter &&
        n->macro != Macro::kTransformList)
      return {};
    const Node* filter = counts || n->macro == Macro::kFilter || n->count == 3 ? n->args[1]
                                                                               : nullptr;
    const Node* body = n->args[n->count - 1];
    ListBuilder out(f_.arena);
    Value problem;
    for (std::uint32_t i = 0; i < range.size; ++i) {
      if (!f_.charge(1)) return known(f_.over_cost());
      const Outcome one = inside(n->index, variables, false, nullptr, [&] {
        bind_element(n, range, i);
        const Value element = f_.locals[n->index];
        const Outcome kept = filter != nullptr ? visit(filter) : known(Value::of(true));
        if (!kept.known() || kept.value.is_false()) return kept.known() ? known(Value()) : kept;
        if (!kept.value.is_true())
          return known(kept.value.is_error() ? kept.value : f_.no_such_overload());
        return filter == body ? known(element) : visit(body);
      });
      if (!one.known()) return {};
      if (f_.fatal) return one;
      if (one.failed() && !problem.is_error()) problem = one.value;
      if (one.value.kind != Kind::kAbsent && !problem.is_error()) out.add(one.value);
    }
    if (problem.is_error()) return known(problem);
    return known(counts ? Value::of(out.size() == 1) : out.build());
  }

  Outcome empty_loop(const Node* n, const Outcome& range) {
    std::vector<const Node*> args(n->args, n->args + n->count);
    args[0] = constant(range.value, n);
    return settle(copy(n, args));
  }

  // all and exists treat errors as && and
  //
  //
  // do, so over a known range they become such a chain.
  Outcome unroll(const Node* n, const Value& range, std::uint32_t variables) {
    const bool decisive = n->macro == Macro::kExists;
    std::vector<const Node*> terms;
    const Node* problem = nullptr;
    for (std::uint32_t i = 0; i < range.size; ++i) {
      const bool decided = inside(n->index, variables, false, nullptr, [&] {
        bind_element(n, range, i);
        return add_term(n, n->args[1], visit(n->args[1]), decisive, terms, problem);
      });
      if (decided) return known(Value::of(decisive));
    }
    return combine(n, decisive, terms, problem);
  }

  // A bound value is computed at its use, so an init that fails matters only there.
  Outcome bind(const Node* n) {
    const Outcome init = visit(n->args[0]);
    f_.locals[n->index] = init.known() ? init.value : Value();
    const Outcome body = inside(n->index, 1, !init.known(), init.node,
                                [&] { return visit(n->args[1]); });
    if (body.known() || init.known()) return body;
    const Node* args[] = {init.node, body.node};
    return left(copy(n, args));
  }

  Outcome block(const Node* n) { return block_from(n, 0, {}); }
  Outcome block_from(const Node* n, std::uint32_t at, std::vector<const Node*> items) {
    if (at + 1 == n->count) {
      const Outcome body = visit(n->args[at]);
      if (body.known()) return body;
      items.push_back(body.node);
      return left(copy(n, items));
    }
    const Outcome item = visit(n->args[at]);
    f_.locals[n->index + at] = item.known() ? item.value : Value();
    items.push_back(as_node(item, n->args[at]));
    return inside(n->index + at, 1, !item.known(), item.node,
                  [&] { return block_from(n, at + 1, items); });
  }

  Outcome optional_map(const Node* n) {
    const Outcome target = visit(n->args[0]);
    if (target.failed()) return target;
    if (!target.known()) {
      const Outcome body = inside(n->index, 3, true, nullptr, [&] { return visit(n->args[1]); });
      const Node* args[] = {target.node, untyped(body, n->args[1], as_node(body, n->args[1]))};
      return left(copy(n, args));
    }
    f_.position = n->position;
    if (target.value.kind != Kind::kOptional) return known(f_.no_such_overload());
    if (target.value.size == 0) return target;
    f_.locals[n->index] = *target.value.inner;
    const Outcome body = inside(n->index, 3, false, nullptr, [&] { return visit(n->args[1]); });
    if (body.failed()) return body;
    if (body.known()) return n->macro == Macro::kOptFlatMap ? body : known(f_.some(body.value));
    if (n->macro == Macro::kOptFlatMap) return body;
    const Node* args[] = {constant(target.value, n), body.node};
    return left(copy(n, args));
  }

  const Unknowns& unknowns_;
  Frame& f_;
  std::unique_ptr<Arena>& kept_;
  const bool checked_;
  std::span<State> states_;
  std::uint32_t depth_ = 0;
  std::uint32_t open_unknown_ = 0;
  std::uint32_t unrolled_ = 0;
};

Residual Residual::reduced(std::shared_ptr<const Program> program, const Node& root,
                           std::span<const Value> variables, const Unknowns& unknowns,
                           const Limits& limits) {
  Residual out;
  Arena scratch;
  Frame frame(scratch);
  frame.limits = limits;
  frame.slots = variables.data();
  frame.lenient = program->environment().lenient;
  frame.free_has = program->environment().counts_as_kubernetes();
  Value small[16];
  frame.locals = program->locals() <= 16 ? small : scratch.array<Value>(program->locals()).data();
  frame.allow_work();
  const std::uint64_t allowed = frame.work;
  Reducer reducer(*program, unknowns, frame, out.arena_);
  const Outcome outcome = reducer.visit(&root);
  if (!frame.fatal && !outcome.known()) {
    out.node_ = outcome.node;
  } else {
    const Value v = outcome.failed() || !frame.fatal ? outcome.value : frame.over_cost();
    std::uint64_t room = limits.memory / sizeof(Value);
    out.value_ = v.kind == Kind::kBool
                     ? v
                     : copy_value(reducer.kept(), fits(v, room) ? v : frame.over_memory());
  }
  constexpr std::uint64_t kBytesPerUnit = 32;  // of a step that was copied
  out.spent_ = frame.cost + (allowed - frame.work) / Frame::kWorkPerUnit +
               (out.arena_ ? out.arena_->used() / kBytesPerUnit : 0);
  out.program_ = std::move(program);
  return out;
}

Residual reduce(std::shared_ptr<const Program> program, std::span<const Value> variables,
                const Unknowns& unknowns, const Limits& limits) {
  const Node& root = program->root();
  return Residual::reduced(std::move(program), root, variables, unknowns, limits);
}

Residual reduce(const Residual& rest, std::span<const Value> variables, const Unknowns& unknowns,
                const Limits& limits) {
  if (const Node* root = rest.node_)
    return Residual::reduced(rest.program_, *root, variables, unknowns, limits);
  Residual out;  // nothing is left to reduce
  out.program_ = rest.program_;
  out.value_ = rest.value_;
  return out;
}

std::string Residual::print() const {
  return is_value() ? print_value(value_) : cel::print(*node_);
}

Value Residual::run(Evaluation& evaluation, std::span<const Value> variables) const {
  return is_value() ? value_ : evaluation.run(*node_, *program_, variables);
}

bool Residual::can_be_true() const {
  return is_value() ? value_.is_true() : bounds_of(*node_).can_be_true;
}
bool Residual::can_be_false() const {
  return is_value() ? value_.is_false() : bounds_of(*node_).can_be_false;
}
bool Residual::can_fail() const {
  return is_value() ? value_.is_error() : bounds_of(*node_).can_fail;
}
std::vector<std::string> Residual::reads() const {
  return is_value() ? std::vector<std::string>() : attributes_of(*node_);
}

}  // namespace cardea::cel

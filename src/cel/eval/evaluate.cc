#include "cel/eval/evaluate.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "cel/cost/cost.h"
#include "cel/eval/access.h"
#include "cel/eval/loops.h"
#include "cel/eval/opaque.h"
#include "cel/eval/regex.h"
#include "cel/syntax/print.h"

namespace cardea::cel {
namespace {

#define CHARGE(units)                \
  if (!f.charge(units)) [[unlikely]] \
  return f.over_cost()

// A variable that is not a plain value: one that is computed now, or an absent one.
[[gnu::noinline]] Value special_slot(const Node& n, Frame& f) {
  Value v = f.slots[n.index];
  if (v.kind == Kind::kLazy) v = v.lazy->force();
  if (v.kind == Kind::kAbsent) return f.error(cat("no such attribute(s): ", n.name));
  return v;
}
inline Value slot_value(const Node& n, Frame& f) {
  const Value& v = f.slots[n.index];
  return v.kind == Kind::kLazy || v.kind == Kind::kAbsent ? special_slot(n, f) : v;
}

[[gnu::noinline]] Value no_such_key(const Node& n, Frame& f, std::string_view field) {
  f.position = n.position;
  return f.error(cat("no such key: ", field));
}
[[gnu::noinline]] Value select_of_other(const Node& n, Frame& f, const Value& v,
                                        std::string_view field) {
  f.position = n.position;
  return select_field(f, v, field);
}

Value path(const Node& n, Frame& f) {
  Value v = slot_value(n, f);
  std::uint64_t charged = n.free_root ? 0 : 1;
  for (const FieldKey& key : n.keys) {
    if (v.is_error()) [[unlikely]]
      break;
    ++charged;
    if (v.kind != Kind::kMap) [[unlikely]] {
      v = select_of_other(n, f, v, key.text);
      continue;
    }
    v = v.form < Value::kClaims ? map_find(v, key) : member_of(v, key.text);
    if (v.kind == Kind::kAbsent) [[unlikely]]
      v = no_such_key(n, f, key.text);
  }
  CHARGE(charged);
  return v;
}

// The two most frequent operands, without the switch.
inline Value operand(const Node& n, Frame& f) {
  if (n.op == Op::kConst) return n.value;
  return n.op == Op::kPath ? path(n, f) : evaluate_node(n, f);
}

// A chain of selections costs one at its root. If the root is not a variable or a conditional, this
// cost is added here.
bool pays_root(const Node& n) {
  return !is_attribute(n.args[0]->op) && !n.free_root;
}

[[gnu::noinline]] Value select(const Node& n, Frame& f) {
  const Value target = evaluate_node(*n.args[0], f);
  if (pays_root(n)) CHARGE(1);
  if (target.is_error()) return target;
  f.position = n.position;
  if (n.plain_target && target.kind == Kind::kOptional) [[unlikely]]
    return n.op == Op::kSelect ? f.error(cat("no such key: ", n.name)) : Value::none();
  bool present = true;
  Value v;
  if (n.op == Op::kSelect && target.kind != Kind::kOptional) {
    CHARGE(1);
    return select_field(f, target, n.name);
  }
  v = find_field(f, target, n.name, present);
  if (v.is_error()) return v;
  if (present) CHARGE(1);
  return present ? f.some(v) : Value::none();
}

[[gnu::noinline]] Value has(const Node& n, Frame& f) {
  const Value target = evaluate_node(*n.args[0], f);
  if (pays_root(n)) CHARGE(1);
  // If the test is free, cel-go refunds the price of the root, and counts the field that is tested.
  const std::uint64_t rebate = f.free_has && !n.free_root && !f.fatal ? 1 : 0;
  if (target.is_error()) {
    f.cost -= std::min(rebate, f.cost);
    return target;
  }
  f.position = n.position;
  bool present = false;
  const bool stored = n.plain_target && target.kind == Kind::kOptional;
  const Value v = stored ? Value() : find_field(f, target, n.name, present);
  if (present || stored || target.kind != Kind::kOptional) CHARGE(1);
  f.cost -= std::min(rebate, f.cost);
  return v.is_error() ? v : Value::of(present);
}

[[gnu::noinline]] Value index(const Node& n, Frame& f) {
  const Value target = evaluate_node(*n.args[0], f);
  if (pays_root(n)) CHARGE(1);
  const bool stored = n.plain_target && target.kind == Kind::kOptional;
  if (target.is_error() || (target.kind == Kind::kOptional && target.size == 0 && !stored))
    return target;
  const Value key = evaluate_node(*n.args[1], f);
  if (key.is_error()) return key;
  f.position = n.position;
  if (stored) [[unlikely]]
    return n.op == Op::kIndex ? f.error(cat("no such key: ", print_value(key))) : Value::none();
  if (n.op == Op::kIndex && target.kind != Kind::kOptional) {
    CHARGE(1);
    return index_value(f, target, key);
  }
  bool present = false;
  const Value v = find_index(f, target, key, present);
  if (v.is_error()) return v;
  if (present) CHARGE(1);
  return present ? f.some(v) : Value::none();
}

Value equality(const Node& n, Frame& f);

// `decisive` is the value that settles the whole expression: false for &&, true for ||.
[[gnu::noinline]] Value logical(const Node& n, Frame& f, bool decisive) {
  Value problem;
  for (const Node* term : n.children()) {
    const bool compares = term->op == Op::kEqual || term->op == Op::kNotEqual;
    const Value v = compares ? equality(*term, f) : evaluate_node(*term, f);
    if (v.kind == Kind::kBool) {
      if (v.boolean == decisive) return v;
      continue;
    }
    if (f.fatal) [[unlikely]]
      return v;
    if (problem.kind == Kind::kAbsent) {
      f.position = n.position;
      problem = v.is_error() ? v : f.no_such_overload();
    }
  }
  return problem.kind == Kind::kAbsent ? Value::of(!decisive) : problem;
}

Value conditional(const Node& n, Frame& f) {
  const Value v = evaluate_node(*n.args[0], f);
  if (v.kind == Kind::kBool) return evaluate_node(*n.args[v.boolean ? 1 : 2], f);
  if (v.is_error()) return v;
  f.position = n.position;
  return f.no_such_overload();
}

bool is_opaque(const Value& v) {
  return v.kind >= Kind::kIp && v.kind <= Kind::kDecision;
}

// Library values are only compared with values of the same kind. For an inequality, cel-go takes a
// failed comparison as true.
Value opaque_equality(const Node& n, Frame& f, const Value& a, const Value& b) {
  const bool comparable = a.kind < Kind::kAuthorizer && b.kind < Kind::kAuthorizer;
  const bool fails = a.kind != b.kind && is_opaque(a) && b.kind != Kind::kNull;
  if (comparable && (!fails || n.op == Op::kNotEqual))
    return Value::of(equal(a, b) == (n.op == Op::kEqual));
  f.position = n.position;
  return f.no_such_overload();
}

[[gnu::noinline]] Value equality(const Node& n, Frame& f) {
  const Value a = operand(*n.args[0], f);
  const Value b = operand(*n.args[1], f);
  if (f.fatal) [[unlikely]]
    return a.is_error() ? a : b;
  if (a.is_string() && b.is_string()) {
    const bool same = a.size == b.size && (a.size == 0 || std::memcmp(a.text, b.text, a.size) == 0);
    CHARGE(same ? text_cost(a) : equality_cost(a, b));
    return Value::of(same == (n.op == Op::kEqual));
  }
  CHARGE(n.op == Op::kEqual && is_opaque(a) ? 1 : equality_cost(a, b));
  if (a.is_error()) return a;
  if (b.is_error()) return b;
  if (is_opaque(a) || is_opaque(b)) [[unlikely]]
    return opaque_equality(n, f, a, b);
  const bool same = f.same(a, b);
  if (f.work == 0) [[unlikely]]
    return f.over_cost();
  return Value::of(same == (n.op == Op::kEqual));
}

Value in_set(const Node& n, Frame& f) {
  const std::uint64_t before = f.cost;
  const Value v = evaluate_node(*n.args[0], f);
  if (v.is_error()) return v;
  const Value& list = n.args[1]->value;
  if (list.size == 0) {  // cel-go does not look at the operand then
    f.spend((f.cost - before) * Frame::kWorkPerUnit);
    f.cost = before;
    if (f.work == 0) [[unlikely]]
      return f.over_cost();
  }
  if (n.value.kind == Kind::kMap) return Value::of(map_find(n.value, v).kind != Kind::kAbsent);
  for (std::uint32_t i = 0; i < list.size; ++i)
    if (equal(list.items[i], v)) return Value::of(true);
  return Value::of(false);
}

Value dispatch(const Node& n, Frame& f, const Value* args) {
  f.position = n.position;
  if (n.pattern != nullptr && args[0].is_string()) return run_pattern(f, n, args);
  for (const Overload* o : n.target->overloads) {
    bool fits = o->kinds.size() == n.count;
    for (std::size_t i = 0; fits && i < n.count; ++i)
      fits = (o->kinds[i] & set_of(args[i].kind)) != 0;
    if (!fits) continue;
    if (o->call == nullptr) break;
    return o->call(f, args, n.count);
  }
  return f.no_such_overload();
}

// Whether a call would pass the limit of cost whatever its result is. Only looked at where the
// arguments are large: the others take no time.
bool is_too_much(const Node& n, const Frame& f, const Value* args) {
  constexpr std::uint32_t kLarge = 2048;
  constexpr KindSet kSized = set_of(Kind::kString) | set_of(Kind::kBytes) | set_of(Kind::kList);
  if (n.target->cost == nullptr || f.limits.cost == Limits().cost) return false;
  const bool large = std::any_of(args, args + n.count, [](const Value& v) {
    return v.size > kLarge && (kSized & set_of(v.kind)) != 0;
  });
  // An absent result counts one where an empty one counts nothing.
  return large && n.target->cost(args, n.count, Value()) > f.limits.cost - f.cost + 1;
}

[[gnu::noinline]] Value call(const Node& n, Frame& f) {
  Value small[4];
  Value* args = n.count <= 4 ? small : f.arena.array<Value>(n.count).data();
  const Value* bad = nullptr;
  for (std::size_t i = 0; i < n.count; ++i) {
    args[i] = evaluate_node(*n.args[i], f);
    if (args[i].is_error()) [[unlikely]] {
      if (f.fatal) return args[i];
      if (bad == nullptr) bad = &args[i];
      // Calls with more arguments stop at the first error, and so do calls with a prepared pattern.
      // They are not charged if arguments remain.
      if (i + 1 < n.count && (n.count > 2 || n.pattern != nullptr || n.target->stops_early))
        return *bad;
    }
  }
  if (bad == nullptr && is_too_much(n, f, args)) [[unlikely]]
    return f.over_cost();
  const Value result = bad != nullptr ? *bad : dispatch(n, f, args);
  if (f.fatal) [[unlikely]]
    return result;
  if (f.work == 0) [[unlikely]]
    return f.over_cost();
  CHARGE(n.target->cost == nullptr ? 1 : n.target->cost(args, n.count, result));
  if (!f.room_for(0)) [[unlikely]]
    return f.over_memory();
  return result;
}

Value optional_or(const Node& n, Frame& f) {
  const Value v = evaluate_node(*n.args[0], f);
  if (v.kind != Kind::kOptional)
    return v;  // as in cel-go: a value that is not an optional is the result
  if (v.size != 0) return n.op == Op::kOptionalOr ? v : *v.inner;
  return evaluate_node(*n.args[1], f);
}

[[gnu::noinline]] Value list(const Node& n, Frame& f) {
  ListBuilder items(f.arena);
  items.reserve(n.count);
  Value problem;
  for (std::size_t i = 0; i < n.count; ++i) {
    Value v = evaluate_node(*n.args[i], f);
    if (v.is_error()) {
      if (f.fatal) return v;
      problem = v;
      break;
    }
    if (!n.marked.empty() && n.marked[i]) {
      if (v.kind != Kind::kOptional) {
        problem = f.error(
            cat("cannot initialize optional list element from non-optional value ", type_name(v)));
        break;
      }
      if (v.size == 0) continue;
      v = *v.inner;
    }
    items.add(v);
  }
  CHARGE(10);
  if (problem.is_error()) return problem;
  if (!f.room_for(0)) return f.over_memory();
  return items.build();
}

[[gnu::noinline]] Value map(const Node& n, Frame& f) {
  MapBuilder entries(f.arena);
  Value problem;
  for (std::size_t i = 0; i < n.count && !problem.is_error(); i += 2) {
    const Value key = evaluate_node(*n.args[i], f);
    if (key.is_error()) {
      problem = key;
      break;
    }
    Value v = evaluate_node(*n.args[i + 1], f);
    if (v.is_error()) {
      problem = v;
      break;
    }
    f.position = n.position;
    if (!n.marked.empty() && n.marked[i / 2]) {
      if (v.kind != Kind::kOptional) {
        problem = f.error(
            cat("cannot initialize optional entry from non-optional value ", type_name(v)));
        break;
      }
      if (v.size == 0) continue;
      v = *v.inner;
    }
    if (!is_valid_key(key))
      problem = f.error(cat("unsupported key type: ", type_name(key)));
    else if (!entries.add(key, v)) {
      if (f.lenient)
        entries.replace(key, v);
      else
        problem = f.error("Failed with repeated key");
    }
  }
  if (f.fatal) return problem;
  CHARGE(30);
  if (problem.is_error()) return problem;
  if (!f.room_for(0)) return f.over_memory();
  return entries.build();
}

// Object.a.b{c: Object.a.b.c{}}: the place of a nested part gives its type.
Value misplaced(const Node& n, Frame& f, std::string_view field, const Value& v) {
  if (v.kind == Kind::kList) {
    for (std::uint32_t i = 0; i < v.size; ++i)
      if (const Value bad = misplaced(n, f, field, list_at(v, i)); bad.is_error()) return bad;
    return {};
  }
  if (v.kind != Kind::kMap || v.form != Value::kOwn || !v.map->type_name.starts_with("Object"))
    return {};
  const std::string expected = cat(n.name, ".", field);
  if (!n.name.starts_with("Object") || v.map->type_name == expected) return {};
  return f.error(cat("type mismatch: unexpected type name \"", v.map->type_name, "\", expected \"",
                     expected, "\", which matches field name path from root Object type"));
}

[[gnu::noinline]] Value structure(const Node& n, Frame& f) {
  MapBuilder fields(f.arena);
  for (std::size_t i = 0; i < n.count; ++i) {
    Value v = evaluate_node(*n.args[i], f);
    if (v.is_error()) return v;
    if (!n.marked.empty() && n.marked[i]) {
      if (v.kind != Kind::kOptional)
        return f.error("cannot initialize optional entry from non-optional value");
      if (v.size == 0) continue;
      v = *v.inner;
    }
    f.position = n.position;
    if (const Value bad = misplaced(n, f, n.fields[i], v); bad.is_error()) return bad;
    fields.add(Value::of_text(n.fields[i]), v);
  }
  CHARGE(40);
  return fields.build(n.name);
}

Value bound(const Node& n, Frame& f) {
  Value& v = f.locals[n.index];
  if (v.kind == Kind::kAbsent) {
    const Value made = evaluate_node(*n.args[0], f);
    f.locals[n.index] = made;
    if (f.fatal) return made;
  }
  CHARGE(n.free_root ? 0 : 1);
  return f.locals[n.index];
}

Value bind(const Node& n, Frame& f) {
  f.locals[n.index] = Value();
  return evaluate_node(*n.args[1], f);
}

Value block(const Node& n, Frame& f) {
  for (std::uint32_t i = 0; i + 1 < n.count; ++i) f.locals[n.index + i] = Value();
  return evaluate_node(*n.args[n.count - 1], f);
}

// cel-go computes the optional twice: for the test, and for the value when the variable is first
// used.
[[gnu::noinline]] Value optional_map(const Node& n, Frame& f) {
  const std::uint64_t before = f.cost;
  const Value v = evaluate_node(*n.args[0], f);
  if (f.fatal) return v;
  const std::uint64_t price = f.cost - before;
  CHARGE(1);
  f.position = n.position;
  if (v.kind != Kind::kOptional) return v.is_error() ? v : f.no_such_overload();
  if (v.size == 0) {
    CHARGE(1);
    return v;
  }
  f.locals[n.index] = Value();
  f.locals[n.index + 1] = *v.inner;
  f.locals[n.index + 2] = Value::of_uint(price + 1);
  const Value result = evaluate_node(*n.args[1], f);
  if (n.macro == Macro::kOptFlatMap) return result;
  if (f.fatal) return result;
  CHARGE(1);
  return result.is_error() ? result : f.some(result);
}

Value take(const Node& n, Frame& f) {
  CHARGE(f.locals[n.index + 2].natural);
  return f.locals[n.index + 1];
}

Value negation(const Node& n, Frame& f) {
  const Value v = evaluate_node(*n.args[0], f);
  if (f.fatal) [[unlikely]]
    return v;
  CHARGE(1);
  if (v.kind == Kind::kBool) return Value::of(!v.boolean);
  if (v.is_error()) return v;
  f.position = n.position;
  return f.no_such_overload();
}

[[gnu::noinline]] Value unresolved(const Node& n, Frame& f) {
  f.position = n.position;
  return f.error(cat("undeclared reference to '", n.name, "' (in container '')"));
}

}  // namespace

Value evaluate_node(const Node& n, Frame& f) {
  switch (n.op) {
    case Op::kConst:
      return n.value;
    case Op::kSlot: {
      CHARGE(n.free_root ? 0 : 1);
      return slot_value(n, f);
    }
    case Op::kLocal: {
      CHARGE(n.free_root ? 0 : 1);
      return f.locals[n.index];
    }
    case Op::kBound:
      return bound(n, f);
    case Op::kUnresolved:
      return unresolved(n, f);
    case Op::kPath:
      return path(n, f);
    case Op::kSelect:
    case Op::kOptionalSelect:
      return select(n, f);
    case Op::kHas:
      return has(n, f);
    case Op::kIndex:
    case Op::kOptionalIndex:
      return index(n, f);
    case Op::kAnd:
      return logical(n, f, false);
    case Op::kOr:
      return logical(n, f, true);
    case Op::kNot:
      return negation(n, f);
    case Op::kConditional:
      return conditional(n, f);
    case Op::kEqual:
    case Op::kNotEqual:
      return equality(n, f);
    case Op::kInSet:
      return in_set(n, f);
    case Op::kCall:
      return call(n, f);
    case Op::kOptionalOr:
    case Op::kOptionalOrValue:
      return optional_or(n, f);
    case Op::kList:
      return list(n, f);
    case Op::kMap:
      return map(n, f);
    case Op::kStruct:
      return structure(n, f);
    case Op::kLoop:
      return run_loop(n, f);
    case Op::kBind:
      return bind(n, f);
    case Op::kOptionalMap:
      return optional_map(n, f);
    case Op::kTake:
      return take(n, f);
    case Op::kBlock:
      return block(n, f);
  }
  return {};
}

Value Evaluation::run(const Node& node, const Program& program, std::span<const Value> variables) {
  arena_.reset();
  Frame frame(arena_);
  frame.limits = limits_;
  frame.slots = variables.data();
  frame.interrupt = interrupt_;
  frame.lenient = program.environment().lenient;
  frame.free_has = program.environment().counts_as_kubernetes();
  // Locals are written before they are read, so they need no initial value.
  alignas(Value) char small[16 * sizeof(Value)];
  frame.locals = program.locals() <= 16 ? reinterpret_cast<Value*>(small)
                                        : arena_.array<Value>(program.locals()).data();
  frame.allow_work();
  const std::uint64_t allowed = frame.work;
  Value result = evaluate_node(node, frame);
  const bool made = (result.kind == Kind::kList || result.kind == Kind::kMap ||
                     result.kind == Kind::kOptional) &&
                    result.form == Value::kOwn;
  if (std::uint64_t room = limits_.memory / sizeof(Value); made && !fits(result, room))
    result = frame.over_memory();
  cost_ = frame.cost;
  spent_ = frame.cost + (allowed - frame.work) / Frame::kWorkPerUnit;
  fatal_ = frame.fatal;
  return result;
}

}  // namespace cardea::cel

#include "cel/eval/loops.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "cel/cost/cost.h"
#include "cel/eval/sorting.h"
#include "cel/syntax/print.h"

// cel-go expands these macros into loops with an accumulator; the prices here are those of these
// loops.
namespace cardea::cel {
namespace {

#define CHARGE(units)                \
  if (!f.charge(units)) [[unlikely]] \
  return f.over_cost()

constexpr std::uint32_t kInterruptEvery = 100;

// A range; its elements are bound to the loop's variables one after the other.
class Range {
 public:
  Range(const Node& n, Frame& f, const Value& v) : n_(n), f_(f), v_(v) {}
  std::uint32_t size() const { return v_.size; }
  void bind(std::uint32_t i) {
    Value* local = f_.locals + n_.index;
    if (n_.var2.empty()) {
      // As in Kubernetes, a loop over claims gives the values, where a loop over a map gives the
      // keys.
      local[0] = v_.kind != Kind::kMap           ? list_at(v_, i)
                 : v_.form == Value::kClaimsRoot ? map_value(v_, i)
                                                 : map_key(v_, i);
    } else {
      local[0] = v_.kind == Kind::kMap ? map_key(v_, i) : Value::of_int(i);
      local[1] = v_.kind == Kind::kMap ? map_value(v_, i) : list_at(v_, i);
    }
  }
  bool interrupted() {
    return f_.interrupt != nullptr && ++f_.steps % kInterruptEvery == 0 &&
           f_.interrupt->load(std::memory_order_relaxed);
  }

 private:
  const Node& n_;
  Frame& f_;
  const Value& v_;
};

Value quantifier(const Node& n, Frame& f, Range range, bool decisive) {
  const std::uint64_t test = decisive ? 3 : 2;  // exists also negates its accumulator
  Value problem;
  for (std::uint32_t i = 0; i < range.size(); ++i) {
    CHARGE(test + 1);
    if (range.interrupted()) [[unlikely]]
      return f.stop("operation interrupted");
    range.bind(i);
    const Value v = evaluate_node(*n.args[1], f);
    if (v.kind == Kind::kBool) {
      if (v.boolean != decisive) continue;
      CHARGE(i + 1 < range.size() ? test + 1 : 1);
      return v;
    }
    if (f.fatal) return v;
    if (problem.kind == Kind::kAbsent) {
      f.position = n.position;
      problem = v.is_error() ? v : f.no_such_overload();
    }
  }
  CHARGE(1);
  return problem.kind == Kind::kAbsent ? Value::of(!decisive) : problem;
}

Value exists_one(const Node& n, Frame& f, Range range) {
  std::uint64_t found = 0;
  Value problem;
  for (std::uint32_t i = 0; i < range.size(); ++i) {
    if (range.interrupted()) return f.stop("operation interrupted");
    range.bind(i);
    const Value v = evaluate_node(*n.args[1], f);
    if (f.fatal) return v;
    if (v.is_true()) {
      ++found;
      CHARGE(2);
    } else if (v.kind != Kind::kBool && problem.kind == Kind::kAbsent) {
      problem = v.is_error() ? v : f.no_such_overload();
    }
  }
  CHARGE(2);
  return problem.kind == Kind::kAbsent ? Value::of(found == 1) : problem;
}

// Whether the element passes the filter. `problem` gets the error of the filter.
bool passes(const Node* filter, Frame& f, Value& problem) {
  const Value v = evaluate_node(*filter, f);
  if (v.kind == Kind::kBool) return v.boolean;
  if (problem.kind == Kind::kAbsent) problem = v.is_error() ? v : f.no_such_overload();
  return false;
}

Value collect(const Node& n, Frame& f, Range range) {
  ListBuilder out(f.arena);
  Value problem;
  const Node* filter = n.macro == Macro::kFilter ? n.args[1] : n.count == 3 ? n.args[1] : nullptr;
  const Node* body = n.macro == Macro::kFilter ? nullptr : n.args[n.count - 1];
  for (std::uint32_t i = 0; i < range.size(); ++i) {
    if (range.interrupted()) return f.stop("operation interrupted");
    range.bind(i);
    if (filter != nullptr && !passes(filter, f, problem)) {
      if (f.fatal) return problem;
      continue;
    }
    if (body == nullptr) {
      CHARGE(13);
      if (problem.kind == Kind::kAbsent) out.add(f.locals[n.index]);
      if (!f.room_for(0)) return f.over_memory();
      continue;
    }
    const Value v = evaluate_node(*body, f);
    if (f.fatal) return v;
    CHARGE(n.constant_body ? 2 : 12);
    if (v.is_error()) {
      if (problem.kind == Kind::kAbsent) problem = v;
    } else if (problem.kind == Kind::kAbsent) {
      out.add(v);
    }
    if (!f.room_for(0)) return f.over_memory();
  }
  CHARGE(1);
  return problem.kind == Kind::kAbsent ? out.build() : problem;
}

Value insert_all(Frame& f, MapBuilder& out, const Value& entries) {
  if (entries.kind != Kind::kMap) return f.no_such_overload();
  for (std::uint32_t i = 0; i < entries.size; ++i)
    if (const Value key = map_key(entries, i); !out.add(key, map_value(entries, i)))
      return f.error(cat("insert failed: key ",
                         key.is_string() ? std::string(key.string()) : print_value(key),
                         " already exists"));
  return {};
}

Value collect_map(const Node& n, Frame& f, Range range) {
  MapBuilder out(f.arena);
  Value problem;
  const Node* filter = n.count == 3 ? n.args[1] : nullptr;
  const Node* body = n.args[n.count - 1];
  for (std::uint32_t i = 0; i < range.size(); ++i) {
    if (range.interrupted()) return f.stop("operation interrupted");
    range.bind(i);
    if (filter != nullptr && !passes(filter, f, problem)) {
      if (f.fatal) return problem;
      continue;
    }
    const Value v = evaluate_node(*body, f);
    if (f.fatal) return v;
    CHARGE(n.macro == Macro::kTransformMap ? 3 : 2);
    if (problem.kind != Kind::kAbsent) continue;
    f.position = n.position;
    if (v.is_error())
      problem = v;
    else if (n.macro == Macro::kTransformMap)
      out.add(f.locals[n.index], v);
    else
      problem = insert_all(f, out, v);
    if (!f.room_for(0)) return f.over_memory();
  }
  CHARGE(1);
  return problem.kind == Kind::kAbsent ? out.build() : problem;
}

Value sort_by(const Node& n, Frame& f, const Value& list, Range range) {
  if (list.kind != Kind::kList) return f.no_such_overload();
  CHARGE(2);  // the list is read twice: for sorting and for the keys
  ListBuilder keys(f.arena);
  Value problem;
  for (std::uint32_t i = 0; i < range.size(); ++i) {
    if (range.interrupted()) return f.stop("operation interrupted");
    range.bind(i);
    const Value v = evaluate_node(*n.args[1], f);
    if (f.fatal) return v;
    CHARGE(n.constant_body ? 2 : 12);
    if (v.is_error() && problem.kind == Kind::kAbsent) problem = v;
    keys.add(v);
  }
  CHARGE(1);
  if (problem.is_error()) {
    CHARGE(1);
    return problem;
  }
  f.position = n.position;
  const Value key_list = keys.build();
  const Value result = sort_with_keys(f, list, key_list);
  CHARGE(n.typed_keys ? self_compare_cost(key_list) : 1);
  return result;
}

}  // namespace

Value run_loop(const Node& n, Frame& f) {
  const Value range_value = evaluate_node(*n.args[0], f);
  if (range_value.is_error()) {
    if (n.macro == Macro::kSortBy && !f.fatal) CHARGE(3);  // two reads and the call
    return range_value;
  }
  f.position = n.position;
  if (range_value.kind != Kind::kList && range_value.kind != Kind::kMap)
    return f.no_such_overload();
  const Range range(n, f, range_value);
  switch (n.macro) {
    case Macro::kAll:
      return quantifier(n, f, range, false);
    case Macro::kExists:
      return quantifier(n, f, range, true);
    case Macro::kExistsOne:
      return exists_one(n, f, range);
    case Macro::kMap:
    case Macro::kFilter:
    case Macro::kTransformList:
      return collect(n, f, range);
    case Macro::kTransformMap:
    case Macro::kTransformMapEntry:
      return collect_map(n, f, range);
    case Macro::kSortBy:
      return sort_by(n, f, range_value, range);
    default:
      return f.no_such_overload();
  }
}

}  // namespace cardea::cel

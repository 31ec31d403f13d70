#include "cel/check/checker.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "cel/check/inference.h"
#include "cel/syntax/operators.h"

namespace cardea::cel {
namespace {

using Types = std::vector<const Type*>;

struct Local {
  std::string_view name;
  const Type* type;
  std::uint32_t number;
};

class Checker {
 public:
  Checker(const Ast& ast, const Environment& env, bool typed)
      : env_(env),
        typed_(typed),
        pool_(std::make_shared<TypePool>()),
        types_(*pool_),
        inference_(types_) {
    out_.meanings.resize(ast.expressions + 1);
    out_.types = pool_;
  }

  Checked run(const Expr* root) {
    const Type* type = visit(root);
    out_.type = inference_.substitute(type, true);
    for (Meaning& m : out_.meanings)
      if (m.type != nullptr) m.type = inference_.substitute(m.type, true);
    if (!typed_)
      out_.issues.clear();
    else if (env_.homogeneous && out_.issues.empty())
      require_one_type(root);
    return std::move(out_);
  }

 private:
  Meaning& meaning(const Expr* e) { return out_.meanings[e->id]; }
  const Type* dyn() const { return types_.dyn(); }
  const Type* simple(Type::Kind kind) const { return types_.simple(kind); }
  void report(const Expr* e, std::string message) {
    if (out_.issues.size() < 100) out_.issues.push_back({e->position, std::move(message)});
  }
  std::string shown(const Type* type) {
    return print_type(inference_.substitute(type, false)->kind == Type::kParam
                          ? dyn()
                          : inference_.substitute(type, true));
  }
  const Type* settle(const Expr* e, const Type* type) {
    return meaning(e).type = typed_ ? type : dyn();
  }
  bool is_dyn(const Type* t) const { return t->kind == Type::kDyn || t->kind == Type::kError; }

  const Type* visit(const Expr* e) {
    switch (e->kind) {
      case Expr::Kind::kLiteral:
        return settle(e, literal(e->literal));
      case Expr::Kind::kIdent:
        return identifier(e);
      case Expr::Kind::kSelect:
        return select(e);
      case Expr::Kind::kCall:
        return call(e);
      case Expr::Kind::kList:
        return list(e);
      case Expr::Kind::kMap:
        return map(e);
      case Expr::Kind::kStruct:
        return structure(e);
      case Expr::Kind::kMacro:
        return macro(e);
    }
    return dyn();
  }

  const Type* literal(const Value& v) {
    switch (v.kind) {
      case Kind::kBool:
        return simple(Type::kBool);
      case Kind::kInt:
        return simple(Type::kInt);
      case Kind::kUint:
        return simple(Type::kUint);
      case Kind::kDouble:
        return simple(Type::kDouble);
      case Kind::kString:
        return simple(Type::kString);
      case Kind::kBytes:
        return simple(Type::kBytes);
      default:
        return simple(Type::kNull);
    }
  }

  const Local* find_local(std::string_view name) const {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it)
      if (it->name == name) return &*it;
    return nullptr;
  }

  // Resolves a dotted name to a variable or a type.
  bool resolve(const Expr* e, std::string_view name, const Type*& type) {
    for (const std::string& candidate : candidate_names(env_.container, name)) {
      if (const Variable* v = env_.find_variable(candidate)) {
        Meaning& m = meaning(e);
        m.kind = Meaning::kVariable;
        m.index = v->slot;
        m.name = candidate;
        type = v->type;
        return true;
      }
      if (const Type* named = env_.type_named(candidate)) {
        Meaning& m = meaning(e);
        m.kind = Meaning::kTypeName;
        m.name = candidate;
        type = types_.type_of(named);
        return true;
      }
    }
    return false;
  }

  const Type* identifier(const Expr* e) {
    if (!e->absolute)
      if (const Local* local = find_local(e->name)) {
        Meaning& m = meaning(e);
        m.kind = Meaning::kLocal;
        m.index = local->number;
        return settle(e, local->type);
      }
    const Type* type = nullptr;
    if (resolve(e, cat(e->absolute ? "." : "", e->name), type)) return settle(e, type);
    report(e, cat("undeclared reference to '", e->name, "' (in container '", env_.container, "')"));
    meaning(e).kind = Meaning::kUnresolved;
    meaning(e).name = e->name;
    return settle(e, simple(Type::kError));
  }

  // "a.b.c" for a chain of plain selections on an identifier that is not a local; empty otherwise.
  std::string qualified(const Expr* e) const {
    if (e->kind == Expr::Kind::kIdent) {
      if (!e->absolute && find_local(e->name) != nullptr) return "";
      return (e->absolute ? "." : "") + std::string(e->name);
    }
    if (e->kind != Expr::Kind::kSelect || e->has || e->optional) return "";
    std::string prefix = qualified(e->target);
    return prefix.empty() ? "" : prefix + "." + std::string(e->name);
  }

  const Type* select(const Expr* e) {
    const Type* type = nullptr;
    if (!e->has && !e->optional)
      if (const std::string name = qualified(e); !name.empty() && resolve(e, name, type))
        return settle(e, type);
    const Type* target = inference_.substitute(visit(e->target), false);
    bool optional = e->optional;
    if (target->kind == Type::kOptional) {
      target = inference_.substitute(target->params[0], false);
      optional = true;
    }
    const Type* field = field_type(e, target);
    if (e->has) return settle(e, simple(Type::kBool));
    return settle(e, optional ? types_.optional(field) : field);
  }

  const Type* field_type(const Expr* e, const Type* target) {
    switch (target->kind) {
      case Type::kMap:
        return target->params[1];
      case Type::kObject:
        if (const ObjectType* record = env_.find_record(target->name)) {
          const auto found = record->fields.find(e->name);
          if (found != record->fields.end()) return found->second;
          report(e, cat("undefined field '", e->name, "'"));
          return simple(Type::kError);
        }
        return dyn();
      case Type::kParam:
        inference_.assignable(dyn(), target);
        return dyn();
      case Type::kDyn:
      case Type::kError:
        return dyn();
      default:
        report(e, cat("type '", shown(target), "' does not support field selection"));
        return simple(Type::kError);
    }
  }

  const Type* call(const Expr* e) {
    Meaning& m = meaning(e);
    if (e->target != nullptr) {
      if (const std::string prefix = qualified(e->target); !prefix.empty())
        if (const Function* f = find_function(cat(prefix, ".", e->name))) {
          m.namespaced = true;
          m.function = f;
          Types args;
          for (const Expr* arg : e->args) args.push_back(visit(arg));
          return overload(e, f, args, false);
        }
    }
    if (e->target == nullptr && (e->name == op::kAnd || e->name == op::kOr)) return logical(e);
    Types args;
    if (e->target != nullptr) args.push_back(visit(e->target));
    for (const Expr* arg : e->args) args.push_back(visit(arg));
    const Function* f = e->target != nullptr ? env_.find_function(e->name) : find_function(e->name);
    if (f == nullptr) {
      report(e,
             cat("undeclared reference to '", e->name, "' (in container '", env_.container, "')"));
      return settle(e, simple(Type::kError));
    }
    m.function = f;
    return overload(e, f, args, e->target != nullptr);
  }

  // Each operand must be a bool; the error is reported at the operand that is not.
  const Type* logical(const Expr* e) {
    Meaning& m = meaning(e);
    m.function = find_function(e->name);
    for (const Overload& o : m.function->overloads) m.overloads.push_back(&o);
    for (const Expr* arg : e->args) {
      const Type* type = visit(arg);
      if (typed_) want_bool(arg, type);
    }
    return settle(e, simple(Type::kBool));
  }

  const Function* find_function(std::string_view name) const {
    for (const std::string& candidate : candidate_names(env_.container, name))
      if (const Function* f = env_.find_function(candidate)) return f;
    return nullptr;
  }

  static bool is_mixed_comparison(const Overload& o) {
    return o.params.size() == 2 && o.params[0]->kind != o.params[1]->kind &&
           o.result->kind == Type::kBool &&
           (o.id.starts_with("less_") || o.id.starts_with("greater_"));
  }

  const Type* overload(const Expr* e, const Function* f, const Types& args, bool member) {
    const Type* result = nullptr;
    std::vector<const Overload*> fitting;
    for (const Overload& o : f->overloads) {
      if (o.member != member || o.params.size() != args.size()) continue;
      if (typed_) {
        if (!env_.cross_type_numbers && is_mixed_comparison(o)) continue;
        std::map<std::string, const Type*> renamed;
        Types params;
        for (const Type* p : o.params) params.push_back(inference_.fresh(p, renamed));
        if (!inference_.assignable(args, params)) continue;
        const Type* made = inference_.substitute(inference_.fresh(o.result, renamed), false);
        if (result == nullptr)
          result = made;
        else if (!is_dyn(result) && !same_type(result, made))
          result = dyn();
      }
      fitting.push_back(&o);
    }
    Meaning& m = meaning(e);
    m.overloads = std::move(fitting);
    if (!typed_) return settle(e, dyn());
    if (result == nullptr) {
      report(e, cat("found no matching overload for '", f->name, "' applied to '",
                    signature(args, member), "'"));
      return settle(e, simple(Type::kError));
    }
    return settle(e, result);
  }

  std::string signature(const Types& args, bool member) {
    std::string out;
    std::size_t first = 0;
    if (member) {
      out = shown(args[0]) + ".";
      first = 1;
    }
    out += "(";
    for (std::size_t i = first; i < args.size(); ++i)
      out += (i > first ? ", " : "") + shown(args[i]);
    return out + ")";
  }

  const Type* join(const Type* before, const Type* now) {
    if (before == nullptr) return now;
    if (inference_.assignable(before, now))
      return inference_.more_general(inference_.substitute(before, false),
                                     inference_.substitute(now, false));
    return dyn();
  }

  const Type* unwrap_marked(const Expr* e, const Type* type) {
    type = inference_.substitute(type, false);
    if (type->kind == Type::kOptional) return type->params[0];
    if (!is_dyn(type))
      report(e, cat("expected type 'optional_type(dyn)' but found '", shown(type), "'"));
    return dyn();
  }

  const Type* list(const Expr* e) {
    const Type* element = nullptr;
    for (std::size_t i = 0; i < e->args.size(); ++i) {
      const Type* type = visit(e->args[i]);
      if (i < e->marked.size() && e->marked[i]) type = unwrap_marked(e->args[i], type);
      element = join(element, type);
    }
    return settle(e, types_.list(element != nullptr ? element : inference_.fresh_parameter()));
  }

  const Type* map(const Expr* e) {
    const Type* key = nullptr;
    const Type* value = nullptr;
    for (std::size_t i = 0; i < e->args.size(); i += 2) {
      key = join(key, visit(e->args[i]));
      const Type* type = visit(e->args[i + 1]);
      if (e->marked[i / 2]) type = unwrap_marked(e->args[i + 1], type);
      value = join(value, type);
    }
    return settle(e, types_.map(key != nullptr ? key : inference_.fresh_parameter(),
                                value != nullptr ? value : inference_.fresh_parameter()));
  }

  // Reports elements, keys and values whose type differs from the first in their literal. Arguments
  // of format() may have any types.
  void require_one_type(const Expr* e) {
    if (e->kind == Expr::Kind::kCall && e->name == "format") return;
    if (e->kind == Expr::Kind::kList) {
      for (std::size_t i = 1; i < e->args.size(); ++i)
        if (!same_as_first(e, 0, i)) break;
    } else if (e->kind == Expr::Kind::kMap) {
      for (std::size_t i = 2; i < e->args.size(); ++i) same_as_first(e, i % 2, i);
    }
    if (e->target != nullptr) require_one_type(e->target);
    for (const Expr* arg : e->args) require_one_type(arg);
  }
  bool same_as_first(const Expr* e, std::size_t first, std::size_t at) {
    const Type* expected = part_type(e, first);
    const Type* found = part_type(e, at);
    if (same_type(expected, found)) return true;
    report(e->args[at],
           cat("expected type '", print_type(expected), "' but found '", print_type(found), "'"));
    return false;
  }
  const Type* part_type(const Expr* e, std::size_t at) {
    const Type* type = meaning(e->args[at]).type;
    const bool is_value = e->kind == Expr::Kind::kList || at % 2 == 1;
    const std::size_t mark = e->kind == Expr::Kind::kList ? at : at / 2;
    const bool opens = is_value && mark < e->marked.size() && e->marked[mark] &&
                       type->kind == Type::kOptional;
    return opens ? type->params[0] : type;
  }

  const Type* structure(const Expr* e) {
    Meaning& m = meaning(e);
    const ObjectType* record = nullptr;
    for (const std::string& candidate : candidate_names(env_.container, e->name))
      if ((record = env_.find_record(candidate)) != nullptr) {
        m.name = candidate;
        break;
      }
    const std::string& open = env_.open_structs;
    const bool any_field = record == nullptr && !open.empty() &&
                           (e->name == open || e->name.starts_with(open + "."));
    if (any_field) m.name = e->name;
    if (record == nullptr && !any_field) {
      report(e,
             cat("undeclared reference to '", e->name, "' (in container '", env_.container, "')"));
      m.kind = Meaning::kUnresolved;
    }
    for (std::size_t i = 0; i < e->args.size(); ++i) {
      const Type* type = visit(e->args[i]);
      if (e->marked[i]) type = unwrap_marked(e->args[i], type);
      if (record == nullptr) continue;
      const auto field = record->fields.find(e->fields[i]);
      if (field == record->fields.end())
        report(e, cat("undefined field '", e->fields[i], "'"));
      else if (!inference_.assignable(type, field->second))
        report(e->args[i], cat("expected type of field '", e->fields[i], "' is '",
                               shown(field->second), "' but provided type is '", shown(type), "'"));
    }
    return settle(e, record != nullptr ? types_.object(record->name)
                     : any_field       ? types_.object(m.name)
                                       : simple(Type::kError));
  }

  // The types of a loop's variables, from the range.
  void range_types(const Expr* e, const Type* range, bool two, const Type*& first,
                   const Type*& second) {
    range = inference_.substitute(range, false);
    first = second = dyn();
    switch (range->kind) {
      case Type::kList:
        first = two ? simple(Type::kInt) : range->params[0];
        second = range->params[0];
        return;
      case Type::kMap:
        first = range->params[0];
        second = range->params[1];
        return;
      case Type::kParam:
        inference_.assignable(dyn(), range);
        return;
      case Type::kDyn:
      case Type::kError:
        return;
      default:
        if (typed_)
          report(e, cat("expression of type '", shown(range),
                        "' cannot be range of a comprehension (must be list, map, or dynamic)"));
    }
  }

  void want_bool(const Expr* e, const Type* type) {
    if (!inference_.assignable(type, simple(Type::kBool)))
      report(e, cat("expected type 'bool' but found '", shown(type), "'"));
  }
  // cel-go expands the macro into a conditional, whose two values have the same type.
  void want_condition(const Expr* e, const Type* type, const Type* chosen) {
    if (inference_.assignable(type, simple(Type::kBool))) return;
    report(e, cat("found no matching overload for '", op::kConditional, "' applied to '(",
                  shown(type), ", ", shown(chosen), ", ", shown(chosen), ")'"));
  }

  std::uint32_t open(std::string_view name, const Type* type) {
    const auto number = static_cast<std::uint32_t>(scope_.size());
    scope_.push_back({name, typed_ ? type : dyn(), number});
    out_.locals = std::max(out_.locals, number + 1);
    highest_ = std::max(highest_, scope_.size());
    return number;
  }

  // The type of a bound value. It is computed where the variable is first used, inside another
  // expression, but has its own locals.
  const Type* visit_lazy(const Expr* e) {
    const std::size_t before = std::exchange(highest_, scope_.size());
    const Type* type = visit(e);
    while (scope_.size() < highest_) open("", dyn());
    highest_ = std::max(highest_, before);
    return type;
  }

  const Type* macro(const Expr* e) {
    switch (e->macro) {
      case Macro::kBind:
        return bind(e);
      case Macro::kBlock:
        return block(e);
      case Macro::kOptMap:
      case Macro::kOptFlatMap:
        return optional_map(e);
      default:
        return loop(e);
    }
  }

  const Type* loop(const Expr* e) {
    const Type* range = visit(e->target);
    const Type* first = nullptr;
    const Type* second = nullptr;
    const bool two = !e->var2.empty();
    range_types(e->target, range, two, first, second);
    const std::size_t depth = scope_.size();
    meaning(e).index = open(e->var1, first);
    if (two) open(e->var2, second);
    const Expr* body = e->args.back();
    const Type* filter = e->args.size() == 2 ? visit(e->args[0]) : nullptr;
    const Type* type = visit(body);
    scope_.resize(depth);
    const Type* made = loop_type(e, body, range, type);
    if (filter != nullptr) want_condition(e, filter, made);
    return settle(e, made);
  }

  const Type* loop_type(const Expr* e, const Expr* body, const Type* range, const Type* type) {
    range = inference_.substitute(range, false);
    switch (e->macro) {
      case Macro::kAll:
      case Macro::kExists:
        want_bool(body, type);
        return simple(Type::kBool);
      case Macro::kExistsOne:
        want_condition(e, type, simple(Type::kInt));
        return simple(Type::kBool);
      case Macro::kFilter: {
        const Type* made = types_.list(
            range->kind == Type::kList || range->kind == Type::kMap ? range->params[0] : dyn());
        want_condition(e, type, made);
        return made;
      }
      case Macro::kMap:
      case Macro::kTransformList:
        return types_.list(type);
      case Macro::kTransformMap:
        return types_.map(range->kind == Type::kMap    ? range->params[0]
                          : range->kind == Type::kList ? simple(Type::kInt)
                                                       : dyn(),
                          type);
      case Macro::kTransformMapEntry: {
        type = inference_.substitute(type, false);
        if (type->kind != Type::kMap && !is_dyn(type) && type->kind != Type::kParam)
          report(e,
                 cat("found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), ",
                     shown(type), ")'"));
        return type->kind == Type::kMap ? type : types_.map(dyn(), dyn());
      }
      case Macro::kSortBy: {
        static constexpr Type::Kind kSortable[] = {Type::kInt,    Type::kUint,     Type::kDouble,
                                                   Type::kBool,   Type::kDuration, Type::kTimestamp,
                                                   Type::kString, Type::kBytes,    Type::kDyn,
                                                   Type::kError,  Type::kParam};
        const Type* key = inference_.substitute(type, false);
        // Keys of unknown type get the type of the first overload.
        if (key->kind == Type::kParam) inference_.assignable(key, simple(Type::kInt));
        if (std::ranges::find(kSortable, key->kind) == std::end(kSortable) ||
            range->kind == Type::kMap)
          report(e, cat("found no matching overload for '@sortByAssociatedKeys' applied to '",
                        shown(range), ".(list(", shown(key), "))'"));
        return range->kind == Type::kList ? range : types_.list(dyn());
      }
      default:
        return dyn();
    }
  }

  const Type* bind(const Expr* e) {
    const std::size_t depth = scope_.size();
    const Type* init = visit_lazy(e->target);
    meaning(e).index = open(e->var1, init);
    const Type* type = visit(e->args[0]);
    scope_.resize(depth);
    return settle(e, type);
  }

  const Type* optional_map(const Expr* e) {
    const Type* target = inference_.substitute(visit(e->target), false);
    const Type* inner = dyn();
    if (target->kind == Type::kOptional)
      inner = target->params[0];
    else if (typed_ && !is_dyn(target) && target->kind != Type::kParam)
      report(e,
             cat("found no matching overload for 'hasValue' applied to '", shown(target), ".()'"));
    meaning(e).index = open(e->var1, inner);
    open("", dyn());  // the value and its price, see kOptionalMap
    open("", dyn());
    const Type* type = visit(e->args[0]);
    scope_.resize(scope_.size() - 3);
    if (e->macro == Macro::kOptMap) return settle(e, types_.optional(type));
    const Type* result = types_.optional(inference_.fresh_parameter());
    if (!inference_.assignable(type, result))
      report(e, cat("found no matching overload for '_?_:_' applied to '(bool, ", shown(type),
                    ", optional_type(dyn))'"));
    return settle(e, result);
  }

  const Type* block(const Expr* e) {
    const std::size_t depth = scope_.size();
    const std::span<Expr*> items = e->target->args;
    static constexpr std::string_view kPrefix = "@index";
    meaning(e).index = static_cast<std::uint32_t>(depth);
    for (std::size_t i = 0; i < items.size(); ++i) open("", dyn());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Type* type = visit_lazy(items[i]);
      block_names_.push_back(std::make_unique<std::string>(cat(kPrefix, i)));
      scope_[depth + i].name = *block_names_.back();
      if (typed_) scope_[depth + i].type = type;
    }
    const Type* type = visit(e->args[0]);
    scope_.resize(depth);
    return settle(e, type);
  }

  const Environment& env_;
  const bool typed_;
  std::shared_ptr<TypePool> pool_;
  TypePool& types_;
  Inference inference_;
  Checked out_;
  std::vector<Local> scope_;
  std::size_t highest_ = 0;  // the largest number of locals that the current part has at the same
                             // time
  std::vector<std::unique_ptr<std::string>> block_names_;
};

}  // namespace

Checked check(const Ast& ast, const Environment& environment, bool typed) {
  return Checker(ast, environment, typed).run(ast.root);
}

}  // namespace cardea::cel

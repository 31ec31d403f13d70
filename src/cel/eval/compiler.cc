#include <re2/re2.h>

#include <algorithm>

#include "base/strings.h"
#include "cel/check/checker.h"
#include "cel/cost/cost.h"
#include "cel/eval/evaluate.h"
#include "cel/eval/time.h"
#include "cel/lib/format_text.h"
#include "cel/program.h"
#include "cel/syntax/operators.h"

namespace cardea::cel {

Program::~Program() = default;

namespace {

constexpr std::string_view kConversions[] = {"bool", "bytes",  "double",    "duration", "dyn",
                                             "int",  "string", "timestamp", "type",     "uint"};

bool is_primitive(const Value& v) {
  return v.kind == Kind::kBool || v.kind == Kind::kInt || v.kind == Kind::kUint ||
         v.kind == Kind::kDouble || v.kind == Kind::kString;
}

}  // namespace

class Compiler {
 public:
  Compiler(const Ast& ast, Checked checked, std::shared_ptr<const Environment> env, bool typed)
      : checked_(std::move(checked)),
        typed_(typed),
        program_(new Program()),
        arena_(program_->arena_),
        frame_(arena_) {
    program_->environment_ = std::move(env);
    program_->types_ = checked_.types;
    program_->type_ = checked_.type;
    program_->locals_ = checked_.locals + 1;
    program_->checked_ = typed;
    frame_.limits.memory = std::numeric_limits<std::size_t>::max();
    frame_.lenient = program_->environment_->lenient;
    program_->root_ = visit(ast.root);
  }

  std::shared_ptr<Program> take(std::shared_ptr<const Source> source) {
    program_->source_ = std::move(source);
    return std::shared_ptr<Program>(program_.release());
  }
  std::vector<Issue> issues;

 private:
  const Meaning& meaning(const Expr* e) const { return checked_.meanings[e->id]; }
  const Environment& env() const { return *program_->environment_; }

  Node* make(Op op, const Expr* e) {
    Node* n = arena_.make<Node>();
    n->op = op;
    n->position = e->position;
    return n;
  }
  std::span<const Node*> children(Node* n, const std::vector<const Node*>& args) {
    const std::span<const Node*> kept = arena_.array<const Node*>(args.size());
    std::ranges::copy(args, kept.begin());
    n->args = kept.data();
    n->count = static_cast<std::uint16_t>(args.size());
    for (const Node* arg : args) {
      n->reads |= arg->reads;
      n->reads_locals |= arg->reads_locals;
      n->has_effects |= arg->has_effects;
    }
    return kept;
  }
  Node* constant(const Expr* e, const Value& v) {
    Node* n = make(Op::kConst, e);
    n->value = v;
    return n;
  }

  const Node* visit(const Expr* e) {
    const Node* n = visit_kind(e);
    const Type* type = meaning(e).type;
    if (type == nullptr || type->kind == Type::kDyn) const_cast<Node*>(n)->dyn_typed = true;
    if (type != nullptr && type->kind == Type::kOptional)
      const_cast<Node*>(n)->optional_typed = true;
    return n;
  }

  const Node* visit_kind(const Expr* e) {
    switch (e->kind) {
      case Expr::Kind::kLiteral:
        return constant(e, copy_value(arena_, e->literal));
      case Expr::Kind::kIdent:
        return name(e);
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
    return nullptr;
  }

  const Node* name(const Expr* e) {
    const Meaning& m = meaning(e);
    if (m.kind == Meaning::kLocal) return local(e, m.index);
    if (m.kind == Meaning::kTypeName) return constant(e, Value::of_type(arena_.copy(m.name)));
    Node* n = make(m.kind == Meaning::kVariable ? Op::kSlot : Op::kUnresolved, e);
    n->index = m.index;
    n->name = arena_.copy(m.name);
    if (n->op == Op::kSlot) n->reads = slot_bit(m.index);
    n->bool_typed = is_bool(e);
    return n;
  }

  bool is_bool(const Expr* e) const {
    return typed_ && meaning(e).type != nullptr && meaning(e).type->kind == Type::kBool;
  }

  const Node* local(const Expr* e, std::uint32_t index) {
    const Node* init = index < inits_.size() ? inits_[index] : nullptr;
    Node* n = make(init != nullptr ? Op::kBound : Op::kLocal, e);
    n->index = index;
    n->name = arena_.copy(e->name);
    if (init != nullptr) children(n, {init});
    n->reads_locals = true;
    return n;
  }

  const Node* select(const Expr* e) {
    const Meaning& m = meaning(e);
    if (m.kind == Meaning::kVariable || m.kind == Meaning::kTypeName) return name(e);
    const Node* target = visit(e->target);
    if (!e->has && !e->optional && (target->op == Op::kSlot || target->op == Op::kPath)) {
      Node* n = make(Op::kPath, e);
      n->index = target->index;
      n->name = target->name;
      n->reads = target->reads;
      const std::span<std::string_view> fields = arena_.array<std::string_view>(
          target->fields.size() + 1);
      std::ranges::copy(target->fields, fields.begin());
      fields.back() = arena_.copy(e->name);
      n->fields = fields;
      const std::span<FieldKey> keys = arena_.array<FieldKey>(fields.size());
      std::ranges::transform(fields, keys.begin(),
                             [](std::string_view field) { return FieldKey(field); });
      n->keys = keys;
      n->bool_typed = is_bool(e);
      return n;
    }
    Node* n = make(e->has ? Op::kHas : e->optional ? Op::kOptionalSelect : Op::kSelect, e);
    n->name = arena_.copy(e->name);
    children(n, {target});
    n->plain_target = is_plain_access(target);
    return n;
  }

  // Whether the target is a selection without any optional step, and with a root that is not
  // optional.
  bool is_plain_access(const Node* target) const {
    if (!typed_ || (target->op != Op::kIndex && target->op != Op::kSelect)) return false;
    while (target->op == Op::kIndex || target->op == Op::kSelect) target = target->args[0];
    return target->op != Op::kOptionalIndex && target->op != Op::kOptionalSelect &&
           target->op != Op::kPath && !target->optional_typed && !target->dyn_typed;
  }

  // The root of an attribute costs nothing if it is used as an index or as the branch of a
  // conditional.
  void free_root(const Node* node) {
    auto* n = const_cast<Node*>(node);
    if (n->op == Op::kHas) n->free_root = true;
    while ((n->op == Op::kSelect || n->op == Op::kHas || n->op == Op::kOptionalSelect ||
            n->op == Op::kIndex || n->op == Op::kOptionalIndex) &&
           is_attribute(n->args[0]->op))
      n = const_cast<Node*>(n->args[0]);
    if (is_attribute(n->op)) n->free_root = true;
  }

  const Node* call(const Expr* e) {
    const Meaning& m = meaning(e);
    std::vector<const Node*> args;
    if (e->target != nullptr && !m.namespaced) args.push_back(visit(e->target));
    for (const Expr* arg : e->args) args.push_back(visit(arg));
    struct Special {
      std::string_view name;
      Op op;
    };
    static constexpr Special kSpecial[] = {
        {op::kAnd, Op::kAnd},     {op::kOr, Op::kOr},
        {op::kNot, Op::kNot},     {op::kConditional, Op::kConditional},
        {op::kEqual, Op::kEqual}, {op::kNotEqual, Op::kNotEqual},
        {op::kIndex, Op::kIndex}, {op::kOptionalIndex, Op::kOptionalIndex}};
    for (const Special& s : kSpecial)
      if (e->target == nullptr && s.name == e->name) return special(e, s.op, args);
    if (e->target != nullptr && !m.namespaced && args.size() == 2 &&
        (e->name == "or" || e->name == "orValue") && m.function != nullptr) {
      Node* n = make(e->name == "or" ? Op::kOptionalOr : Op::kOptionalOrValue, e);
      n->name = arena_.copy(e->name);
      n->member = true;
      children(n, args);
      return n;
    }
    if (e->name == op::kIn && args.size() == 2 && args[1]->op == Op::kConst &&
        args[1]->value.kind == Kind::kList)
      if (Node* n = set_test(e, args)) return n;
    Node* n = make(Op::kCall, e);
    n->name = arena_.copy(m.function != nullptr ? std::string_view(m.function->name) : e->name);
    n->member = e->target != nullptr && !m.namespaced;
    n->target = call_target(m);
    children(n, args);
    n->has_effects |= n->target->effect;
    prepare_pattern(e, n);
    if (env().validate_literals) validate(e, n);
    if (typed_ && n->name == "format" && n->member && n->count == 2) validate_format(e, n);
    return fold_conversion(e, n);
  }

  const Node* special(const Expr* e, Op code, const std::vector<const Node*>& args) {
    Node* n = make(code, e);
    std::vector<const Node*> terms;
    // a && (b && c) is one chain.
    if (code == Op::kAnd || code == Op::kOr) {
      for (const Node* arg : args) {
        if (arg->op == code)
          terms.insert(terms.end(), arg->args, arg->args + arg->count);
        else
          terms.push_back(arg);
      }
    } else {
      terms = args;
    }
    if (terms.size() > 0xFFFF) terms = args;
    children(n, terms);
    if (code == Op::kConditional) {
      free_root(n->args[1]);
      free_root(n->args[2]);
    }
    if (code == Op::kIndex || code == Op::kOptionalIndex) {
      if (is_attribute(n->args[1]->op)) free_root(n->args[1]);
      n->plain_target = is_plain_access(n->args[0]);
    }
    return n;
  }

  Node* set_test(const Expr* e, const std::vector<const Node*>& args) {
    const Value& list = args[1]->value;
    for (std::uint32_t i = 0; i < list.size; ++i)
      if (!is_primitive(list_at(list, i))) return nullptr;
    Node* n = make(Op::kInSet, e);
    n->name = op::kIn;
    children(n, args);
    if (list.size > 8) {  // a map is faster than a search through the list
      MapBuilder set(arena_);
      for (std::uint32_t i = 0; i < list.size; ++i) set.add(list_at(list, i), Value::of(true));
      n->value = set.build();
    }
    return n;
  }

  const CallTarget* call_target(const Meaning& m) {
    auto* target = arena_.make<CallTarget>();
    std::vector<const Overload*> runnable = m.overloads;
    if (m.function != nullptr && m.function->standard && !runnable.empty())
      for (const Overload& o : m.function->overloads)
        if (o.member == runnable[0]->member && o.params.size() == runnable[0]->params.size() &&
            std::ranges::find(runnable, &o) == runnable.end())
          runnable.push_back(&o);
    const std::span<const Overload*> all = arena_.array<const Overload*>(runnable.size());
    std::ranges::copy(runnable, all.begin());
    target->overloads = all;
    const std::span<const Overload*> kept = all.first(m.overloads.size());
    // If the types do not settle which overload is called, the call costs one, unless Kubernetes
    // has a rule for the function's name.
    if (kept.size() == 1)
      target->cost = kept[0]->cost;
    else if (m.function != nullptr && env().counts_as_kubernetes())
      target->cost = kubernetes_rule(m.function->name, "").value_or(nullptr);
    for (const Overload* o : kept)
      target->effect |= o->id == "pathcheck_check" || o->id == "resourcecheck_check";
    // cel-go calls a function that the types do not settle like a function of many arguments.
    target->stops_early = kept.size() > 1 && !m.function->standard;
    return target;
  }

  void prepare_pattern(const Expr* e, Node* n) {
    const bool takes_pattern = n->name == "matches" || n->name == "find" || n->name == "findAll";
    if (!takes_pattern || n->count < 2 || n->args[1]->op != Op::kConst ||
        !n->args[1]->value.is_string())
      return;
    const std::string_view text = n->args[1]->value.string();
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    auto compiled = std::make_unique<RE2>(re2::StringPiece(text.data(), text.size()), options);
    if (!compiled->ok()) {
      if (env().validate_literals)
        issues.push_back({e->args.back()->position,
                          n->name == "matches"
                              ? "invalid matches argument"
                              : cat("program instantiation failed: ", pattern_problem(*compiled))});
      return;
    }
    n->pattern = program_->patterns_.emplace_back(std::move(compiled)).get();
  }

  void validate(const Expr* e, const Node* n) {
    // Only what is written as a literal is looked at, not what was computed from one.
    if (n->count != 1 || n->member || e->args[0]->kind != Expr::Kind::kLiteral) return;
    const Value& v = e->args[0]->literal;
    const bool timestamp = n->name == "timestamp";
    const bool bad = v.is_string() ? (n->name == "duration" && !parse_duration(v.string())) ||
                                         (timestamp && !parse_timestamp(v.string()))
                                   : timestamp && v.kind == Kind::kInt && !in_range(v.integer);
    if (bad) issues.push_back({e->args[0]->position, cat("invalid ", n->name, " argument")});
  }

  // A literal format of a written list must be well formed, and fit its arguments if their number
  // is known.
  void validate_format(const Expr* e, const Node* n) {
    if (n->args[0]->op != Op::kConst || !n->args[0]->value.is_string()) return;
    const Expr* list = e->args[0];
    if (list->kind != Expr::Kind::kList) return;
    std::vector<Type::Kind> kinds;
    for (const Expr* item : list->args) kinds.push_back(meaning(item).type->kind);
    const bool known = std::ranges::find(list->marked, true) == list->marked.end();
    std::size_t problem_at = 0;
    std::string why;
    if (check_format(n->args[0]->value.string(), known ? &kinds : nullptr, env().validate_literals,
                     why, problem_at))
      return;
    issues.push_back(
        {problem_at < list->args.size() && known ? list->args[problem_at]->position : e->position,
         why});
  }

  const Node* fold_conversion(const Expr* e, const Node* n) {
    if (n->count != 1 || n->args[0]->op != Op::kConst || n->member) return n;
    if (std::ranges::find(kConversions, n->name) == std::end(kConversions)) return n;
    const Value v = evaluate_node(*n, frame_);
    if (v.is_error()) return n;
    // Keeps the original spelling for printing.
    Node* made = constant(e, copy_value(arena_, v));
    made->name = n->name;
    made->args = n->args;
    made->count = 1;
    return made;
  }

  const Node* list(const Expr* e) {
    std::vector<const Node*> items;
    bool fixed = true;
    for (const Expr* arg : e->args) {
      items.push_back(visit(arg));
      fixed &= items.back()->op == Op::kConst;
    }
    const bool any_marked = std::ranges::find(e->marked, true) != e->marked.end();
    if (fixed && !any_marked) {
      ListBuilder values(arena_);
      for (const Node* item : items) values.add(item->value);
      return constant(e, values.build());
    }
    Node* n = make(Op::kList, e);
    children(n, items);
    if (any_marked) n->marked = marks(e);
    return n;
  }

  std::span<const bool> marks(const Expr* e) {
    const std::span<bool> out = arena_.array<bool>(e->marked.size());
    std::ranges::copy(e->marked, out.begin());
    return out;
  }

  const Node* map(const Expr* e) {
    std::vector<const Node*> entries;
    bool fixed = true;
    for (const Expr* arg : e->args) {
      entries.push_back(visit(arg));
      fixed &= entries.back()->op == Op::kConst;
    }
    const bool any_marked = std::ranges::find(e->marked, true) != e->marked.end();
    Node* n = make(Op::kMap, e);
    children(n, entries);
    if (any_marked) n->marked = marks(e);
    if (!fixed || any_marked) return n;
    const Value v = evaluate_node(*n, frame_);
    return v.is_error() ? n : constant(e, v);
  }

  const Node* structure(const Expr* e) {
    Node* n = make(Op::kStruct, e);
    n->name = arena_.copy(meaning(e).name.empty() ? e->name : std::string_view(meaning(e).name));
    std::vector<const Node*> values;
    for (const Expr* arg : e->args) values.push_back(visit(arg));
    children(n, values);
    const std::span<std::string_view> names = arena_.array<std::string_view>(e->fields.size());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = arena_.copy(e->fields[i]);
    n->fields = names;
    if (std::ranges::find(e->marked, true) != e->marked.end()) n->marked = marks(e);
    return n;
  }

  void set_init(std::uint32_t index, const Node* init) {
    if (inits_.size() <= index) inits_.resize(index + 1);
    inits_[index] = init;
  }

  const Node* macro(const Expr* e) {
    const std::uint32_t index = meaning(e).index;
    if (e->macro == Macro::kBlock) return block(e, index);
    const Node* range = visit(e->target);
    Node* n = make(e->macro == Macro::kBind                                       ? Op::kBind
                   : e->macro == Macro::kOptMap || e->macro == Macro::kOptFlatMap ? Op::kOptionalMap
                                                                                  : Op::kLoop,
                   e);
    n->macro = e->macro;
    n->name = arena_.copy(e->name);
    n->var1 = arena_.copy(e->var1);
    n->var2 = arena_.copy(e->var2);
    n->index = index;
    const Node* init = nullptr;
    if (n->op == Op::kBind) {
      init = range;
    } else if (n->op == Op::kOptionalMap) {
      Node* take = make(Op::kTake, e);
      take->index = index;
      take->reads_locals = true;
      init = take;
    }
    set_init(index, init);
    if (!e->var2.empty()) set_init(index + 1, nullptr);
    std::vector<const Node*> args{range};
    for (const Expr* arg : e->args) args.push_back(visit(arg));
    children(n, args);
    n->constant_body = args.back()->op == Op::kConst;
    if (e->macro == Macro::kSortBy) {
      const Type* key = meaning(e->args[0]).type;
      n->typed_keys = key != nullptr && key->kind != Type::kDyn && key->kind != Type::kError &&
                      key->kind != Type::kParam;
    }
    return n;
  }

  const Node* block(const Expr* e, std::uint32_t index) {
    Node* n = make(Op::kBlock, e);
    n->macro = e->macro;
    n->name = "block";
    n->index = index;
    std::vector<const Node*> args;
    for (std::size_t i = 0; i < e->target->args.size(); ++i) {
      args.push_back(visit(e->target->args[i]));
      set_init(index + static_cast<std::uint32_t>(i), args.back());
    }
    args.push_back(visit(e->args[0]));
    children(n, args);
    return n;
  }

  Checked checked_;
  const bool typed_;
  std::unique_ptr<Program> program_;
  Arena& arena_;
  Frame frame_;
  std::vector<const Node*> inits_;  // by local: the expression of a bound variable
};

std::expected<std::shared_ptr<const Program>, CompileError> compile(
    std::string_view text, std::shared_ptr<const Environment> environment,
    const CompileOptions& options) {
  Parsed parsed = parse(text, environment->parsing);
  auto failed = [&](bool parsing, std::vector<Issue> issues) {
    // In the order of the text; errors at the same place keep their order.
    for (auto it = issues.begin(); it != issues.end(); ++it)
      std::rotate(std::ranges::upper_bound(issues.begin(), it, it->position, {}, &Issue::position),
                  it, it + 1);
    CompileError error{parsing, std::move(issues), ""};
    error.text = parsed.source->format(error.issues);
    return std::unexpected(std::move(error));
  };
  if (parsed.ast == nullptr) return failed(true, std::move(parsed.issues));
  Checked checked = check(*parsed.ast, *environment, options.check);
  if (!checked.issues.empty()) return failed(false, std::move(checked.issues));
  std::vector<Issue> issues;
  if (options.check && environment->homogeneous) issues = mixed_literals(*parsed.ast, checked);
  Compiler compiler(*parsed.ast, std::move(checked), std::move(environment), options.check);
  std::ranges::move(compiler.issues, std::back_inserter(issues));
  if (!issues.empty()) return failed(false, std::move(issues));
  return std::shared_ptr<const Program>(compiler.take(parsed.source));
}

}  // namespace cardea::cel

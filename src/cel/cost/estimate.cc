#include "cel/cost/estimate.h"

#include "base/result.h"
#include "cel/check/checker.h"
#include "cel/cost/estimate_calls.h"
#include "cel/syntax/operators.h"

namespace cardea::cel {
namespace {

constexpr std::uint64_t kName = 1;  // a variable or a field
constexpr std::uint64_t kMakeList = 10, kMakeMap = 30, kMakeStruct = 40;
constexpr SizeRange kNothingYet{kUnbounded, 0};

class Estimator : public SizeSource {
 public:
  Estimator(const Checked& checked, const DataSize* root) : checked_(checked), root_(root) {}

  Measured visit(const Expr* e) {
    switch (e->kind) {
      case Expr::Kind::kLiteral:
        return literal(e);
      case Expr::Kind::kIdent:
        return name(e, e->name);
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
    return {};
  }

  std::optional<SizeRange> by_path(const DataPath& path) const override {
    if (path.empty() || root_ == nullptr) return std::nullopt;
    if (!root_->variable.empty() && path[0] != root_->variable) return std::nullopt;
    const DataSize* at = root_;
    for (std::size_t i = 1; i < path.size(); ++i) {
      const std::string& step = path[i];
      const DataSize* next = nullptr;
      if (step == "@items" || step == "@values")
        next = at->element.get();
      else if (step == "@keys")
        next = at->key.get();
      else if (const auto field = at->fields.find(step); field != at->fields.end())
        next = field->second.get();
      else if (at->names_elements)
        next = at->element.get();
      if (next == nullptr) return std::nullopt;
      at = next;
    }
    return SizeRange{0, static_cast<std::uint64_t>(at->max_elements)};
  }

  std::set<std::string, std::less<>> variables;

 private:
  struct Local {
    std::string_view name;
    DataPath path;
    std::optional<SizeRange> size;
    std::optional<EntrySizes> entries;
    const Type* type = nullptr;
  };

  const Meaning& meaning(const Expr* e) const { return checked_.meanings[e->id]; }
  Measured plain(const Expr* e, std::uint64_t cost) const {
    Measured m;
    m.expr = e;
    m.type = meaning(e).type;
    m.cost = cost;
    return m;
  }

  Measured literal(const Expr* e) {
    Measured m = plain(e, 0);
    const Value& v = e->literal;
    const std::uint64_t size = v.kind == Kind::kString  ? code_points(v.string())
                               : v.kind == Kind::kBytes ? v.size
                                                        : 1;
    m.written = SizeRange{size, size};
    return m;
  }

  Measured name(const Expr* e, std::string_view written) {
    Measured m = plain(e, kName);
    const Meaning& known = meaning(e);
    if (known.kind == Meaning::kLocal) {
      for (auto at = locals_.rbegin(); at != locals_.rend(); ++at)
        if (at->name == written) {
          m.path = at->path;
          m.local = at->size;
          m.entries = at->entries;
          break;
        }
      return m;
    }
    if (known.kind == Meaning::kVariable) variables.insert(known.name);
    m.path = DataPath(known.name.empty() ? written : known.name);
    return m;
  }

  Measured select(const Expr* e) {
    const Meaning& known = meaning(e);
    if (known.kind == Meaning::kVariable || known.kind == Meaning::kTypeName)
      return name(e, known.name);
    const Measured target = visit(e->target);
    if (e->has) return plain(e, target.cost);
    if (e->optional) return plain(e, add_capped(target.cost, 1));
    const Type* type = target.type;
    const bool counts = type != nullptr &&
                        (type->kind == Type::kMap || type->kind == Type::kObject ||
                         type->kind == Type::kParam);
    Measured m = plain(e, add_capped(target.cost, counts ? kName : 0));
    m.path = target.path.then(e->name);
    return m;
  }

  Measured call(const Expr* e) {
    const Meaning& known = meaning(e);
    const std::string_view function = known.function != nullptr
                                          ? std::string_view(known.function->name)
                                          : e->name;
    std::vector<Measured> args;
    std::uint64_t args_cost = 0;
    for (const Expr* arg : e->args) {
      args.push_back(visit(arg));
      size_of(args.back());
      args_cost = add_capped(args_cost, args.back().cost);
    }
    if (function == "dyn" && args.size() == 1) {
      Measured m = plain(e, add_capped(args_cost, 1));
      m.computed = size_of(args[0]);
      m.entries = args[0].entries;
      return m;
    }
    if (function == op::kAnd || function == op::kOr) return plain(e, args_cost);
    if (function == op::kConditional) return conditional(e, args);
    if (known.overloads.empty()) return plain(e, 0);
    std::optional<Measured> target;
    if (e->target != nullptr && !known.namespaced) {
      target = visit(e->target);
      size_of(*target);
    }
    return priced(e, function, target ? &*target : nullptr, args, args_cost);
  }

  Measured priced(const Expr* e, std::string_view function, Measured* target,
                  std::vector<Measured>& args, std::uint64_t args_cost) {
    Measured m = plain(e, 0);
    std::uint64_t dearest = 0;
    std::optional<SizeRange> result;
    for (const Overload* overload : meaning(e).overloads) {
      CallPrice price = call_price(*this, function, overload->id, target, args);
      dearest = std::max(dearest, price.cost);
      if (price.entries) m.entries = price.entries;
      if (price.result) result = result ? result->joined(*price.result) : *price.result;
      if (overload->id == "index_list" || overload->id == "index_map") {
        result = args[0].entries ? std::optional(args[0].entries->value) : std::nullopt;
        m.path = args[0].path.then(overload->id == "index_list" ? "@items" : "@values");
      }
      if (!result) result = size_of(m);
    }
    if (result) m.computed = result;
    m.cost = add_capped(add_capped(dearest, args_cost), target != nullptr ? target->cost : 0);
    return m;
  }

  static std::optional<EntrySizes> joined(const std::optional<EntrySizes>& a,
                                          const std::optional<EntrySizes>& b) {
    if (!a || !b) return std::nullopt;
    return EntrySizes{a->is_map, a->key.joined(b->key), a->value.joined(b->value)};
  }

  Measured conditional(const Expr* e, std::vector<Measured>& args) {
    Measured m = plain(e, add_capped(args[0].cost, std::max(args[1].cost, args[2].cost)));
    m.computed = size_or_unknown(args[1]).joined(size_or_unknown(args[2]));
    m.entries = joined(args[1].entries, args[2].entries);
    return m;
  }

  Measured list(const Expr* e) {
    Measured m = plain(e, kMakeList);
    SizeRange item = e->args.empty() ? SizeRange{0, 0} : kNothingYet;
    for (const Expr* arg : e->args) {
      Measured element = visit(arg);
      m.cost = add_capped(m.cost, element.cost);
      item = item.joined(size_or_unknown(element));
    }
    m.written = SizeRange{e->args.size(), e->args.size()};
    m.entries = EntrySizes{false, {1, 1}, item};
    return m;
  }

  Measured map(const Expr* e) {
    Measured m = plain(e, kMakeMap);
    SizeRange sizes[2] = {kNothingYet, kNothingYet};
    if (e->args.empty()) sizes[0] = sizes[1] = {0, 0};
    for (std::size_t i = 0; i < e->args.size(); ++i) {
      Measured part = visit(e->args[i]);
      m.cost = add_capped(m.cost, part.cost);
      sizes[i % 2] = sizes[i % 2].joined(size_or_unknown(part));
    }
    m.written = SizeRange{e->args.size() / 2, e->args.size() / 2};
    m.entries = EntrySizes{true, sizes[0], sizes[1]};
    return m;
  }

  Measured structure(const Expr* e) {
    Measured m = plain(e, kMakeStruct);
    for (const Expr* arg : e->args) m.cost = add_capped(m.cost, visit(arg).cost);
    return m;
  }

  Measured macro(const Expr* e) {
    switch (e->macro) {
      case Macro::kBind:
        return bind(e);
      case Macro::kOptMap:
      case Macro::kOptFlatMap:
        return optional_map(e);
      case Macro::kSortBy:
        return sort_by(e);
      default:
        return loop(e, visit(e->target));
    }
  }

  void open(std::string_view name, const DataPath& path, std::optional<SizeRange> size,
            std::optional<EntrySizes> entries) {
    locals_.push_back({name, path, size, entries});
  }

  void open_loop(const Expr* e, const Measured& range) {
    const bool is_list = range.entries ? !range.entries->is_map
                                       : range.type != nullptr && range.type->kind == Type::kList;
    const auto key = range.entries ? std::optional(range.entries->key) : std::nullopt;
    const auto value = range.entries ? std::optional(range.entries->value) : std::nullopt;
    if (e->var2.empty())
      return open(e->var1, range.path.then(is_list ? "@items" : "@keys"), is_list ? value : key,
                  {});
    open(e->var1, range.path.then(is_list ? "@indices" : "@keys"), key, {});
    open(e->var2, range.path.then(is_list ? "@items" : "@values"), value, {});
  }

  // The cost and size of one turn of a loop, and the cost that is paid once. cel-go writes loops as
  // folds over an accumulator, and every use of the accumulator costs as much as a variable.
  struct Fold {
    std::uint64_t start = 0, turn = 0, end = kName;
    bool makes_container = false;
    std::optional<EntrySizes> entries;
  };

  Fold fold(const Expr* e) {
    const std::uint64_t filter = e->args.size() == 2 ? visit(e->args[0]).cost : 0;
    Measured body = visit(e->args.back());
    const auto kept = [&](std::uint64_t step) {
      return e->args.size() == 2 ? add_capped(filter, step) : step;
    };
    switch (e->macro) {
      case Macro::kAll:
        return {.turn = add_capped(body.cost, 3)};  // continues while not false; and
      case Macro::kExists:
        return {.turn = add_capped(body.cost, 4)};  // continues while not true; or
      case Macro::kExistsOne:
        return {.turn = add_capped(body.cost, 2), .end = 2};
      case Macro::kFilter:
        return {.start = kMakeList,
                .turn = add_capped(body.cost, 2 + kMakeList + kName),
                .makes_container = true,
                .entries = filtered()};
      case Macro::kMap:
      case Macro::kTransformList:
        return {
            .start = kMakeList,
            .turn = kept(add_capped(body.cost, 2 + kMakeList)),
            .makes_container = true,
            .entries = EntrySizes{false, {1, 1}, SizeRange{0, 0}.joined(size_or_unknown(body))}};
      case Macro::kTransformMap:
        return {.start = kMakeMap,
                .turn = kept(add_capped(body.cost, 3)),
                .makes_container = true,
                .entries = {}};
      case Macro::kTransformMapEntry:
        return {.start = kMakeMap,
                .turn = kept(add_capped(body.cost, 2)),
                .makes_container = true,
                .entries = {}};
      default:
        return {};
    }
  }

  // The elements of a filtered list have the sizes of those of the range.
  std::optional<EntrySizes> filtered() {
    Measured element;
    element.path = locals_.back().path;
    element.local = locals_.back().size;
    element.type = locals_.back().type;
    return EntrySizes{false, {1, 1}, SizeRange{0, 0}.joined(size_or_unknown(element))};
  }

  static const Type* element_type(const Measured& range) {
    if (range.type == nullptr) return nullptr;
    if (range.type->kind == Type::kList || range.type->kind == Type::kMap)
      return range.type->params[0];
    return nullptr;
  }

  Measured loop(const Expr* e, Measured range) {
    const std::size_t depth = locals_.size();
    open_loop(e, range);
    if (e->var2.empty()) locals_.back().type = element_type(range);
    const Fold f = fold(e);
    locals_.resize(depth);
    const SizeRange turns = size_or_unknown(range);
    Measured m = plain(
        e, add_capped(add_capped(range.cost, f.start + f.end), multiply_capped(turns.max, f.turn)));
    if (f.makes_container) {
      m.computed = turns;
      m.entries = f.entries;
    } else {
      m.computed = SizeRange{1, 1};
    }
    return m;
  }

  // cel-go writes a binding as a fold over an empty list.
  Measured bound(const Expr* e, std::string_view name, Measured init, const auto& body) {
    open(name, init.path, size_of(init), init.entries);
    Measured result = body();
    locals_.pop_back();
    Measured m = plain(e, add_capped(add_capped(kMakeList, init.cost), result.cost));
    m.computed = size_of(result);
    m.entries = result.entries;
    return m;
  }

  Measured bind(const Expr* e) {
    return bound(e, e->var1, visit(e->target), [&] { return visit(e->args[0]); });
  }

  // x.hasValue() ? optional.of(bind(v, x.value(), body)) : optional.none()
  Measured optional_map(const Expr* e) {
    const Measured asked = visit(e->target);
    Measured value = visit(e->target);
    const Type* inner = value.type != nullptr && value.type->kind == Type::kOptional
                            ? value.type->params[0]
                            : nullptr;
    Measured init;
    init.type = inner;
    init.cost = add_capped(value.cost, 1);
    Measured yes = bound(e, e->var1, init, [&] { return visit(e->args[0]); });
    const bool flat = e->macro == Macro::kOptFlatMap;
    Measured none = plain(e, 1);
    if (!flat) yes = plain(e, add_capped(yes.cost, 1));
    Measured m = plain(e,
                       add_capped(add_capped(asked.cost, 1), std::max<std::uint64_t>(yes.cost, 1)));
    m.computed = size_or_unknown(yes).joined(size_or_unknown(none));
    m.entries = flat ? joined(yes.entries, none.entries) : std::nullopt;
    return m;
  }

  // bind(list, x, list.sortByKeys(list.map(v, key)))
  Measured sort_by(const Expr* e) {
    return bound(e, "@__sortBy_input__", visit(e->target), [&] {
      Measured list;
      list.type = meaning(e->target).type;
      list.cost = kName;
      list.path = locals_.back().path;
      list.local = locals_.back().size;
      list.entries = locals_.back().entries;
      const std::size_t depth = locals_.size();
      open_loop(e, list);
      const Measured key = visit(e->args.back());
      locals_.resize(depth);
      Measured range = list;
      const SizeRange turns = size_or_unknown(range);
      std::vector<Measured> args(1);
      args[0].computed = turns;
      const std::uint64_t keys_cost = add_capped(
          kName + kMakeList + kName,
          multiply_capped(turns.max, add_capped(key.cost, 2 + kMakeList)));
      const Type::Kind kind = key.type != nullptr ? key.type->kind : Type::kDyn;
      const bool text = kind == Type::kString || kind == Type::kBytes || kind == Type::kDyn ||
                        kind == Type::kParam;
      const CallPrice price = call_price(
          *this, "@sortByAssociatedKeys",
          text ? "list_string_sortByAssociatedKeys" : "list_int_sortByAssociatedKeys", &list, args);
      Measured m = plain(e, add_capped(add_capped(price.cost, keys_cost), list.cost));
      m.computed = price.result;
      return m;
    });
  }

  const Checked& checked_;
  const DataSize* root_;
  std::vector<Local> locals_;
};

}  // namespace

Estimate estimate(std::string_view text, const Environment& environment, const DataSize* root) {
  const Parsed parsed = parse(text, environment.parsing);
  CARDEA_CHECK(parsed.ast != nullptr);
  const Checked checked = check(*parsed.ast, environment, true);
  Estimator estimator(checked, root);
  const std::uint64_t cost = estimator.visit(parsed.ast->root).cost;
  return {cost, std::move(estimator.variables)};
}

}  // namespace cardea::cel

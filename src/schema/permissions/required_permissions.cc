#include "schema/permissions/required_permissions.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/ownership/field_tree.h"
#include "schema/ownership/shape.h"

namespace cardea::schema {

using json::Member;
using json::Value;

namespace {

using Node = PermissionTree::Node;
constexpr std::int64_t kNoVerb = -1;
constexpr std::size_t kMostEvaluations = 10'000;  // of expressions, for one change

const Value* at_path(const Value& value, std::string_view dotted) {
  const Value* at = &value;
  for (std::string_view name : split(dotted, '.'))
    if (at = at->find(name); !at) return nullptr;
  return at;
}

bool has_children(const Node& node) {
  return node.any || !node.fields.empty();
}
bool is_full(const Value* value) {
  return value && (value->is_array() || value->is_object()) && !value->empty();
}

// What of a list a path element stands for.
struct Items {
  const Value* first = nullptr;
  std::size_t count = 0;
};
// The items of one list by their path elements. Made once for all changed items: a body may bring
// tens of thousands.
class ItemIndex {
 public:
  Items of(const Value* list, const Schema& schema, std::string_view element) {
    if (list && !made_) make(*list, schema);
    auto at = items_.find(std::string(element));
    return at == items_.end() ? Items() : at->second;
  }

 private:
  void make(const Value& list, const Schema& schema) {
    made_ = true;
    std::string element;
    for (const Value& item : list.items())
      if (item_element(schema, item, element))
        if (Items& found = items_[element]; found.count++ == 0) found.first = &item;
  }
  bool made_ = false;
  std::unordered_map<std::string, Items> items_;
};

class Walk {
 public:
  explicit Walk(const ExcludedVerbs& excluded) : excluded_(excluded) {}

  // One side of the object at a path, and its schema.
  struct Place {
    const Node* node;
    const Schema* schema;
    const Value* before;
    const Value* after;
    bool repeated = false;  // several items of one identity: they were not compared field by field
  };

  void visit(const Value& tree, Place at) {
    auto children = children_of(tree);
    if (children.empty()) return emit(at);
    if (at.repeated || ends_here(tree)) emit(at);
    if (!at.node || !has_children(*at.node)) return visit_alike(tree);
    ItemIndex before, after;
    for (const Member& m : children) {
      Place next = step(at, m.key(), before, after);
      path_.emplace_back(m.key());
      bool pushed = next.node && next.node->permission;
      if (pushed) push(*next.node->permission, m.key(), next);
      visit(m.value, next);
      if (pushed) stack_.pop_back();
      path_.pop_back();
    }
  }

  // The same for lists whose items keep what they hold: nothing inside them is demanded.
  void visit_lists(const Value& tree, Place root) {
    looks_inside_ = false;
    visit(tree, root);
  }

  Demands out;

 private:
  struct Held {
    const Permission* permission;
    std::int64_t before, after;  // indexes of verbs; kNoVerb where none can be made
    std::int64_t exact;          // of an excluded verb for this key alone; kNoVerb: there is none
  };

  // Everything below is guarded by what guards this: the first field stands for all.
  void visit_alike(const Value& tree) {
    std::size_t depth = path_.size();
    for (const Value* at = &tree; !children_of(*at).empty();) {
      const Member& first = children_of(*at)[0];
      path_.emplace_back(first.key());
      at = &first.value;
    }
    emit({});
    path_.resize(depth);
  }

  // Values are followed only where a permission or an atom below may depend on them.
  Place step(const Place& at, std::string_view element, ItemIndex& before_items,
             ItemIndex& after_items) {
    Place next{at.node->child(element), nullptr, nullptr, nullptr, false};
    if (!next.node) return next;
    bool needs = has_children(*next.node) ||
                 (next.node->permission && takes_value(*next.node->permission));
    if (!needs || !at.schema) return next;
    if (element[0] == 'f') {
      std::string_view name = element.substr(2);
      next.schema = &member_or_deduced(*at.schema, name);
      if (at.before) next.before = at.before->find(name);
      if (at.after) next.after = at.after->find(name);
    } else {
      next.schema = &item_schema(*at.schema);
      Items before = before_items.of(at.before, *at.schema, element),
            after = after_items.of(at.after, *at.schema, element);
      next.before = before.first;
      next.after = after.first;
      next.repeated = before.count > 1 || after.count > 1;
    }
    return next;
  }

  static bool takes_value(const Permission& p) {
    return p.source == Permission::Source::kValue || p.source == Permission::Source::kSelf;
  }

  void push(const Permission& p, std::string_view element, const Place& place) {
    if (p.source == Permission::Source::kSelf) {
      const Value* self = place.after;
      const bool is_text = self && !self->is_null() && !self->is_array() && !self->is_object();
      std::int64_t verb = may_evaluate(p) ? index_of(permission_verb_of_value(p, self)) : kNoVerb;
      stack_.push_back({&p, verb, verb, is_text ? exact_verb_of(p, scalar_text(*self)) : kNoVerb});
      return;
    }
    if (p.source != Permission::Source::kValue) {
      // Without one the parameter is unknown; trees whose paths are shorter do not exist.
      if (p.ancestor_depth > path_.size()) return stack_.push_back({&p, kNoVerb, kNoVerb, kNoVerb});
      if (p.ancestor_depth) element = path_[p.ancestor_depth - 1];
      const std::optional<std::string> raw = raw_parameter(p, element);
      std::int64_t verb = verb_of(p, raw);
      stack_.push_back({&p, verb, verb, exact_verb_of(p, raw)});
      return;
    }
    auto side = [&](const Value* value) {
      const Value* found = value ? at_path(*value, p.field) : nullptr;
      return found && !found->is_null() && !found->is_array() && !found->is_object()
                 ? verb_of(p, scalar_text(*found))
                 : kNoVerb;
    };
    std::int64_t before = side(place.before), after = side(place.after);
    if (!place.before) before = after;
    if (!place.after) after = before;
    stack_.push_back({&p, before, after, kNoVerb});
  }

  // A set may exclude one key of those that a permission is about:
  // `granular:label(pod-security.kubernetes.io/enforce)`.
  std::int64_t exact_verb_of(const Permission& p, const std::optional<std::string>& raw) {
    if (!raw || p.treatment != Permission::Treatment::kSlashPrefix ||
        !excluded_.names.contains(p.name))
      return kNoVerb;
    Permission exact = p;
    exact.treatment = Permission::Treatment::kNone;
    const std::optional<std::string> verb = permission_verb(exact, *raw);
    return verb && excluded_.verbs.contains(*verb) ? verb_of(exact, raw) : kNoVerb;
  }

  static std::optional<std::string> raw_parameter(const Permission& p, std::string_view element) {
    std::string_view rest = element.substr(2);
    switch (p.source) {
      case Permission::Source::kNone:
        return "";
      case Permission::Source::kMapKey:
        return element[0] == 'f' ? std::optional(std::string(rest)) : std::nullopt;
      case Permission::Source::kSetValue: {
        if (element[0] != 'v') return std::nullopt;
        auto value = json::parse(rest);
        return value ? std::optional(scalar_text(*value)) : std::nullopt;
      }
      case Permission::Source::kListKey: {
        if (element[0] != 'k') return std::nullopt;
        auto keys = json::parse(rest);
        const Value* key = keys ? keys->find(p.field) : nullptr;
        return key ? std::optional(scalar_text(*key)) : std::nullopt;
      }
      case Permission::Source::kValue:
      case Permission::Source::kSelf:
        break;
    }
    return std::nullopt;
  }

  // A body may bring tens of thousands of items: beyond this no verb can be made for more of them.
  bool may_evaluate(const Permission& p) {
    return p.treatment != Permission::Treatment::kExpression || evaluations_++ < kMostEvaluations;
  }

  std::int64_t verb_of(const Permission& p, const std::optional<std::string>& raw) {
    return raw && may_evaluate(p) ? index_of(permission_verb(p, *raw)) : kNoVerb;
  }

  std::int64_t index_of(std::optional<std::string> verb) {
    if (!verb) return kNoVerb;
    auto [at, added] = index_.try_emplace(*verb, out.verbs.size());
    if (added) out.verbs.push_back(std::move(*verb));
    return static_cast<std::int64_t>(at->second);
  }

  void emit(const Place& at) {
    Demand demand;
    add_atom(at, demand);
    Demand other = demand;
    for (const Held& held : stack_) {
      take(*held.permission, held.before, demand);
      take(*held.permission, held.after, other);
      for (Demand* d : {&demand, &other}) take_exact(held, *d);
    }
    bool differ = other.chain != demand.chain;
    keep(std::move(demand));
    if (differ) keep(std::move(other));
  }

  void take(const Permission& p, std::int64_t verb, Demand& demand) const {
    if (verb == kNoVerb) {
      // Whoever chooses a value for which the expression fails must not get around a set.
      const bool may_be_excluded = p.treatment == Permission::Treatment::kExpression &&
                                   excluded_.names.contains(p.name);
      if (p.excluded || may_be_excluded) demand.unnamed = verb_pattern(p);
      return;
    }
    auto index = static_cast<std::uint32_t>(verb);
    demand.chain.push_back(index);
    if (p.excluded || excluded_.verbs.contains(out.verbs[index])) demand.excluded.push_back(index);
  }

  static void take_exact(const Held& held, Demand& demand) {
    if (held.exact == kNoVerb) return;
    const auto index = static_cast<std::uint32_t>(held.exact);
    // Of a key without a slash it is the permission itself.
    if (std::ranges::find(demand.excluded, index) == demand.excluded.end())
      demand.excluded.push_back(index);
  }

  // A value that was compared as a whole may contain excluded fields that were not compared one
  // by one.
  void add_atom(const Place& at, Demand& demand) {
    if (looks_inside_ && at.node && has_children(*at.node) &&
        (is_full(at.before) || is_full(at.after)))
      add_below(*at.node, demand);
  }
  void add_below(const Node& node, Demand& demand) {
    auto look = [&](const Node& next) {
      if (const Permission* p = next.permission) {
        bool may_be = p->excluded || excluded_.names.contains(p->name);
        if (may_be && p->has_parameter())
          demand.unnamed = verb_pattern(*p);
        else if (may_be)
          if (auto verb = static_cast<std::uint32_t>(verb_of(*p, ""));
              p->excluded || excluded_.verbs.contains(out.verbs[verb]))
            demand.inside.push_back(verb);
      }
      add_below(next, demand);
    };
    for (const auto& [name, next] : node.fields) look(*next);
    if (node.any) look(*node.any);
  }

  void keep(Demand demand) {
    std::vector<std::uint32_t> key = demand.chain;
    key.push_back(~0u);
    key.insert(key.end(), demand.excluded.begin(), demand.excluded.end());
    key.push_back(~0u);
    key.insert(key.end(), demand.inside.begin(), demand.inside.end());
    if (!demand.unnamed.empty()) key.push_back(~0u);
    if (!seen_.insert(std::move(key)).second) return;
    demand.field = path_;
    out.fields.push_back(std::move(demand));
  }

  const ExcludedVerbs& excluded_;
  bool looks_inside_ = true;
  std::size_t evaluations_ = 0;
  FieldPath path_;
  std::vector<Held> stack_;
  std::unordered_map<std::string, std::size_t> index_;
  std::set<std::vector<std::uint32_t>> seen_;
};

}  // namespace

void ExcludedVerbs::add(std::string_view verb) {
  verbs.emplace(verb);
  std::string_view name = verb.starts_with(kGranularPrefix) ? verb.substr(kGranularPrefix.size())
                                                            : verb;
  names.emplace(name.substr(0, name.find('(')));
}

bool ExcludedVerbs::concern(const PermissionTree& tree) const {
  return std::ranges::any_of(names, [&](const std::string& name) { return tree.has(name); });
}

std::vector<std::string> Demands::chain_of(const Demand& demand) const {
  std::vector<std::string> out;
  for (std::uint32_t index : demand.chain) out.push_back(verbs[index]);
  return out;
}

Demands demands_of(const ChangedFields& changes, const PermissionTree& tree,
                   const ExcludedVerbs& excluded) {
  Walk walk(excluded);
  const Walk::Place root{&tree.root(), &changes.schema(), &changes.before(), &changes.after()};
  if (!changes.compared().empty()) walk.visit(changes.compared().tree(), root);
  if (!changes.reordered().empty()) walk.visit_lists(changes.reordered().tree(), root);
  return std::move(walk.out);
}

Demands demands_of(const FieldSet& leaves, const ChangedFields& changes, const PermissionTree& tree,
                   const ExcludedVerbs& excluded) {
  Walk walk(excluded);
  if (leaves.empty()) return {};
  walk.visit(leaves.tree(), {&tree.root(), &changes.schema(), &changes.before(), &changes.after()});
  return std::move(walk.out);
}

}  // namespace cardea::schema

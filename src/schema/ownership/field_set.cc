#include "schema/ownership/field_set.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/ownership/field_tree.h"
#include "schema/ownership/shape.h"

namespace cardea::schema {

using json::Member;
using json::Value;

const Value& leaf_tree() {
  static const Value leaf = Value::object();
  return leaf;
}

std::string field_element(std::string_view name) {
  return cat("f:", name);
}

std::string value_element(const Value& value) {
  return cat("v:", json::print(value));
}

std::string index_element(std::size_t index) {
  return cat("i:", index);
}

bool item_element(const Schema& list, const Value& item, std::string& element) {
  if (list.list_type == Schema::ListType::kSet) {
    if (item.is_null() || item.is_array() || item.is_object()) return false;
    element = "v:";
    json::print_to(element, item);
    return true;
  }
  if (!item.is_object()) return false;
  std::vector<std::string_view> keys(list.map_keys.begin(), list.map_keys.end());
  std::sort(keys.begin(), keys.end());
  element = "k:{";
  for (std::string_view key : keys) {
    const Value* value = key_value(list, item, key);
    if (!value) continue;
    if (element.size() > 3) element.push_back(',');
    json::print_string_to(element, key);
    element.push_back(':');
    json::print_to(element, *value);
  }
  element.push_back('}');
  return true;
}

std::string path_text(const FieldPath& path) {
  std::string out;
  for (const std::string& element : path) {
    std::string_view rest = std::string_view(element).substr(2);
    if (element[0] == 'f') {
      out += cat(".", rest);
    } else if (element[0] == 'i') {
      out += cat("[", rest, "]");
    } else if (element[0] == 'v') {
      out += cat("[=", rest, "]");
    } else {
      out += "[";
      auto keys = json::parse(rest);
      bool first = true;
      for (const Member& key : keys ? keys->members() : std::span<const Member>()) {
        out += cat(first ? "" : ",", key.key(), "=", json::print(key.value));
        first = false;
      }
      out += "]";
    }
  }
  return out;
}

namespace {

Result<std::string> canonical_element(std::string_view element) {
  auto refuse = [&] { return fail(bad_request(cat("invalid path element ", quoted(element)))); };
  if (element.size() < 2 || element[1] != ':') return refuse();
  std::string_view rest = element.substr(2);
  switch (element[0]) {
    case 'f':
      return std::string(element);
    case 'i':
      if (!parse_int(rest)) return refuse();
      return std::string(element);
    case 'k':
    case 'v': {
      auto value = json::parse(rest);
      if (!value || (element[0] == 'k' && !value->is_object())) return refuse();
      return cat(element.substr(0, 2), json::print(*value));
    }
    default:
      return refuse();
  }
}

Result<Value> canonical_tree(const Value& node) {
  if (!node.is_object()) return fail(bad_request("fields must be objects"));
  std::vector<Member> members;
  members.reserve(node.size());
  bool changed = false;
  for (const Member& member : node.members()) {
    if (is_self(member)) {
      members.push_back({kSelf, leaf_tree()});
      continue;
    }
    auto element = canonical_element(member.key());
    if (!element) return fail(element.error());
    auto below = canonical_tree(member.value);
    if (!below) return fail(below.error());
    changed |= *element != member.key() || !below->same(member.value);
    members.push_back(
        {*element == member.key() ? member.name : Value(*element), std::move(*below)});
  }
  if (members.size() == 1 && is_self(members[0])) return leaf_tree();
  return changed ? Value::object(std::move(members)) : node;
}

// Walks the children of two nodes side by side.
template <typename Left, typename Both, typename Right>
void walk(const Value& a, const Value& b, Left left, Both both, Right right) {
  auto as = children_of(a), bs = children_of(b);
  std::size_t i = 0, j = 0;
  while (i < as.size() || j < bs.size()) {
    int order = i == as.size() ? 1 : j == bs.size() ? -1 : as[i].key().compare(bs[j].key());
    if (order < 0)
      left(as[i++]);
    else if (order > 0)
      right(bs[j++]);
    else
      both(as[i++], bs[j++]);
  }
}

void keep(std::vector<Member>& out, const Member& name, Value node) {
  if (!node.is_null()) out.push_back({name.name, std::move(node)});
}

Value difference_of(const Value& a, const Value& b, bool recursive) {
  std::vector<Member> out;
  walk(
      a, b, [&](const Member& m) { out.push_back(m); },
      [&](const Member& m, const Member& n) {
        bool ends = ends_here(n.value);
        if (recursive && ends) return;
        Value below = difference_of(m.value, n.value, recursive);
        bool self = ends_here(m.value) && !ends;
        keep(out, m, make_node(self, {children_of(below).begin(), children_of(below).end()}));
      },
      [](const Member&) {});
  return make_node(false, std::move(out));
}

Value intersection_of(const Value& a, const Value& b) {
  std::vector<Member> out;
  walk(
      a, b, [](const Member&) {},
      [&](const Member& m, const Member& n) {
        if (m.value.same(n.value)) return out.push_back(m);
        Value below = intersection_of(m.value, n.value);
        bool self = ends_here(m.value) && ends_here(n.value);
        keep(out, m, make_node(self, {below.members().begin(), below.members().end()}));
      },
      [](const Member&) {});
  return make_node(false, std::move(out));
}

const Schema& below_schema(const Schema& schema, std::string_view element) {
  return element[0] == 'f' ? member_or_deduced(schema, element.substr(2)) : item_schema(schema);
}

Value with_named(const Value& node, const Schema& schema) {
  std::vector<Member> out;
  for (const Member& member : children_of(node)) {
    bool named = member.key()[0] == 'f' && schema.property(member.key().substr(2));
    Value below = with_named(member.value, below_schema(schema, member.key()));
    keep(out, member,
         make_node(named || ends_here(member.value),
                   {below.members().begin(), below.members().end()}));
  }
  return make_node(false, std::move(out));
}

bool is_atomic(const Schema& schema) {
  if (schema.type == Schema::Type::kObject) return is_atomic_map(schema);
  return schema.type == Schema::Type::kArray && is_atomic_list(schema);
}

bool fits(const Value& node, const Schema& schema) {
  for (const Member& member : children_of(node)) {
    if (member.value.empty()) continue;
    const Schema& next = below_schema(schema, member.key());
    if (is_atomic(next) || !fits(member.value, next)) return false;
  }
  return true;
}

Value fitted(const Value& node, const Schema& schema) {
  std::vector<Member> out;
  for (const Member& member : children_of(node)) {
    const Schema& next = below_schema(schema, member.key());
    Value below = is_atomic(next) ? Value() : fitted(member.value, next);
    bool self = is_atomic(next) || ends_here(member.value);
    keep(out, member, make_node(self, {below.members().begin(), below.members().end()}));
  }
  return make_node(false, std::move(out));
}

std::size_t count(const Value& node) {
  std::size_t n = 0;
  for (const Member& member : children_of(node)) n += ends_here(member.value) + count(member.value);
  return n;
}

int compare_scalars(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number())
    return a.as_double() < b.as_double() ? -1 : a.as_double() > b.as_double();
  if (a.kind() != b.kind()) return a.kind() < b.kind() ? -1 : 1;
  return a.is_string() ? a.as_string().compare(b.as_string())
                       : json::print(a).compare(json::print(b));
}

// Kubernetes' order of path elements: fields, keys, values, indexes; numbers as numbers.
bool comes_before(std::string_view a, std::string_view b) {
  constexpr std::string_view kKinds = "fkvi";
  if (a[0] != b[0]) return kKinds.find(a[0]) < kKinds.find(b[0]);
  if (a[0] == 'f') return a < b;
  auto left = json::parse(a.substr(2)), right = json::parse(b.substr(2));
  if (!left || !right) return a < b;
  if (!left->is_object() || !right->is_object()) return compare_scalars(*left, *right) < 0;
  auto ls = left->members(), rs = right->members();
  for (std::size_t i = 0; i < ls.size() && i < rs.size(); ++i) {
    if (ls[i].key() != rs[i].key()) return ls[i].key() < rs[i].key();
    if (int order = compare_scalars(ls[i].value, rs[i].value)) return order < 0;
  }
  return ls.size() < rs.size();
}

void visit_all(const Value& node, FieldPath& path,
               const std::function<void(const FieldPath&)>& visit) {
  std::vector<const Member*> children;
  for (const Member& member : children_of(node)) children.push_back(&member);
  std::stable_sort(children.begin(), children.end(), [](const Member* a, const Member* b) {
    return comes_before(a->key(), b->key());
  });
  for (const Member* member : children) {
    path.emplace_back(member->key());
    if (ends_here(member->value)) visit(path);
    path.pop_back();
  }
  for (const Member* member : children) {
    path.emplace_back(member->key());
    visit_all(member->value, path, visit);
    path.pop_back();
  }
}

std::vector<Member> owned_members(const Value& map, const Schema& schema);
std::vector<Member> owned_items(const Value& list, const Schema& schema);

// The node of a value; `self` when the path itself belongs to the set whatever is below.
Value owned(const Value& value, const Schema& schema, bool self) {
  switch (shape_of(schema, value)) {
    case Shape::kMap:
      if (is_atomic_map(schema)) return leaf_tree();
      return make_node(self, owned_members(value, schema));
    case Shape::kList:
      if (is_atomic_list(schema)) return leaf_tree();
      return make_node(self, owned_items(value, schema));
    case Shape::kScalar:
      break;
  }
  return leaf_tree();
}

std::vector<Member> owned_members(const Value& map, const Schema& schema) {
  std::vector<Member> out;
  out.reserve(map.size() + 1);
  for (const Member& member : map.members()) {
    bool empty = member.value.is_null() || (member.value.is_object() && member.value.empty());
    bool self = empty || !schema.property(member.key());
    Value node = owned(member.value, member_or_deduced(schema, member.key()), self);
    if (!node.is_null()) out.push_back({field_element(member.key()), std::move(node)});
  }
  return out;
}

std::vector<Member> owned_items(const Value& list, const Schema& schema) {
  std::vector<Member> out;
  out.reserve(list.size() + 1);
  std::unordered_map<std::string, std::size_t> seen;
  std::string element;
  for (const Value& item : list.items()) {
    if (!item_element(schema, item, element)) continue;
    auto [at, added] = seen.try_emplace(element, out.size());
    // If items cannot be distinguished, their fields have no owners; only their place has.
    if (added)
      out.push_back({element, owned(item, item_schema(schema), true)});
    else
      out[at->second].value = leaf_tree();
  }
  return out;
}

}  // namespace

Value union_trees(const Value& a, const Value& b) {
  if (b.is_null() || a.same(b)) return a;
  if (a.is_null()) return b;
  std::vector<Member> out;
  out.reserve(std::max(a.size(), b.size()) + 1);
  walk(
      a, b, [&](const Member& m) { out.push_back(m); },
      [&](const Member& m, const Member& n) {
        out.push_back({m.name, union_trees(m.value, n.value)});
      },
      [&](const Member& n) { out.push_back(n); });
  return make_node(ends_here(a) || ends_here(b), std::move(out));
}

Result<FieldSet> FieldSet::parse(const Value& fields_v1) {
  if (fields_v1.is_null()) return FieldSet();
  auto tree = canonical_tree(fields_v1);
  if (!tree) return fail(tree.error());
  tree->erase(kSelf);
  return from_tree(std::move(*tree));
}

FieldSet FieldSet::of(std::initializer_list<FieldPath> paths) {
  FieldSet set;
  for (const FieldPath& path : paths) set.insert(path);
  return set;
}

FieldSet FieldSet::from_tree(Value tree) {
  return FieldSet(tree.empty() ? Value() : std::move(tree));
}

Value FieldSet::fields_v1() const {
  return tree_.is_null() ? leaf_tree() : tree_;
}

std::size_t FieldSet::size() const {
  return count(tree_);
}

bool FieldSet::has(const FieldPath& path) const {
  const Value* at = &tree_;
  for (const std::string& element : path)
    if (at = at->find(element); !at) return false;
  return !path.empty() && ends_here(*at);
}

void FieldSet::insert(const FieldPath& path) {
  if (path.empty()) return;
  Value node = leaf_tree();
  for (std::size_t i = path.size(); i-- > 0;) node = make_node(false, {{path[i], std::move(node)}});
  *this = union_with(FieldSet(std::move(node)));
}

FieldSet FieldSet::below(std::string_view element) const {
  const Value* found = tree_.find(element);
  if (!found) return {};
  Value node = *found;
  node.erase(kSelf);
  return from_tree(std::move(node));
}

void FieldSet::for_each(const std::function<void(const FieldPath&)>& visit) const {
  FieldPath path;
  visit_all(tree_, path, visit);
}

FieldSet FieldSet::union_with(const FieldSet& other) const {
  // INVARIANT: a root never holds ".", so neither does the union of two.
  if (empty()) return other;
  if (other.empty()) return *this;
  return FieldSet(union_trees(tree_, other.tree_));
}

FieldSet FieldSet::intersection(const FieldSet& other) const {
  return FieldSet(intersection_of(tree_, other.tree_));
}

FieldSet FieldSet::difference(const FieldSet& other) const {
  if (other.empty()) return *this;
  return FieldSet(difference_of(tree_, other.tree_, false));
}

FieldSet FieldSet::recursive_difference(const FieldSet& other) const {
  if (other.empty()) return *this;
  return FieldSet(difference_of(tree_, other.tree_, true));
}

FieldSet FieldSet::with_named_fields(const Schema& schema) const {
  return FieldSet(with_named(tree_, schema));
}

FieldSet FieldSet::fitted_to(const Schema& schema) const {
  return fits(tree_, schema) ? *this : FieldSet(fitted(tree_, schema));
}

FieldSet field_set_of(const Value& value, const Schema& schema) {
  if (!value.is_object() || is_atomic_map(schema)) return {};
  return FieldSet::from_tree(make_node(false, owned_members(value, schema)));
}

}  // namespace cardea::schema

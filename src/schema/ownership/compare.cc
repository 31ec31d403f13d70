#include "schema/ownership/compare.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "schema/ownership/field_tree.h"
#include "schema/ownership/shape.h"

namespace cardea::schema {

using json::Member;
using json::Value;

bool same_content(const Value& a, const Value& b) {
  if (a.same(b)) return true;
  if (a.is_number() && b.is_number())
    return a.is_int() && b.is_int() ? a.as_int() == b.as_int() : a.as_double() == b.as_double();
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) return std::ranges::equal(a.items(), b.items(), same_content);
  if (a.is_object())
    return std::ranges::equal(a.members(), b.members(), [](const Member& m, const Member& n) {
      return m.key() == n.key() && same_content(m.value, n.value);
    });
  return a == b;
}

namespace {

enum Side { kAdded, kModified, kRemoved, kMoved };
constexpr Side kSides[] = {kAdded, kModified, kRemoved, kMoved};

// The parts of four trees below one path: what children to hang there, and whether the path is in
// them.
struct Findings {
  std::array<std::vector<Member>, std::size(kSides)> children;
  std::array<bool, std::size(kSides)> self{};

  void mark(Side side) { self[side] = true; }
  void add(Side side, const std::string& element, Value node) {
    if (!node.is_null()) children[side].push_back({element, std::move(node)});
  }
  Value node(Side side) { return make_node(self[side], std::move(children[side])); }
  bool empty() const {
    for (Side side : kSides)
      if (self[side] || !children[side].empty()) return false;
    return true;
  }
};

bool same_item(const Schema& list, const Value& a, const Value& b) {
  if (list.list_type == Schema::ListType::kSet) return same_content(a, b);
  for (const std::string& key : list.map_keys) {
    const Value* left = key_value(list, a, key);
    const Value* right = key_value(list, b, key);
    if (!left != !right || (left && !same_content(*left, *right))) return false;
  }
  return true;
}

bool can_be_told_apart(const Schema& list, const Value& items) {
  bool set = list.list_type == Schema::ListType::kSet;
  return std::ranges::all_of(items.items(), [set](const Value& item) {
    return set ? !item.is_null() && !item.is_array() && !item.is_object() : item.is_object();
  });
}

// The items of two lists that share an identity.
struct Group {
  const Value* before = nullptr;  // the first of each side
  const Value* after = nullptr;
  std::uint32_t before_count = 0;
  std::uint32_t after_count = 0;
  std::vector<const Value*> more_before, more_after;  // the others, where there are several
  const Value& any() const { return before ? *before : *after; }
  // The item that the next item of the other list stands for: the first for the first, and so on.
  const Value* partner() const {
    if (after_count == 0) return before;
    return after_count <= more_before.size() ? more_before[after_count - 1] : nullptr;
  }
  static void add(const Value& item, const Value*& first, std::uint32_t& count,
                  std::vector<const Value*>& more) {
    if (count++ == 0)
      first = &item;
    else
      more.push_back(&item);
  }
};

// Short lists are searched item by item, which needs no keys in text; long ones through an index.
class Grouping {
 public:
  Grouping(const Schema& list, std::size_t expected) : list_(list), indexed_(expected > 24) {
    groups_.reserve(expected);
  }

  Group& of(const Value& item, std::size_t hint) {
    if (!indexed_) {
      if (hint < groups_.size() && same_item(list_, groups_[hint].any(), item))
        return groups_[hint];
      for (Group& group : groups_)
        if (same_item(list_, group.any(), item)) return group;
      return groups_.emplace_back();
    }
    item_element(list_, item, element_);
    auto [at, added] = index_.try_emplace(element_, groups_.size());
    return added ? groups_.emplace_back() : groups_[at->second];
  }

  std::vector<Group>& groups() { return groups_; }

 private:
  const Schema& list_;
  bool indexed_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::size_t> index_;
  std::string element_;
};

void compare_values(const Value& before, const Value& after, const Schema& schema, Findings& out);

// The tree of a value that is there on one side only.
Value whole(const Value& value, const Schema& schema) {
  std::vector<Member> children;
  switch (shape_of(schema, value)) {
    case Shape::kScalar:
      break;
    case Shape::kMap:
      if (is_atomic_map(schema)) break;
      children.reserve(value.size() + 1);
      for (const Member& member : value.members())
        children.push_back({field_element(member.key()),
                            whole(member.value, member_or_deduced(schema, member.key()))});
      break;
    case Shape::kList: {
      if (is_atomic_list(schema) || !can_be_told_apart(schema, value)) break;
      Grouping grouping(schema, value.size());
      for (const Value& item : value.items()) {
        Group& group = grouping.of(item, grouping.groups().size());
        group.after = &item;
        ++group.after_count;
      }
      std::string element;
      for (const Group& group : grouping.groups()) {
        item_element(schema, *group.after, element);
        children.push_back({element, group.after_count > 1
                                         ? leaf_tree()
                                         : whole(*group.after, item_schema(schema))});
      }
      break;
    }
  }
  return make_node(true, std::move(children));
}

void compare_leaves(const Value& before, const Value& after, Findings& out) {
  if (!same_content(before, after)) out.mark(kModified);
}

// What compare_values would find, asked first so that nothing is built for children that do not
// differ.
bool surely_equal(const Value& before, const Value& after) {
  if (before.same(after)) return true;
  if (before.is_array() || before.is_object()) return false;
  return before == after;
}

void compare_maps(const Value& before, const Value& after, const Schema& schema, Findings& out) {
  auto left = before.members(), right = after.members();
  if (is_atomic_map(schema) || (left.empty() && right.empty()))
    return compare_leaves(before, after, out);
  std::size_t i = 0, j = 0;
  while (i < left.size() || j < right.size()) {
    int order = i == left.size()    ? 1
                : j == right.size() ? -1
                                    : left[i].key().compare(right[j].key());
    const Member& member = order > 0 ? right[j] : left[i];
    if (order == 0 && surely_equal(left[i].value, right[j].value)) {
      ++i, ++j;
      continue;
    }
    const Schema& below = member_or_deduced(schema, member.key());
    if (order < 0) {
      out.add(kRemoved, field_element(member.key()), whole(left[i++].value, below));
    } else if (order > 0) {
      out.add(kAdded, field_element(member.key()), whole(right[j++].value, below));
    } else {
      Findings found;
      compare_values(left[i++].value, right[j++].value, below, found);
      if (found.empty()) continue;
      std::string element = field_element(member.key());
      for (Side side : kSides) out.add(side, element, found.node(side));
    }
  }
}

// Items with the same identity in one list have no separate fields: they are compared as one value.
void compare_duplicates(const Schema& schema, const Group& group, const std::string& element,
                        Findings& out) {
  if (group.before_count > 1 && group.after_count > 1) {
    auto same = [](const Value* a, const Value* b) { return same_content(*a, *b); };
    if (!same(group.before, group.after) ||
        !std::ranges::equal(group.more_before, group.more_after, same))
      out.add(kModified, element, leaf_tree());
  } else if (group.before_count > 1) {
    if (group.after) out.add(kAdded, element, whole(*group.after, item_schema(schema)));
    out.add(kRemoved, element, leaf_tree());
  } else {
    if (group.before) out.add(kRemoved, element, whole(*group.before, item_schema(schema)));
    out.add(kAdded, element, leaf_tree());
  }
}

void compare_lists(const Value& before, const Value& after, const Schema& schema, Findings& out) {
  auto left = before.items(), right = after.items();
  bool leaf = is_atomic_list(schema) || (left.empty() && right.empty());
  if (leaf || !can_be_told_apart(schema, before) || !can_be_told_apart(schema, after))
    return compare_leaves(before, after, out);
  // Most lists did not change, and to see that needs no grouping.
  if (same_content(before, after)) return;
  Grouping grouping(schema, std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < left.size(); ++i) {
    Group& group = grouping.of(left[i], grouping.groups().size());
    Group::add(left[i], group.before, group.before_count, group.more_before);
  }
  const Value* last = nullptr;
  for (std::size_t i = 0; i < right.size(); ++i) {
    Group& group = grouping.of(right[i], i);
    if (const Value* partner = group.partner()) {
      if (last && partner < last) out.mark(kMoved);
      last = partner;
    }
    Group::add(right[i], group.after, group.after_count, group.more_after);
  }
  std::string element;
  for (const Group& group : grouping.groups()) {
    bool single = group.before_count <= 1 && group.after_count <= 1;
    if (single && group.before && group.after) {
      if (surely_equal(*group.before, *group.after)) continue;
      Findings found;
      compare_values(*group.before, *group.after, item_schema(schema), found);
      if (found.empty()) continue;
      item_element(schema, group.any(), element);
      for (Side side : kSides) out.add(side, element, found.node(side));
      continue;
    }
    item_element(schema, group.any(), element);
    if (!single)
      compare_duplicates(schema, group, element, out);
    else if (group.before)
      out.add(kRemoved, element, whole(*group.before, item_schema(schema)));
    else
      out.add(kAdded, element, whole(*group.after, item_schema(schema)));
  }
}

void compare_as(Shape shape, const Value& before, const Value& after, const Schema& schema,
                Findings& out) {
  switch (shape) {
    case Shape::kMap:
      return compare_maps(before, after, schema, out);
    case Shape::kList:
      return compare_lists(before, after, schema, out);
    case Shape::kScalar:
      return compare_leaves(before, after, out);
  }
}

void compare_values(const Value& before, const Value& after, const Schema& schema, Findings& out) {
  if (before.same(after)) return;
  Shape left = shape_of(schema, before), right = shape_of(schema, after);
  compare_as(left, before, after, schema, out);
  // A value that changed its shape is looked at as both: what it lost and what it became.
  if (left != right) compare_as(right, before, after, schema, out);
}

}  // namespace

Comparison Comparison::without(const FieldSet& ignored) const {
  return {added.recursive_difference(ignored), modified.recursive_difference(ignored),
          removed.recursive_difference(ignored), moved};
}

Comparison compare(const Value& before, const Value& after, const Schema& schema) {
  Findings found;
  compare_values(before, after, schema, found);
  auto take = [&](Side side) {
    return FieldSet::from_tree(
        found.children[side].empty() ? Value() : make_node(false, std::move(found.children[side])));
  };
  return {take(kAdded), take(kModified), take(kRemoved), take(kMoved)};
}

}  // namespace cardea::schema

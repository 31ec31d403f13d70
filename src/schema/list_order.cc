#include "schema/list_order.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "schema/field_tree.h"
#include "schema/shape.h"

namespace cardea::schema {

using json::Member;
using json::Value;

namespace {

bool is_conditions(std::string_view name, const Schema& list) {
  return name == "conditions" && list.map_keys == std::vector<std::string>{"type"};
}

// The node of what is reordered at this value or below; null when nothing is.
Value reordered(const Value& before, const Value& after, const Schema& schema, bool order_counts);

Value in_map(const Value& before, const Value& after, const Schema& schema, bool is_root) {
  std::vector<Member> found;
  for (const Member& m : after.members()) {
    const Value* was = before.find(m.key());
    if (!was || was->same(m.value)) continue;
    if (is_root && m.key() == "metadata") continue;
    const Schema& member = member_or_deduced(schema, m.key());
    if (Value node = reordered(*was, m.value, member, !is_conditions(m.key(), member)); !node.is_null())
      found.push_back({field_element(m.key()), std::move(node)});
  }
  return make_node(false, std::move(found));
}

Value in_list(const Value& before, const Value& after, const Schema& schema, bool order_counts) {
  std::unordered_map<std::string, std::size_t> places;
  std::string element;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (item_element(schema, before[i], element)) places.try_emplace(element, i);
  bool moved = false;
  std::size_t last = 0;
  std::vector<Member> found;
  for (const Value& item : after.items()) {
    if (!item_element(schema, item, element)) continue;
    auto at = places.find(element);
    if (at == places.end()) continue;
    const std::size_t place = at->second;
    places.erase(at);  // of items that cannot be told apart the first one counts
    moved |= place < last;
    last = place;
    const Value& was = before[place];
    if (was.same(item)) continue;
    if (Value node = reordered(was, item, item_schema(schema), true); !node.is_null()) found.push_back({element, std::move(node)});
  }
  return make_node(moved && order_counts, std::move(found));
}

Value reordered(const Value& before, const Value& after, const Schema& schema, bool order_counts) {
  if (before.is_object() && after.is_object() && !is_atomic_map(schema)) return in_map(before, after, schema, false);
  if (before.is_array() && after.is_array() && schema.type == Schema::Type::kArray && !is_atomic_list(schema)) return in_list(before, after, schema, order_counts);
  return {};
}

}  // namespace

FieldSet reordered_lists(const Value& before, const Value& after, const Schema& schema) {
  if (!before.is_object() || !after.is_object()) return {};
  return FieldSet::from_tree(in_map(before, after, schema, true));
}

}  // namespace cardea::schema

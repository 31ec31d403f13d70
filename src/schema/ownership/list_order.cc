#include "schema/ownership/list_order.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "schema/ownership/field_tree.h"
#include "schema/ownership/shape.h"

namespace cardea::schema {

using json::Member;
using json::Value;

namespace {

bool is_conditions(std::string_view name, const Schema& list) {
  return name == "conditions" && list.map_keys == std::vector<std::string>{"type"};
}

// The node of what is reordered at this value or below; null when nothing is.
Value reordered(const Value& before, const Value& after, const Schema& schema, bool order_counts);

enum class Part : unsigned char { kRoot, kStatus, kOther };

Value in_map(const Value& before, const Value& after, const Schema& schema, Part part) {
  std::vector<Member> found;
  for (const Member& m : after.members()) {
    const Value* was = before.find(m.key());
    if (!was || was->same(m.value)) continue;
    if (part == Part::kRoot && m.key() == "metadata") continue;
    const Schema& member = member_or_deduced(schema, m.key());
    const bool order_counts = !(part == Part::kStatus && is_conditions(m.key(), member));
    const bool is_status = part == Part::kRoot && m.key() == "status";
    Value node = is_status && was->is_object() && m.value.is_object() && !is_atomic_map(member)
                     ? in_map(*was, m.value, member, Part::kStatus)
                     : reordered(*was, m.value, member, order_counts);
    if (!node.is_null()) found.push_back({field_element(m.key()), std::move(node)});
  }
  return make_node(false, std::move(found));
}

Value in_list(const Value& before, const Value& after, const Schema& schema, bool order_counts) {
  // Several items may have one identity: the first of them is the first of the others, and so on.
  std::unordered_map<std::string, std::vector<std::size_t>> places;
  std::string element;
  for (std::size_t i = before.size(); i-- > 0;)
    if (item_element(schema, before[i], element)) places[element].push_back(i);
  bool moved = false;
  std::size_t last = 0;
  std::vector<Member> found;
  std::map<std::string, Value> inside;
  for (const Value& item : after.items()) {
    if (!item_element(schema, item, element)) continue;
    auto at = places.find(element);
    if (at == places.end() || at->second.empty()) continue;
    const std::size_t place = at->second.back();
    at->second.pop_back();
    moved |= place < last;
    last = place;
    const Value& was = before[place];
    if (was.same(item)) continue;
    if (Value node = reordered(was, item, item_schema(schema), true); !node.is_null())
      inside[element] = std::move(node);
  }
  for (auto& [name, node] : inside) found.push_back({name, std::move(node)});
  return make_node(moved && order_counts, std::move(found));
}

Value reordered(const Value& before, const Value& after, const Schema& schema, bool order_counts) {
  if (before.is_object() && after.is_object() && !is_atomic_map(schema))
    return in_map(before, after, schema, Part::kOther);
  if (before.is_array() && after.is_array() && schema.type == Schema::Type::kArray &&
      !is_atomic_list(schema))
    return in_list(before, after, schema, order_counts);
  return {};
}

}  // namespace

FieldSet reordered_lists(const Value& before, const Value& after, const Schema& schema) {
  if (!before.is_object() || !after.is_object()) return {};
  return FieldSet::from_tree(in_map(before, after, schema, Part::kRoot));
}

}  // namespace cardea::schema

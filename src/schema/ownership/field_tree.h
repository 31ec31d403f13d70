#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"

// Building FieldsV1 trees. Internal to this room.
namespace cardea::schema {

constexpr std::string_view kSelf = ".";

// The tree of a path that ends here. One shared node for all.
const json::Value& leaf_tree();

inline bool is_self(const json::Member& member) {
  return member.key() == kSelf;
}

// The node of a path element from its parts; null when it would hold nothing.
inline json::Value make_node(bool self, std::vector<json::Member> children) {
  if (children.empty()) return self ? leaf_tree() : json::Value();
  if (self) children.insert(children.begin(), json::Member{kSelf, leaf_tree()});
  return json::Value::object(std::move(children));
}

// Whether the path that leads to this node is a member: `{}` or one with ".".
inline bool ends_here(const json::Value& node) {
  auto members = node.members();
  return members.empty() || is_self(members[0]);
}

// The children of a node, without ".", which sorts before every element.
inline std::span<const json::Member> children_of(const json::Value& node) {
  auto members = node.members();
  return !members.empty() && is_self(members[0]) ? members.subspan(1) : members;
}

json::Value union_trees(const json::Value& a, const json::Value& b);

}  // namespace cardea::schema

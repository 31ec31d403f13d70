#include "schema/permissions/changed_fields.h"

#include <utility>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/ownership/field_tree.h"
#include "schema/ownership/list_order.h"

namespace cardea::schema {

using json::Member;
using json::Value;

namespace {

FieldSet meta_fields(std::initializer_list<std::string_view> names) {
  FieldSet out = FieldSet::of({{"f:apiVersion"}, {"f:kind"}, {"f:metadata"}});
  for (std::string_view name : names) out.insert({"f:metadata", field_element(name)});
  return out;
}

const Value& below(const Value& tree, std::string_view element) {
  static const Value kNone;
  const Value* found = tree.is_null() ? nullptr : tree.find(element);
  return found ? *found : kNone;
}

// Whether a path that goes on is a leaf besides: a comparison reports containers along with what is
// in them.
enum class Inner : bool { kDrop, kKeep };

// `server` and `reset` are the nodes of this path in the two sets, null where they have none.
Value leaves_of(const Value& node, const Value& server, const Value& reset, Inner inner) {
  if (!reset.is_null() && ends_here(reset)) return {};
  auto children = children_of(node);
  bool is_leaf = children.empty();
  if (!server.is_null() && ends_here(server) && (is_leaf || children_of(server).empty())) return {};
  if (is_leaf) return leaf_tree();
  const bool self = inner == Inner::kKeep && ends_here(node);
  if (server.is_null() && reset.is_null()) {
    // Nothing below is ignored; most of the tree is taken as it is where no path ends at a
    // container.
    std::vector<Member> out;
    out.reserve(children.size());
    for (const Member& m : children)
      out.push_back({m.name, leaves_of(m.value, server, reset, inner)});
    return make_node(self, std::move(out));
  }
  std::vector<Member> out;
  for (const Member& m : children)
    if (Value kept = leaves_of(m.value, below(server, m.key()), below(reset, m.key()), inner);
        !kept.is_null())
      out.push_back({m.name, std::move(kept)});
  return make_node(self, std::move(out));
}

FieldSet leaves_of(const Value& tree, const IgnoredFields& ignored, Inner inner) {
  std::vector<Member> out;
  for (const Member& m : children_of(tree))
    if (Value kept = leaves_of(m.value, below(ignored.server.tree(), m.key()),
                               below(ignored.reset.tree(), m.key()), inner);
        !kept.is_null())
      out.push_back({m.name, std::move(kept)});
  return FieldSet::from_tree(make_node(false, std::move(out)));
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 253;
  std::string out;
  for (char c : text.substr(0, kMost)) {
    if (c >= ' ' && c <= '~') {
      out += c;
      continue;
    }
    constexpr char kHex[] = "0123456789ABCDEF";
    auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  if (text.size() > kMost) out += "...";
  return out;
}

}  // namespace

const FieldSet& IgnoredFields::of_server(bool is_create) {
  static const FieldSet kCreate = meta_fields({"uid", "resourceVersion", "generation",
                                               "creationTimestamp", "selfLink", "managedFields",
                                               "deletionTimestamp", "deletionGracePeriodSeconds"});
  static const FieldSet kUpdate = kCreate.union_with(
      meta_fields({"name", "generateName", "namespace"}));
  return is_create ? kCreate : kUpdate;
}

FieldSet changed_leaves(const Comparison& c, const IgnoredFields& ignored) {
  Value all = union_trees(union_trees(c.added.tree(), c.modified.tree()), c.removed.tree());
  return all.is_null() ? FieldSet() : leaves_of(all, ignored, Inner::kDrop);
}

FieldSet without_ignored(const FieldSet& fields, const IgnoredFields& ignored) {
  return fields.empty() ? FieldSet() : leaves_of(fields.tree(), ignored, Inner::kKeep);
}

const Value& ChangedFields::after() const {
  if (make_after_) after_ = std::exchange(make_after_, nullptr)();
  return after_;
}

void ChangedFields::look() const {
  if (compared_) return;
  Comparison found = compare(before_.is_null() ? leaf_tree() : before_, after(), *schema_);
  reordered_ = without_ignored(reordered_lists(found, *schema_), ignored_);
  compared_ = changed_leaves(found, ignored_).union_with(without_ignored(counted_, ignored_));
}

const FieldSet& ChangedFields::compared() const {
  look();
  return *compared_;
}

const FieldSet& ChangedFields::reordered() const {
  look();
  return *reordered_;
}

const FieldSet& ChangedFields::leaves() const {
  if (!leaves_) leaves_ = compared().union_with(reordered());
  return *leaves_;
}

std::string field_text(const FieldPath& path) {
  std::string out;
  for (const std::string& element : path) {
    std::string_view rest = std::string_view(element).substr(2);
    switch (element[0]) {
      case 'f':
        out += cat(out.empty() ? "" : ".", shown(rest));
        break;
      case 'k': {
        auto keys = json::parse(rest);
        std::string inside;
        for (const Member& key : keys ? keys->members() : std::span<const Member>())
          inside += cat(inside.empty() ? "" : ",", key.key(), "=", shown(json::print(key.value)));
        out += cat("[", inside, "]");
        break;
      }
      default:
        out += cat("[", shown(rest), "]");
    }
  }
  return out;
}

}  // namespace cardea::schema

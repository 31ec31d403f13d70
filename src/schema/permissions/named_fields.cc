#include "schema/permissions/named_fields.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "json/patch.h"
#include "schema/ownership/field_tree.h"
#include "schema/ownership/shape.h"

namespace cardea::schema {

using json::Member;
using json::Value;

namespace {

constexpr std::string_view kDirective = "$";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
constexpr std::string_view kSetOrder = "$setElementOrder/";

bool is_granular_map(const Schema& schema, const Value& value) {
  return value.is_object() && !value.empty() && shape_of(schema, value) == Shape::kMap &&
         !is_atomic_map(schema);
}

// The path element of an item that says itself which one it is.
bool identifies_itself(const Schema& list, const Value& item, std::string& element) {
  for (const std::string& key : list.map_keys)
    if (!key_value(list, item, key)) return false;
  return item_element(list, item, element);
}

// Values without nulls and directives: nulls remove, and a directive is not a field.
Value plain(const Value& value) {
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items())
      if (!item.has("$patch")) items.push_back(plain(item));
    return Value::array(std::move(items));
  }
  if (!value.is_object()) return value;
  std::vector<Member> kept;
  for (const Member& m : value.members())
    if (!m.value.is_null() && !m.key().starts_with(kDirective))
      kept.push_back({m.name, plain(m.value)});
  return Value::object(std::move(kept));
}

// The set of these paths, in sorted order. A path that ends stands for everything below it.
Value tree_of(std::span<const FieldPath> paths, std::size_t depth) {
  if (paths.front().size() == depth) return leaf_tree();
  std::vector<Member> children;
  for (std::size_t from = 0; from < paths.size();) {
    const std::string& element = paths[from][depth];
    std::size_t to = from + 1;
    while (to < paths.size() && paths[to][depth] == element) ++to;
    children.push_back({element, tree_of(paths.subspan(from, to - from), depth + 1)});
    from = to;
  }
  return Value::object(std::move(children));
}

// The fields of `metadata` that a client can write. The server writes all others, or they never
// change.
constexpr std::string_view kMetadata[] = {"annotations", "finalizers", "labels", "ownerReferences"};

std::vector<FieldPath> all_fields(const Schema& schema) {
  std::vector<FieldPath> out;
  for (const Property& p : schema.properties) out.push_back({field_element(p.name)});
  return out;
}

// An empty path names the whole object.
FieldSet set_of(std::vector<FieldPath> paths, const Schema& schema) {
  if (std::erase(paths, FieldPath()) > 0)
    std::ranges::copy(all_fields(schema), std::back_inserter(paths));
  const FieldPath metadata{field_element("metadata")};
  if (std::erase(paths, metadata) > 0)
    for (std::string_view name : kMetadata) paths.push_back({metadata[0], field_element(name)});
  std::ranges::sort(paths);
  return paths.empty() ? FieldSet() : FieldSet::from_tree(tree_of(paths, 0));
}

// Walks a document that stands beside the object and collects the paths it names.
class Walk {
 public:
  enum class Lists : unsigned char { kReplace, kMergeByStrategy };
  explicit Walk(Lists lists) : lists_(lists) {}

  void visit(const Value& value, const Schema& schema) {
    if (lists_ == Lists::kMergeByStrategy && value.is_array() && has_merge_strategy(schema))
      return visit_items(value, schema);
    if (!is_granular_map(schema, value)) return name_this();
    if (lists_ == Lists::kMergeByStrategy && (value.has("$patch") || value.has(kRetainKeys)))
      name_this();
    for (const Member& m : value.members()) visit_member(m, schema);
  }

  std::vector<FieldPath> out;

 private:
  static bool has_merge_strategy(const Schema& schema) {
    for (std::string_view strategy : split(schema.patch_strategy, ','))
      if (strategy == "merge") return true;
    return false;
  }

  void visit_member(const Member& m, const Schema& schema) {
    std::string_view key = m.key();
    if (lists_ == Lists::kMergeByStrategy && key.starts_with(kDirective)) {
      if (key.starts_with(kSetOrder)) name_member(key.substr(kSetOrder.size()));
      if (key.starts_with(kDeleteFrom)) {
        std::string_view list = key.substr(kDeleteFrom.size());
        path_.push_back(field_element(list));
        visit_items(m.value, member_or_deduced(schema, list));
        path_.pop_back();
      }
      return;
    }
    path_.push_back(field_element(key));
    visit(m.value, member_or_deduced(schema, key));
    path_.pop_back();
  }

  // An item that its value alone does not identify stands for the whole list.
  void visit_items(const Value& list, const Schema& schema) {
    if (list.empty() || is_atomic_list(schema)) return name_this();
    std::string element;
    for (const Value& item : list.items()) {
      if (item["$patch"].as_string() == "replace") {
        name_this();  // the whole list is replaced
        continue;
      }
      if (!identifies_itself(schema, item, element)) {
        name_this();
        continue;
      }
      path_.push_back(element);
      if (item.is_object() && !item.has("$patch"))
        visit(item, item_schema(schema));
      else
        name_this();
      path_.pop_back();
    }
  }

  void name_this() { out.push_back(path_); }
  void name_member(std::string_view name) {
    path_.push_back(field_element(name));
    name_this();
    path_.pop_back();
  }

  Lists lists_;
  FieldPath path_;
};

NamedFields walked(const Value& document, const Schema& schema, Walk::Lists lists) {
  Walk walk(lists);
  const bool names_nothing = document.is_object() && document.empty();
  if (!names_nothing) walk.visit(document, schema);
  return {set_of(std::move(walk.out), schema), plain(document), false};
}

// Where one operation of a JSON patch writes.
void name_target(const Value& operation, const Schema& root, std::vector<FieldPath>& paths,
                 Value& sent) {
  const bool brings_value = operation["op"].as_string() != "remove";
  FieldPath path;
  const Schema* at = &root;
  const std::vector<std::string> tokens = json::pointer_tokens(operation["path"].as_string());
  bool is_placed = brings_value;  // whether all of the path is names
  for (const std::string& token : tokens) {
    if (at->type == Schema::Type::kArray) {
      std::string element;
      if (token == "-" && brings_value && !is_atomic_list(*at) &&
          identifies_itself(*at, operation["value"], element))
        path.push_back(element);
      is_placed = false;
      break;  // a place in a list: which item that is depends on the object
    }
    if (path.size() > 0 && (is_atomic_map(*at) || is_any(*at))) {
      is_placed = false;
      break;  // one field as a whole, or a field without a schema for its parts
    }
    path.push_back(field_element(token));
    at = &member_or_deduced(*at, token);
  }
  paths.push_back(std::move(path));
  if (!is_placed) return;
  Value* place = &sent;
  for (const std::string& name : tokens) {
    if (!place->is_object()) *place = Value::object();
    place = &place->member(name);
  }
  *place = plain(operation["value"]);
}

}  // namespace

NamedFields named_by_update(const Value& object, const Schema& schema) {
  std::vector<FieldPath> paths = all_fields(schema);
  for (const Member& m : object.members())
    if (!schema.property(m.key())) paths.push_back({field_element(m.key())});
  return {set_of(std::move(paths), schema), plain(object), false};
}

NamedFields named_by_json_patch(const Value& patch, const Schema& schema) {
  NamedFields out{{}, Value::object(), false};
  std::vector<FieldPath> paths;
  for (const Value& operation : patch.items()) {
    std::string_view op = operation["op"].as_string();
    // Every other operation reads; an unknown one is refused when the patch is applied.
    if (op != "add" && op != "replace" && op != "remove")
      out.reads_object = true;
    else if (operation["path"].as_string().empty())
      paths.push_back({});
    else
      name_target(operation, schema, paths, out.sent);
  }
  out.fields = set_of(std::move(paths), schema);
  out.is_json_patch = true;
  return out;
}

NamedFields named_by_merge_patch(const Value& patch, const Schema& schema) {
  return walked(patch, schema, Walk::Lists::kReplace);
}

NamedFields named_by_strategic_merge_patch(const Value& patch, const Schema& schema) {
  return walked(patch, schema, Walk::Lists::kMergeByStrategy);
}

NamedFields named_by_apply(const Value& config, const Schema& schema) {
  return {field_set_of(config, schema), plain(config), false};
}

}  // namespace cardea::schema

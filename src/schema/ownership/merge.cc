#include "schema/ownership/merge.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/strings.h"
#include "json/print.h"
#include "schema/ownership/field_tree.h"
#include "schema/ownership/shape.h"

namespace cardea::schema {

using json::Member;
using json::Value;

namespace {

Value merge_maps(const Value& live, const Value& config, const Schema& schema) {
  std::vector<Member> out;
  auto left = live.members(), right = config.members();
  out.reserve(left.size() + right.size());
  std::size_t i = 0, j = 0;
  while (i < left.size() || j < right.size()) {
    int order = i == left.size()    ? 1
                : j == right.size() ? -1
                                    : left[i].key().compare(right[j].key());
    if (order < 0) {
      out.push_back(left[i++]);
    } else if (order > 0) {
      out.push_back(right[j++]);
    } else {
      const Schema& below = member_or_deduced(schema, left[i].key());
      out.push_back({left[i].name, merge(left[i].value, right[j].value, below)});
      ++i, ++j;
    }
  }
  return Value::object(std::move(out));
}

struct Side {
  std::vector<std::string> elements;
  std::unordered_map<std::string, const Value*> items;  // nullptr for what is there more than once

  bool read(const Value& list, const Schema& schema) {
    for (const Value& item : list.items()) {
      std::string element;
      if (!item_element(schema, item, element)) return false;
      if (auto [at, added] = items.try_emplace(element, &item); !added) at->second = nullptr;
      elements.push_back(std::move(element));
    }
    return true;
  }
};

// Walks both lists at once. An item of both is merged where the config has it; live items that the
// config does not know stay before the next item they stood before.
Value merge_lists(const Value& live, const Value& config, const Schema& schema) {
  Side left, right;
  if (!left.read(live, schema) || !right.read(config, schema)) return config;
  std::vector<const std::string*> shared;
  for (const std::string& element : right.elements)
    if (left.items.contains(element)) shared.push_back(&element);
  std::size_t next_shared = 0;
  std::unordered_set<std::string> merged;
  std::vector<Value> out;
  out.reserve(std::max(left.elements.size(), right.elements.size()));

  std::size_t i = 0, j = 0;
  auto take_right = [&] {
    const std::string& element = right.elements[j];
    const Value* theirs = right.items[element] ? right.items[element] : &config.items()[j];
    auto mine = left.items.find(element);
    bool both = mine != left.items.end() && mine->second;
    out.push_back(both ? merge(*mine->second, *theirs, item_schema(schema)) : *theirs);
    merged.insert(element);
    if (next_shared < shared.size() && *shared[next_shared] == element) ++next_shared;
    ++j;
  };
  while (i < left.elements.size() || j < right.elements.size()) {
    if (i < left.elements.size() && j < right.elements.size()) {
      if (left.elements[i] == right.elements[j]) {
        take_right();
        ++i;
        continue;
      }
      bool another = next_shared < shared.size() && *shared[next_shared] != left.elements[i];
      if (another && right.items.contains(left.elements[i])) {  // its turn comes with the config's
                                                                // order
        ++i;
        continue;
      }
    }
    if (i < left.elements.size()) {
      if (!right.items.contains(left.elements[i])) {
        out.push_back(live.items()[i++]);
        continue;
      }
      if (merged.contains(left.elements[i])) ++i;
    }
    if (j < right.elements.size()) take_right();
  }
  return Value::array(std::move(out));
}

Value prune(const Value& value, const Value& paths, const Schema& schema);

// What is left of a map that lost everything. Kubernetes writes null: a built-in struct goes with
// its last field that way, but a custom resource is refused then, for the schema allows no null.
// There an empty map says as much, and is valid.
Value emptied(const Schema& schema) {
  return is_any(schema) || !schema.type_name.empty() ? Value() : Value::object();
}

Value prune_map(const Value& map, const Value& paths, const Schema& schema) {
  std::vector<Member> out;
  for (const Member& member : map.members()) {
    const Value* node = paths.find(field_element(member.key()));
    if (node && ends_here(*node)) continue;
    Value kept = node ? prune(member.value, *node, member_or_deduced(schema, member.key()))
                      : member.value;
    out.push_back({member.name, std::move(kept)});
  }
  return out.empty() ? emptied(schema) : Value::object(std::move(out));
}

Value prune_list(const Value& list, const Value& paths, const Schema& schema) {
  std::vector<Value> out;
  std::string element;
  for (const Value& item : list.items()) {
    const Value* node = item_element(schema, item, element) ? paths.find(element) : nullptr;
    if (node && ends_here(*node)) continue;
    out.push_back(node ? prune(item, *node, item_schema(schema)) : item);
  }
  return Value::array(std::move(out));
}

Value prune(const Value& value, const Value& paths, const Schema& schema) {
  switch (shape_of(schema, value)) {
    case Shape::kMap:
      return value.empty() || is_atomic_map(schema) ? value : prune_map(value, paths, schema);
    case Shape::kList:
      return value.empty() || is_atomic_list(schema) ? value : prune_list(value, paths, schema);
    case Shape::kScalar:
      break;
  }
  return value;
}

class TypeCheck {
 public:
  void check(const Value& value, const Schema& schema) {
    if (value.is_null()) return;
    switch (shape_of(schema, value)) {
      case Shape::kMap:
        return check_map(value, schema);
      case Shape::kList:
        return check_list(value, schema);
      case Shape::kScalar:
        return check_scalar(value, schema);
    }
  }

  std::vector<std::string> take() { return std::move(errors_); }

 private:
  void error(std::string message) {
    errors_.push_back(path_.empty() ? std::move(message) : cat(path_text(path_), ": ", message));
  }

  void expected(std::string_view what, const Value& found) {
    error(cat("expected ", what, ", got ", json::print(found)));
  }

  void check_map(const Value& value, const Schema& schema) {
    if (!value.is_object()) return expected("map", value);
    for (const Member& member : value.members()) {
      path_.push_back(field_element(member.key()));
      const Schema* below = member_schema(schema, member.key());
      bool type_meta = path_.size() == 1 &&
                       (member.key() == "apiVersion" || member.key() == "kind");
      if (below)
        check(member.value, *below);
      else if (!type_meta && !is_atomic_map(schema))
        error("field not declared in schema");
      path_.pop_back();
    }
  }

  void check_list(const Value& value, const Schema& schema) {
    if (!value.is_array()) return expected("list", value);
    std::unordered_set<std::string> seen;
    std::unordered_set<std::string> reported;
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::string element = index_element(i);
      if (!is_atomic_list(schema)) {
        if (!item_element(schema, value[i], element)) {
          error(cat("element ", i, ": ", flaw(value[i], schema)));
          continue;
        }
        if (!seen.insert(element).second) {
          if (reported.insert(element).second)
            error(cat("duplicate entries for key ", path_text({element})));
          continue;
        }
      }
      path_.push_back(std::move(element));
      check(value[i], item_schema(schema));
      path_.pop_back();
    }
  }

  static std::string_view flaw(const Value& item, const Schema& schema) {
    if (schema.list_type == Schema::ListType::kMap)
      return item.is_null() ? "associative list with keys may not have a null element"
                            : "associative list with keys may not have non-map elements";
    if (item.is_null())
      return "associative list without keys has an element that's an explicit null";
    return item.is_array() ? "not supported: associative list with lists as elements"
                           : "associative list without keys has an element that's a map type";
  }

  void check_scalar(const Value& value, const Schema& schema) {
    switch (schema.type) {
      case Schema::Type::kString:
        if (!value.is_string()) expected("string", value);
        break;
      case Schema::Type::kBoolean:
        if (!value.is_bool()) expected("boolean", value);
        break;
      case Schema::Type::kInteger:
      case Schema::Type::kNumber:
        if (!value.is_number()) expected("numeric (int or float)", value);
        break;
      default:
        if (value.is_array() || value.is_object()) expected("any scalar", value);
    }
  }

  FieldPath path_;
  std::vector<std::string> errors_;
};

}  // namespace

Value merge(const Value& live, const Value& config, const Schema& schema) {
  switch (shape_of(schema, config)) {
    case Shape::kMap:
      if (is_atomic_map(schema) || live.members().empty()) return config;
      return merge_maps(live, config, schema);
    case Shape::kList:
      if (is_atomic_list(schema) || live.items().empty()) return config;
      return merge_lists(live, config, schema);
    case Shape::kScalar:
      break;
  }
  return config;
}

Value without(const Value& value, const FieldSet& paths, const Schema& schema) {
  if (paths.empty()) return value;
  Value out = prune(value, paths.tree(), schema);
  return out.is_null() ? Value::object() : out;
}

std::vector<std::string> type_errors(const Value& config, const Schema& schema) {
  TypeCheck check;
  check.check(config, schema);
  return check.take();
}

}  // namespace cardea::schema

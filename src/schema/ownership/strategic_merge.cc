#include "schema/ownership/strategic_merge.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/strings.h"
#include "json/edited_object.h"
#include "json/members.h"
#include "json/print.h"

namespace cardea::schema {
namespace {

using json::EditedObject;
using json::Member;
using json::Value;

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList";
constexpr std::string_view kSetOrder = "$setElementOrder";

const Schema kUnknown;

const Schema& child(const Schema& schema, std::string_view key) {
  if (const Property* property = schema.property(key)) return *property->schema;
  return schema.additional ? *schema.additional : kUnknown;
}

bool has_strategy(const Schema& schema, std::string_view wanted) {
  for (std::string_view strategy : split(schema.patch_strategy, ','))
    if (strategy == wanted) return true;
  return false;
}

// As Go's %v prints a value, since Kubernetes' messages show it so.
std::string go_text(const Value& value) {
  std::string out;
  if (value.is_object()) {
    out = "map[";
    for (const Member& member : value.members()) {
      if (out.size() > 4) out += ' ';
      out += cat(member.key(), ":", go_text(member.value));
    }
    return out + "]";
  }
  if (value.is_array()) {
    out = "[";
    for (const Value& item : value.items()) {
      if (out.size() > 1) out += ' ';
      out += go_text(item);
    }
    return out + "]";
  }
  if (value.is_null()) return "<nil>";
  return value.is_string() ? std::string(value.as_string()) : json::print(value);
}

std::unexpected<Error> refuse(std::string message) {
  return fail(bad_request(std::move(message)));
}

std::unexpected<Error> no_merge_key(const Value& item, std::string_view key) {
  return refuse(cat("map: ", go_text(item), " does not contain declared merge key: ", key));
}

std::unexpected<Error> bad_type(const Value& directive, const Value& patch) {
  return refuse(cat("unknown patch type: ", go_text(directive), " in map: ", go_text(patch)));
}

Value without_nulls(const Value& value) {
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(without_nulls(item));
    return Value::array(std::move(items));
  }
  if (!value.is_object()) return value;
  std::vector<Member> members;
  for (const Member& member : value.members())
    if (!member.value.is_null()) members.push_back({member.name, without_nulls(member.value)});
  return Value::object(std::move(members));
}

// A part of the patch without a counterpart in the document is used as it is, except parts with
// `$patch`: those are left out completely, even with "replace".
bool drop_directives(const Value& value, Value& out) {
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items())
      if (Value kept; drop_directives(item, kept)) items.push_back(std::move(kept));
    out = Value::array(std::move(items));
    return true;
  }
  if (!value.is_object()) {
    out = value;
    return true;
  }
  if (value.has(kPatch)) return false;
  std::vector<Member> members;
  for (const Member& member : value.members())
    if (Value kept; drop_directives(member.value, kept))
      members.push_back({member.name, std::move(kept)});
  out = Value::object(std::move(members));
  return true;
}

void take_unmatched(EditedObject& document, std::string_view key, const Value& patch) {
  Value kept;
  if (drop_directives(without_nulls(patch), kept))
    document.set(key, std::move(kept));
  else
    document.erase(key);
}

Result<std::string_view> directed_field(std::string_view key, std::string_view directive) {
  if (key.size() > directive.size() && key[directive.size()] == '/')
    return key.substr(directive.size() + 1);
  if (directive == kDeleteFrom) return refuse("invalid patch format of primitive list");
  return refuse("invalid patch format of setElementOrder list");
}

// Items of a list by what identifies them: the merge key's value, or the item itself when there is
// no key.
class Identities {
 public:
  explicit Identities(std::string_view key) : key_(key) {}

  // False when an item has no merge key.
  bool of(const Value& item, std::string& identity) const {
    const Value* value = key_.empty() ? &item : item.find(key_);
    if (!value) return false;
    identity = json::print(*value);
    return true;
  }

  Result<std::unordered_map<std::string, std::size_t>> index(
      const std::vector<Value>& items) const {
    std::unordered_map<std::string, std::size_t> out;
    std::string identity;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!of(items[i], identity)) return no_merge_key(items[i], key_);
      out.try_emplace(identity, i);
    }
    return out;
  }

 private:
  std::string_view key_;
};

std::vector<Value> to_vector(const Value& list) {
  return {list.items().begin(), list.items().end()};
}

// Orders a merged list: items the patch names in `patch_order`, the others as the server had them,
// and the two interleaved as far as the server's order says how.
Result<std::vector<Value>> order(const std::vector<Value>& merged,
                                 const std::vector<Value>& patch_order,
                                 const std::vector<Value>& server_order, std::string_view key) {
  Identities identities(key);
  auto patch_index = identities.index(patch_order);
  if (!patch_index) return fail(patch_index.error());
  auto server_index = identities.index(server_order);
  if (!server_index) return fail(server_index.error());

  struct Placed {
    const Value* item;
    std::size_t rank;    // in the order of its own side
    std::size_t server;  // npos when the server had none
  };
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<Placed> named, others;
  std::string identity;
  for (const Value& item : merged) {
    if (!identities.of(item, identity)) return no_merge_key(item, key);
    auto server = server_index->find(identity);
    std::size_t at = server == server_index->end() ? kNone : server->second;
    if (auto patched = patch_index->find(identity); patched != patch_index->end())
      named.push_back({&item, patched->second, at});
    else
      others.push_back({&item, at, at});
  }
  auto by_rank = [](const Placed& a, const Placed& b) { return a.rank < b.rank; };
  std::stable_sort(named.begin(), named.end(), by_rank);
  std::stable_sort(others.begin(), others.end(), by_rank);

  std::vector<Value> out;
  out.reserve(merged.size());
  std::size_t i = 0, j = 0;
  while (i < others.size() || j < named.size()) {
    bool other = j == named.size() ||
                 (i < others.size() && others[i].server != kNone && named[j].server != kNone &&
                  others[i].server < named[j].server);
    out.push_back(*(other ? others[i++] : named[j++]).item);
  }
  return out;
}

Result<Value> merge_object(const Value& document, Value patch, const Schema& schema);

Result<std::vector<Value>> merge_items(std::vector<Value> document, const std::vector<Value>& patch,
                                       const Schema& list) {
  const std::string& key = list.patch_merge_key;
  std::vector<Value> named;
  std::unordered_set<std::string> deleted;
  bool replace = false;
  for (const Value& item : patch) {
    const Value* directive = item.find(kPatch);
    if (!directive) {
      named.push_back(item);
    } else if (directive->as_string() == "delete") {
      const Value* value = item.find(key);
      if (!value) return no_merge_key(item, key);
      deleted.insert(json::print(*value));
    } else if (directive->as_string() == "replace") {
      replace = true;
    } else if (directive->as_string() == "merge") {
      return refuse("merging lists cannot yet be specified in the patch");
    } else {
      return bad_type(*directive, item);
    }
  }
  if (replace) return named;
  Identities identities(key);
  std::string identity;
  std::erase_if(document, [&](const Value& item) {
    return !deleted.empty() && identities.of(item, identity) && deleted.contains(identity);
  });
  auto index = identities.index(document);
  if (!index) return fail(index.error());
  std::vector<Value> merged = document;
  const Schema& element = list.items ? *list.items : kUnknown;
  for (const Value& item : named) {
    if (!identities.of(item, identity)) return no_merge_key(item, key);
    auto [at, added] = index->try_emplace(identity, merged.size());
    if (added) {
      merged.push_back(item);
      continue;
    }
    auto both = merge_object(merged[at->second], item, element);
    if (!both) return fail(both.error());
    merged[at->second] = std::move(*both);
  }
  return order(merged, named, document, key);
}

Result<std::vector<Value>> merge_list(const Value& document, const Value& patch, const Schema& list,
                                      bool deletes) {
  if (!deletes && !has_strategy(list, "merge")) return to_vector(patch);
  std::vector<Value> original = to_vector(document), patched = to_vector(patch);
  if (original.empty() && patched.empty()) return original;
  auto is_object = [](const Value& v) { return v.is_object(); };
  auto is_array = [](const Value& v) { return v.is_array(); };
  if (std::ranges::any_of(original, is_array) || std::ranges::any_of(patched, is_array))
    return refuse("lists of lists are not supported");
  bool objects = std::ranges::all_of(original, is_object) &&
                 std::ranges::all_of(patched, is_object);
  if (!objects &&
      (std::ranges::any_of(original, is_object) || std::ranges::any_of(patched, is_object)))
    return refuse("list element types are not identical");
  if (objects) {
    if (list.patch_merge_key.empty()) return refuse("cannot merge lists without merge key");
    return merge_items(std::move(original), patched, list);
  }
  std::unordered_set<std::string> seen;
  std::vector<Value> merged;
  if (deletes) {
    for (const Value& item : patched) seen.insert(json::print(item));
    for (const Value& item : original)
      if (!seen.contains(json::print(item))) merged.push_back(item);
    return merged;
  }
  for (const auto* side : {&original, &patched})
    for (const Value& item : *side)
      if (seen.insert(json::print(item)).second) merged.push_back(item);
  return order(merged, patched, original, "");
}

// The server's order as $setElementOrder sees it after a merge: Kubernetes deletes and appends in
// the same memory, so items that are new take the places that deleted ones left at the end.
// `kubectl apply` shows it whenever it replaces one item by another.
std::vector<Value> order_after_merge(const std::vector<Value>& before, const Value& patch,
                                     std::string_view key) {
  Identities identities(key);
  std::unordered_set<std::string> deleted, present;
  std::string identity;
  for (const Value& item : patch.items())
    if (item["$patch"].as_string() == "delete" && identities.of(item, identity))
      deleted.insert(identity);
  std::vector<Value> out;
  for (const Value& item : before) {
    if (!identities.of(item, identity) || deleted.contains(identity)) continue;
    present.insert(identity);
    out.push_back(item);
  }
  for (const Value& item : patch.items())
    if (out.size() < before.size() && !item.has(kPatch) && identities.of(item, identity) &&
        present.insert(identity).second)
      out.push_back(item);
  return out;
}

// INVARIANT of $setElementOrder: what the patch list names comes in the same order in the
// directive's list.
Result<bool> check_order(const Value& patch_list, const std::vector<Value>& wanted,
                         const Schema& list) {
  if (wanted.empty()) return true;
  Identities identities(list.patch_merge_key);
  std::string a, b;
  std::size_t next = 0;
  for (const Value& item : patch_list.items()) {
    if (item.has(kPatch)) continue;
    if (!identities.of(item, a)) return no_merge_key(item, list.patch_merge_key);
    bool found = false;
    while (next < wanted.size() && !found) {
      if (!identities.of(wanted[next], b)) return no_merge_key(wanted[next], list.patch_merge_key);
      found = a == b;
      ++next;
    }
    if (!found)
      return refuse(cat("the order in patch list:\n", go_text(patch_list), "\n doesn't match ",
                        kSetOrder, " list:\n", go_text(Value::array(wanted))));
  }
  return true;
}

Result<bool> apply_orders(EditedObject& document, const Value& directives, EditedObject& patch,
                          const Schema& schema) {
  for (const Member& member : directives.members()) {
    if (!member.key().starts_with(kSetOrder)) continue;
    patch.erase(member.key());
    auto field = directed_field(member.key(), kSetOrder);
    if (!field) return fail(field.error());
    if (!member.value.is_array()) return refuse("invalid patch format of setElementOrder list");
    const Schema& list = child(schema, *field);
    const Value* original = document.find(*field);
    const Value* patched = patch.find(*field);
    if ((original && !original->is_array()) || (patched && !patched->is_array()))
      return refuse("invalid patch format of setElementOrder list");
    if (!original && !patched) continue;
    std::vector<Value> wanted = to_vector(member.value);
    if (auto checked = check_order(patched ? *patched : Value(), wanted, list); !checked)
      return checked;

    std::vector<Value> before = original ? to_vector(*original) : std::vector<Value>();
    std::vector<Value> merged = before;
    if (!original) {
      Value kept;
      drop_directives(*patched, kept);
      merged = to_vector(kept);
    } else if (patched) {
      auto both = merge_list(*original, *patched, list, false);
      if (!both) return fail(both.error());
      merged = std::move(*both);
      if (!list.patch_merge_key.empty())
        before = order_after_merge(before, *patched, list.patch_merge_key);
    }
    auto ordered = order(merged, wanted, before, list.patch_merge_key);
    if (!ordered) return fail(ordered.error());
    document.set(*field, Value::array(std::move(*ordered)));
    patch.erase(*field);
  }
  return true;
}

Result<bool> apply_retain_keys(Value& document, Value& patch) {
  const Value* found = patch.find(kRetainKeys);
  if (!found) return true;
  const Value list = *found;
  patch.erase(kRetainKeys);
  if (!list.is_array()) return refuse("invalid patch format of retainKeys");
  std::unordered_set<std::string_view> keys;
  for (const Value& key : list.items()) keys.insert(key.as_string());
  for (const Member& member : patch.members()) {
    bool directive = member.key().starts_with(kDeleteFrom) || member.key().starts_with(kSetOrder);
    if (!member.value.is_null() && !directive && !keys.contains(member.key()))
      return refuse("invalid patch format of retainKeys");
  }
  json::erase_members(document, [&](const Member& member) { return !keys.contains(member.key()); });
  return true;
}

Result<bool> merge_member(EditedObject& document, std::string_view key, const Value& patch,
                          const Schema& schema) {
  bool deletes = key.starts_with(kDeleteFrom);
  if (deletes) {
    auto field = directed_field(key, kDeleteFrom);
    if (!field) return fail(field.error());
    key = *field;
  }
  if (patch.is_null()) {
    document.erase(key);
    return true;
  }
  const Value* found = document.find(key);
  bool both_objects = found && found->is_object() && patch.is_object();
  bool both_lists = found && found->is_array() && patch.is_array();
  if (!both_objects && !both_lists) {
    if (!deletes) take_unmatched(document, key, patch);
    return true;
  }
  const Schema& field = child(schema, key);
  const Value original = *found;
  if (both_lists) {
    auto merged = merge_list(original, patch, field, deletes);
    if (!merged) return fail(merged.error());
    document.set(key, Value::array(std::move(*merged)));
  } else if (has_strategy(field, "replace")) {
    document.set(key, patch);
  } else {
    auto merged = merge_object(original, patch, field);
    if (!merged) return fail(merged.error());
    document.set(key, std::move(*merged));
  }
  return true;
}

Result<Value> merge_object(const Value& document, Value patch, const Schema& schema) {
  if (const Value* directive = patch.find(kPatch)) {
    if (directive->as_string() == "delete") return Value::object();
    if (directive->as_string() != "replace") return bad_type(*directive, patch);
    patch.erase(kPatch);
    return patch;
  }
  Value out = document.is_object() ? document : Value::object();
  if (auto done = apply_retain_keys(out, patch); !done) return fail(done.error());
  EditedObject merged(std::move(out)), rest(patch);
  if (auto done = apply_orders(merged, patch, rest, schema); !done) return fail(done.error());
  const Value left = rest.take();
  for (const Member& member : left.members())
    if (auto done = merge_member(merged, member.key(), member.value, schema); !done)
      return fail(done.error());
  return merged.take();
}

}  // namespace

Result<Value> apply_strategic_merge_patch(const Value& document, const Value& patch,
                                          const Schema& schema) {
  if (patch.is_null()) return document;
  if (!patch.is_object())
    return refuse(cat("json: cannot unmarshal ",
                      patch.is_array()    ? "array"
                      : patch.is_string() ? "string"
                      : patch.is_bool()   ? "bool"
                                          : "number",
                      " into Go value of type map[string]interface {}"));
  return merge_object(document, patch, schema);
}

}  // namespace cardea::schema

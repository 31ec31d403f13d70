// rooms: json schema
// Two documents, cut apart at the first zero byte, as an object before and after a change. What the
// change takes must not depend on the order of members, every verb must be spelled so that it is
// its own, and undoing a change takes what the change took. A document that is an entry of a
// PermissionMap adds what it says or nothing, and replaces no permission.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "json/parse.h"
#include "schema/custom/structural.h"
#include "schema/permissions/added_permissions.h"
#include "schema/permissions/required_permissions.h"

namespace {

using cardea::json::Value;
using namespace cardea::schema;

// Every source of a parameter, under names a fuzzer finds.
constexpr std::string_view kShape = R"({"type":"object","properties":{
  "a":{"type":"object","x-kubernetes-permission-verb":"specification",
    "properties":{"x":{"type":"string","x-kubernetes-permission-verb":"x.y/x",
    "x-kubernetes-permission-excluded":true}}},
  "m":{"type":"object","additionalProperties":{"type":"string",
    "x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameter":"mapKey",
    "x-kubernetes-permission-parameter-treatment":"slash-delimited-prefix"}},
  "s":{"type":"array","x-kubernetes-list-type":"set",
    "items":{"type":"string","x-kubernetes-permission-verb":"finalizer",
    "x-kubernetes-permission-parameter":"setValue"}},
  "l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],
    "items":{"type":"object","x-kubernetes-permission-verb":"condition",
    "x-kubernetes-permission-parameter":"listKey:n",
    "properties":{"n":{"type":"string"},"v":{"type":"string","x-kubernetes-permission-verb":"x.y/v",
      "x-kubernetes-permission-excluded":true}}}},
  "v":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],
    "items":{"type":"object","x-kubernetes-permission-verb":"x.y/k",
    "x-kubernetes-permission-parameter":"value:k","properties":{"n":{"type":"string"},
    "k":{"type":"string"}}}},
  "t":{"type":"object","additionalProperties":{"type":"object","properties":{"q":{"type":"string",
    "x-kubernetes-permission-verb":"x.y/q","x-kubernetes-permission-parameter":"mapKey@t[*]"},
    "r":{"type":"string"}}}},
  "p":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}})";

struct Shapes {
  SchemaSet set;
  const Schema* root = build_structural(set, *cardea::json::parse(kShape), nullptr);
  std::shared_ptr<const PermissionTree> tree = PermissionTree::of_custom(*root);
};

void check(bool ok) {
  if (!ok) std::abort();
}

bool is_spelled(std::string_view verb) {
  check(verb.starts_with(kGranularPrefix));
  std::string_view rest = verb.substr(kGranularPrefix.size());
  auto open = rest.find('(');
  if (open == rest.npos) return rest.find_first_of(")%,\"\\ ") == rest.npos;
  std::string_view parameter = rest.substr(open + 1);
  if (!parameter.ends_with(')')) return false;
  parameter.remove_suffix(1);
  auto decoded = cardea::percent_decode(parameter);
  return parameter.size() <= kLongestParameter && decoded &&
         encoded_parameter(*decoded) == parameter;
}

std::vector<std::string> verbs_of(const Value& before, const Value& after, const Shapes& shapes) {
  ChangedFields changes(before, after, *shapes.root, {});
  Demands demands = demands_of(changes, *shapes.tree, {});
  for (const std::string& verb : demands.verbs) check(is_spelled(verb));
  // Only fields without a name have no text.
  for (const Demand& d : demands.fields)
    check(!field_text(d.field).empty() ||
          std::ranges::all_of(d.field, [](const auto& step) { return step == "f:"; }));
  std::ranges::sort(demands.verbs);
  return demands.verbs;
}

void add(const Value& entry, const Shapes& shapes) {
  auto added = added_permission(entry, "m");
  check(added.has_value() == check_added(entry, "e").empty());
  if (!added) return;
  const bool fits = !misfit(*added, *shapes.root, *shapes.tree);
  const auto steps = field_steps(added->field);
  auto tree = PermissionTree::of_custom(*shapes.root, {&*added, 1});
  const Permission* now = tree->at(steps);
  check(fits ? now && now->map == "m" : !now || now->map.empty());
  for (const auto& listed : shapes.tree->list())
    for (const auto& guarded : listed.fields)
      check(tree->at(field_steps(guarded.field))->name == listed.permission->name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Shapes shapes;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto cut = text.find('\0');
  if (cut == text.npos) return 0;
  auto before = cardea::json::parse(text.substr(0, cut)),
       after = cardea::json::parse(text.substr(cut + 1));
  if (!before || !after || !before->is_object() || !after->is_object()) return 0;
  add(*before, shapes);
  check(verbs_of(*before, *after, shapes) == verbs_of(*after, *before, shapes));
  check(verbs_of(*before, *before, shapes).empty());
  return 0;
}

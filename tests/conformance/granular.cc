// Field permissions by the vectors of the design, without a server: the changed fields, the
// permissions on them, the questions.
#include <algorithm>
#include <cstdio>
#include <set>

#include "authz/fields/field_judge.h"
#include "base/strings.h"
#include "conformance/conformance.h"
#include "conformance/smd_types.h"
#include "json/print.h"

namespace cardea::conformance {
namespace {

using authz::fields::Answers;
using authz::fields::FieldJudge;
using authz::fields::Marker;
using json::Member;
using json::Value;
using schema::FieldPath;
using schema::FieldSet;
using schema::Permission;

Permission read_permission(const Value& perm) {
  // The same words as in the tags of a definition.
  Value tags = Value::object({{"x-kubernetes-permission-verb", perm["verb"]}});
  if (perm.has("parameterFrom"))
    tags.set("x-kubernetes-permission-parameter", perm["parameterFrom"]);
  if (perm.has("treatment"))
    tags.set("x-kubernetes-permission-parameter-treatment", perm["treatment"]);
  if (perm.has("cel")) tags.set("x-kubernetes-permission-parameter-cel", perm["cel"]);
  if (perm["excluded"].as_bool()) tags.set("x-kubernetes-permission-excluded", true);
  return *schema::permission_tag(tags);
}

void read_tree(const Value& node, std::vector<std::string>& path, schema::PermissionTree& tree) {
  if (node.has("perm")) tree.add(path, read_permission(node["perm"]));
  auto below = [&](std::string_view step, const Value& next) {
    path.emplace_back(step);
    read_tree(next, path, tree);
    path.pop_back();
  };
  for (const Member& m : node["fields"].members()) below(m.key(), m.value);
  if (node.has("any")) below("*", node["any"]);
}

FieldSet read_paths(const Value& paths) {
  FieldSet out;
  for (const Value& path : paths.items()) {
    FieldPath elements;
    for (const Value& name : path.items())
      elements.push_back(schema::field_element(name.as_string()));
    out.insert(elements);
  }
  return out;
}

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items()) out.emplace_back(item.as_string());
  return out;
}

struct World {
  World(const Value& document)
      : types(document["schema"]["types"]),
        root(types.find(document["schema"]["types"][0]["name"].as_string())) {
    std::vector<std::string> path;
    read_tree(document["permissionTree"], path, tree);
    tree.finish();
    ignored = read_paths(document["ignoredFields"]);
    ignored_on_create = read_paths(document["ignoredFieldsOnCreate"]);
  }
  Types types;
  const schema::Schema* root;
  schema::PermissionTree tree;
  FieldSet ignored, ignored_on_create;
};

// The outcome of one request.
struct Outcome {
  bool allowed = false;
  std::string marker, denied_field, denied_verb;
  std::vector<std::string> checks;
};

Outcome run(const Value& vector, const World& world, const schema::ChangedFields& changes) {
  std::vector<std::string> grants = texts(vector["grants"]);
  schema::ExcludedVerbs uncovered;
  for (const Value& verb : vector["uncovered"].items()) uncovered.add(verb.as_string());
  Outcome out;
  auto ask = [&](const std::string& verb) {
    out.checks.push_back(verb);
    return std::ranges::find(grants, verb) != grants.end() ||
           std::ranges::find(grants, "*") != grants.end();
  };
  std::string verb(vector["verb"].as_string());
  Marker marker = Marker::kRegular;
  if (!ask(verb)) {
    out.denied_verb = verb;
    if (!ask(std::string(schema::kGranularVerb))) return out;
    marker = Marker::kGranular;
  }
  out.marker = marker == Marker::kGranular ? "granular" : "regular";
  out.denied_verb.clear();
  schema::Demands demands = schema::demands_of(changes, world.tree, uncovered);
  Answers answers;
  FieldJudge judge(demands, marker, answers);
  while (const std::string* wanted = judge.next()) judge.answer(ask(*wanted));
  out.allowed = !judge.refusal();
  if (out.allowed) return out;
  out.denied_field = judge.refusal()->field;
  out.denied_verb = judge.refusal()->verb;
  return out;
}

class Comparer {
 public:
  Comparer(std::string name) : name_(std::move(name)) {}
  void same(const char* what, const Value& expected, const Value& found) {
    if (expected == found) return;
    std::printf("granular: %s: %s: expected %s, found %s\n", name_.c_str(), what,
                json::print(expected).c_str(), json::print(found).c_str());
    ok = false;
  }
  bool ok = true;

 private:
  std::string name_;
};

Value list_of(const std::vector<std::string>& list) {
  std::vector<Value> items;
  for (const std::string& text : list) items.emplace_back(text);
  return Value::array(std::move(items));
}

bool check(const Value& vector, const World& world) {
  bool is_create = vector["oldObject"].is_null();
  schema::ChangedFields changes(
      vector["oldObject"], vector["object"], *world.root,
      {is_create ? world.ignored_on_create : world.ignored, read_paths(vector["resetFields"])});
  Comparer compare(std::string(vector["name"].as_string()));
  std::vector<std::string> changed;
  Value chains = Value::object();
  changes.leaves().for_each([&](const FieldPath& path) {
    changed.push_back(schema::field_text(path));
    schema::Demands one = schema::demands_of(FieldSet::of({path}), changes, world.tree, {});
    chains.set(changed.back(),
               one.fields.empty() ? Value::array() : list_of(one.chain_of(one.fields[0])));
  });
  std::ranges::sort(changed);
  std::vector<std::string> expected = texts(vector["changed"]);
  std::ranges::sort(expected);
  compare.same("changed", list_of(expected), list_of(changed));
  if (vector.has("chains")) compare.same("chains", vector["chains"], chains);
  Outcome found = run(vector, world, changes);
  const Value& expect = vector["expect"];
  compare.same("allowed", expect["allowed"], found.allowed);
  if (!expect["marker"].is_null()) compare.same("marker", expect["marker"], found.marker);
  if (expect.has("checks")) compare.same("checks", expect["checks"], list_of(found.checks));
  if (expect.has("deniedField"))
    compare.same("deniedField", expect["deniedField"], found.denied_field);
  // If no permission guards the field, or too many questions would be needed, the refusal names the
  // verb of the request.
  if (const Value& verb = expect["deniedVerb"]; !verb.is_null())
    compare.same(
        "deniedVerb", verb,
        found.denied_verb.empty() ? std::string(vector["verb"].as_string()) : found.denied_verb);
  return compare.ok;
}

}  // namespace

Counts run_granular(const std::string& path) {
  Counts result;
  const Value document = read(path);
  const World world(document);
  for (const Value& vector : document["vectors"].items()) {
    if (!world.root || !world.types.complete()) {
      std::printf("granular: %s: skipped, its schema has no counterpart here\n",
                  std::string(vector["name"].as_string()).c_str());
      ++result.skipped;
      continue;
    }
    result.check(check(vector, world));
  }
  return result;
}

}  // namespace cardea::conformance

#include <cstdio>

#include "conformance/conformance.h"
#include "conformance/smd_types.h"
#include "json/print.h"
#include "schema/ownership/compare.h"

namespace cardea::conformance {
namespace {

using json::Value;
using schema::FieldPath;
using schema::FieldSet;
using schema::Schema;

FieldSet read_set(const Value& paths) {
  FieldSet set;
  for (const Value& path : paths.items()) {
    FieldPath elements;
    for (const Value& element : path.items()) {
      if (const Value* name = element.find("f"))
        elements.push_back(schema::field_element(name->as_string()));
      if (const Value* key = element.find("k")) elements.push_back("k:" + json::print(*key));
      if (const Value* value = element.find("v")) elements.push_back(schema::value_element(*value));
      if (const Value* index = element.find("i"))
        elements.push_back(schema::index_element(static_cast<std::size_t>(index->as_int())));
    }
    set.insert(elements);
  }
  return set;
}

bool differs(const std::string& name, const char* what, const FieldSet& expected,
             const FieldSet& found) {
  if (expected == found) return false;
  std::printf("smd-compare: %s: %s: expected %s, found %s\n", name.c_str(), what,
              json::print(expected.fields_v1()).c_str(), json::print(found.fields_v1()).c_str());
  return true;
}

void check(const std::string& name, const Value& before, const Value& after, const FieldSet& added,
           const FieldSet& modified, const FieldSet& removed, const Schema& schema,
           Counts& result) {
  auto found = schema::compare(before, after, schema);
  bool bad = differs(name, "added", added, found.added);
  bad |= differs(name, "modified", modified, found.modified);
  bad |= differs(name, "removed", removed, found.removed);
  result.check(!bad);
}

}  // namespace

Counts run_smd_compare(const std::string& path) {
  Counts result;
  const Value document = read(path);
  for (const Value& test : document["cases"].items()) {
    Types types(test["schema"]["types"]);
    const Schema* root = types.find(test["root"].as_string());
    int number = 0;
    for (const Value& quint : test["quints"].items()) {
      std::string name = std::string(test["name"].as_string()) + " #" + std::to_string(number++);
      if (!root || !types.complete()) {
        std::printf("smd-compare: %s: skipped, its schema has no counterpart here\n", name.c_str());
        ++result.skipped;
        continue;
      }
      FieldSet added = read_set(quint["added"]), modified = read_set(quint["modified"]),
               removed = read_set(quint["removed"]);
      check(name, quint["lhs"], quint["rhs"], added, modified, removed, *root, result);
      check(name + " reversed", quint["rhs"], quint["lhs"], removed, modified, added, *root,
            result);
    }
  }
  return result;
}

}  // namespace cardea::conformance

// Compares field permissions with a second implementation, written from the description: it
// flattens objects into paths and looks at every changed path separately. It shares no code with
// the implementation under test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "authz/fields/field_judge.h"
#include "base/strings.h"
#include "json/print.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::authz::fields {
namespace {

using json::Member;
using json::Value;
using schema::FieldPath;
using schema::Permission;
using schema::Schema;

struct Tag {
  std::string name, source, treatment;
  bool excluded = false;
};

class World {
 public:
  World(std::mt19937& random, bool has_duplicates)
      : random_(random), has_duplicates_(has_duplicates) {
    root_ = object(0);
    std::vector<std::string> path;
    tag_below(*root_, path);
    tree_.finish();
  }

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  const Schema& root() const { return *root_; }
  const schema::PermissionTree& tree() const { return tree_; }
  const Tag* tag(const Schema* s) const {
    auto at = tags_.find(s);
    return at == tags_.end() ? nullptr : &at->second;
  }

  Value value(const Schema& s) {
    if (s.type != Schema::Type::kString && chance(4)) return {};
    if (s.type == Schema::Type::kString) return text();
    if (s.type == Schema::Type::kArray) return list(s);
    Value out = Value::object();
    for (const auto& p : s.properties)
      if (chance(60)) out.set(p.name, value(*p.schema));
    if (s.additional)
      for (const char* key : kKeys)
        if (chance(40)) out.set(key, value(*s.additional));
    return out;
  }

  // A variation of the value: parts are replaced, removed, added, or reordered.
  Value edited(const Value& v, const Schema& s) {
    if (chance(15) || v.is_null()) return value(s);
    if (s.type == Schema::Type::kArray) {
      std::vector<Value> items(v.items().begin(), v.items().end());
      if (chance(30)) std::ranges::shuffle(items, random_);
      if (!items.empty() && chance(30))
        items.erase(items.begin() + pick(static_cast<int>(items.size())));
      if (s.list_type == Schema::ListType::kMap && !items.empty() && chance(60)) {
        Value& item = items[static_cast<std::size_t>(pick(static_cast<int>(items.size())))];
        Value name = item["name"];
        item = edited(item, *s.items);
        if (item.is_null()) item = Value::object();
        item.set("name", name);
      }
      if (has_duplicates_ && !items.empty() && chance(10)) items.push_back(items[0]);
      return Value::array(std::move(items));
    }
    if (s.type != Schema::Type::kObject) return chance(50) ? v : value(s);
    Value out = v;
    for (const auto& p : s.properties) edit_member(out, p.name, *p.schema);
    if (s.additional)
      for (const char* key : kKeys) edit_member(out, key, *s.additional);
    return out;
  }

 private:
  static constexpr const char* kKeys[] = {"x", "y/1", "y/2", "z)"};

  void edit_member(Value& out, std::string_view key, const Schema& s) {
    if (chance(8))
      out.erase(key);
    else if (const Value* there = out.find(key))
      out.set(key, chance(40) ? edited(*there, s) : *there);
    else if (chance(8))
      out.set(key, value(s));
  }
  Value text() {
    static constexpr const char* kTexts[] = {"u", "v", "w/1", "w/2"};
    return kTexts[pick(4)];
  }
  Value list(const Schema& s) {
    std::vector<Value> out;
    if (s.list_type != Schema::ListType::kMap) {
      for (const char* text : {"u", "v", "w/1", "w/2"})
        if (chance(40)) out.emplace_back(text);
    } else {
      for (const char* name : {"c1", "c2", "c3"})
        if (chance(40)) {
          Value item = value(*s.items);
          if (item.is_null()) item = Value::object();
          item.set("name", name);
          out.push_back(std::move(item));
        }
    }
    if (has_duplicates_ && !out.empty() && chance(10)) out.push_back(out[0]);
    return Value::array(std::move(out));
  }

  Schema* scalar() {
    Schema* s = set_.make();
    s->type = Schema::Type::kString;
    return s;
  }
  Schema* object(int depth, bool named = false) {
    Schema* s = set_.make();
    s->type = Schema::Type::kObject;
    for (const char* name : {"a", "b", "c", "d"})
      if (depth == 0 || chance(50)) s->properties.push_back({name, any(depth + 1)});
    if (named) {
      s->properties.push_back({"kind", scalar()});
      s->properties.push_back({"name", scalar()});
    }
    if (s->properties.empty()) s->properties.push_back({"a", scalar()});
    return s;
  }
  Schema* any(int depth) {
    int form = depth > 3 ? 0 : pick(10);
    if (form < 4) return scalar();
    if (form < 6) return object(depth);
    Schema* s = set_.make();
    if (form == 6) {
      s->type = Schema::Type::kObject;
      s->additional = chance(60) ? scalar() : object(depth + 1);
      return s;
    }
    s->type = Schema::Type::kArray;
    if (form == 7) s->list_type = Schema::ListType::kSet;
    if (form == 8) s->list_type = Schema::ListType::kMap, s->map_keys = {"name"};
    s->items = form == 8 ? object(depth + 1, true) : scalar();
    return s;
  }

  void tag_below(const Schema& s, std::vector<std::string>& path) {
    auto below = [&](std::string step, const Schema& next, std::vector<std::string> sources) {
      path.push_back(std::move(step));
      if (chance(40)) tag_node(next, path, sources);
      tag_below(next, path);
      path.pop_back();
    };
    if (s.type == Schema::Type::kArray) {
      if (s.list_type == Schema::ListType::kSet) below("*", *s.items, {"", "setValue"});
      if (s.list_type == Schema::ListType::kMap)
        below("*", *s.items, {"", "listKey:name", "value:kind"});
      return;
    }
    for (const auto& p : s.properties) below(p.name, *p.schema, {""});
    if (s.additional) below("*", *s.additional, {"", "mapKey"});
  }

  void tag_node(const Schema& s, const std::vector<std::string>& path,
                const std::vector<std::string>& sources) {
    Tag tag{cat("p", pick(6)),
            sources[static_cast<std::size_t>(pick(static_cast<int>(sources.size())))], "",
            chance(15)};
    if (!tag.source.empty() && chance(50)) tag.treatment = "slash-delimited-prefix";
    Value words = Value::object({{"x-kubernetes-permission-verb", tag.name},
                                 {"x-kubernetes-permission-excluded", tag.excluded}});
    if (!tag.source.empty()) words.set("x-kubernetes-permission-parameter", tag.source);
    if (!tag.treatment.empty())
      words.set("x-kubernetes-permission-parameter-treatment", tag.treatment);
    tree_.add(path, *schema::permission_tag(words));
    tags_[&s] = tag;
  }

  std::mt19937& random_;
  bool has_duplicates_;
  schema::SchemaSet set_;
  Schema* root_;
  schema::PermissionTree tree_;
  std::map<const Schema*, Tag> tags_;
};

std::string naive_element(const Schema& list, const Value& item) {
  return list.list_type == Schema::ListType::kSet
             ? cat("v:\"", item.as_string(), "\"")
             : cat("k:{\"name\":\"", item["name"].as_string(), "\"}");
}

using Flat = std::map<FieldPath, std::string>;

void flatten(const Value& v, const Schema& s, FieldPath& path, Flat& out) {
  bool is_atom = s.type == Schema::Type::kString ||
                 (s.type == Schema::Type::kArray && s.list_type == Schema::ListType::kAtomic);
  if (is_atom || v.is_null() || v.empty()) {
    if (!path.empty()) out[path] = json::print(v);
    return;
  }
  if (s.type == Schema::Type::kObject) {
    for (const Member& m : v.members()) {
      path.push_back(cat("f:", m.key()));
      const auto* p = s.property(m.key());
      flatten(m.value, p ? *p->schema : *s.additional, path, out);
      path.pop_back();
    }
    return;
  }
  std::map<std::string, std::vector<Value>> groups;
  for (const Value& item : v.items()) groups[naive_element(s, item)].push_back(item);
  for (const auto& [element, items] : groups) {
    path.push_back(element);
    if (items.size() > 1)
      out[path] = json::print(Value::array(items));
    else if (s.list_type == Schema::ListType::kSet)
      out[path] = "";
    else
      flatten(items[0], *s.items, path, out);
    path.pop_back();
  }
}

Flat flat(const Value& v, const Schema& s) {
  Flat out;
  FieldPath path;
  flatten(v, s, path, out);
  return out;
}

bool is_above(const FieldPath& a, const FieldPath& b) {
  return a.size() < b.size() && std::equal(a.begin(), a.end(), b.begin());
}

std::set<FieldPath> naive_leaves(const Value& before, const Value& after, const Schema& s) {
  Flat left = flat(before, s), right = flat(after, s);
  std::set<FieldPath> all, out;
  for (const auto& [path, text] : left)
    if (auto at = right.find(path); at == right.end() || at->second != text) all.insert(path);
  for (const auto& [path, text] : right)
    if (!left.contains(path)) all.insert(path);
  for (const FieldPath& path : all)
    if (std::ranges::none_of(all, [&](const FieldPath& other) { return is_above(path, other); }))
      out.insert(path);
  return out;
}

// Every list in which the items, each counted once, have another order than before.
void naive_reordered(const Value& before, const Value& after, const Schema& s, FieldPath& path,
                     std::set<FieldPath>& out) {
  if (s.type == Schema::Type::kObject && before.is_object() && after.is_object()) {
    for (const Member& m : after.members()) {
      const Value* was = before.find(m.key());
      if (!was) continue;
      const auto* p = s.property(m.key());
      path.push_back(cat("f:", m.key()));
      naive_reordered(*was, m.value, p ? *p->schema : *s.additional, path, out);
      path.pop_back();
    }
  }
  if (s.type != Schema::Type::kArray || s.list_type == Schema::ListType::kAtomic ||
      !before.is_array() || !after.is_array())
    return;
  auto firsts = [&](const Value& list, const Value& other) {
    std::vector<std::pair<std::string, const Value*>> found;
    for (const Value& item : list.items()) {
      std::string element = naive_element(s, item);
      auto known = std::ranges::count_if(found, [&](const auto& f) { return f.first == element; });
      auto others = std::ranges::count_if(
          other.items(), [&](const Value& o) { return naive_element(s, o) == element; });
      if (known < others) found.push_back({element, &item});
    }
    return found;
  };
  auto was = firsts(before, after), is = firsts(after, before);
  for (std::size_t i = 0; i < was.size(); ++i)
    if (was[i].first != is[i].first) out.insert(path);
  std::map<std::string, std::vector<const Value*>> olds;
  for (const auto& [element, item] : was) olds[element].push_back(item);
  std::map<std::string, std::size_t> used;
  for (const auto& [element, item] : is) {
    path.push_back(element);
    naive_reordered(*olds[element][used[element]++], *item, *s.items, path, out);
    path.pop_back();
  }
}

std::set<FieldPath> naive_reordered(const Value& before, const Value& after, const Schema& s) {
  std::set<FieldPath> out;
  FieldPath path;
  naive_reordered(before, after, s, path, out);
  return out;
}

const Value* naive_child(const Value* v, const std::string& element) {
  if (!v) return nullptr;
  if (element[0] == 'f') return v->find(element.substr(2));
  for (const Value& item : v->items()) {
    std::string found = element[0] == 'v' ? cat("v:\"", item.as_string(), "\"")
                                          : cat("k:{\"name\":\"", item["name"].as_string(), "\"}");
    if (found == element) return &item;
  }
  return nullptr;
}

struct Step {
  std::string verb;  // empty: none can be made
  bool excluded = false;
};
using NaiveChain = std::vector<Step>;

std::string naive_verb(const Tag& tag, std::string raw) {
  if (tag.source.empty()) return cat("granular:", tag.name);
  if (!tag.treatment.empty()) raw = raw.substr(0, raw.find('/'));
  if (raw.empty()) return "";
  std::string spelled;
  for (char c : raw) spelled += c == ')' ? std::string("%29") : std::string(1, c);
  return cat("granular:", tag.name, "(", spelled, ")");
}

// One chain; or two, if a parameter differs before and after the change.
std::vector<NaiveChain> naive_chains(const World& world, const FieldPath& path, const Value& before,
                                     const Value& after) {
  NaiveChain sides[2];
  const Value* at[2] = {&before, &after};
  const Schema* s = &world.root();
  for (const std::string& element : path) {
    const Value* next[2] = {naive_child(at[0], element), naive_child(at[1], element)};
    if (element[0] == 'f') {
      const auto* p = s->property(element.substr(2));
      s = p ? p->schema : s->additional;
    } else {
      s = s->items;
    }
    if (const Tag* tag = world.tag(s)) {
      for (int side : {0, 1}) {
        std::string raw;
        if (tag->source == "mapKey") raw = element.substr(2);
        if (tag->source == "setValue") raw = element.substr(3, element.size() - 4);
        if (tag->source == "listKey:name") raw = element.substr(11, element.size() - 13);
        if (tag->source == "value:kind") {
          const Value* holder = next[side] ? next[side] : next[1 - side];
          raw = holder ? std::string((*holder)["kind"].as_string()) : "";
        }
        sides[side].push_back({naive_verb(*tag, raw), tag->excluded});
      }
    }
    at[0] = next[0];
    at[1] = next[1];
  }
  auto same = [](const NaiveChain& a, const NaiveChain& b) {
    return std::ranges::equal(a, b, [](const Step& x, const Step& y) { return x.verb == y.verb; });
  };
  if (same(sides[0], sides[1])) return {sides[0]};
  return {sides[0], sides[1]};
}

using Grants = std::set<std::string>;

// The answer, with the verbs in the order in which they had to be asked.
struct NaiveJudgement {
  bool allowed = true;
  std::vector<std::string> asked;
};

bool judge_chain(const NaiveChain& chain, bool is_granular, const Grants& grants,
                 NaiveJudgement& out) {
  auto ask = [&](const std::string& verb) {
    if (std::ranges::find(out.asked, verb) == out.asked.end()) out.asked.push_back(verb);
    return grants.contains(verb);
  };
  bool has_excluded = false;
  for (const Step& step : chain)
    if (step.excluded && step.verb.empty()) return false;
  for (const Step& step : chain)
    if (step.excluded) {
      has_excluded = true;
      if (!ask(step.verb)) return false;
    }
  if (has_excluded || !is_granular) return true;
  return std::ranges::any_of(
      chain, [&](const Step& step) { return !step.verb.empty() && ask(step.verb); });
}

NaiveJudgement naive_judgement(const World& world, const Value& before, const Value& after,
                               bool is_granular, const Grants& grants) {
  NaiveJudgement out;
  for (const auto& leaves :
       {naive_leaves(before, after, world.root()), naive_reordered(before, after, world.root())})
    for (const FieldPath& leaf : leaves)
      for (const NaiveChain& chain : naive_chains(world, leaf, before, after))
        if (!judge_chain(chain, is_granular, grants, out)) {
          out.allowed = false;
          return out;
        }
  return out;
}

struct Judgement {
  bool allowed;
  std::vector<std::string> asked;
};

Judgement judgement(const World& world, const schema::ChangedFields& changes, bool is_granular,
                    const Grants& grants) {
  schema::Demands demands = schema::demands_of(changes, world.tree(), {});
  Answers answers;
  FieldJudge judge(demands, is_granular ? Marker::kGranular : Marker::kRegular, answers);
  while (const std::string* verb = judge.next()) judge.answer(grants.contains(*verb));
  Judgement out{!judge.refusal(), {}};
  for (const auto& [verb, allowed] : answers.in_order()) out.asked.push_back(verb);
  return out;
}

Grants random_grants(World& world) {
  Grants out;
  for (int i = 0; i < 6; ++i)
    for (const char* parameter : {"", "(x)", "(y/1)", "(y)", "(y/2)", "(z%29)", "(u)", "(v)", "(w)",
                                  "(w/1)", "(w/2)", "(c1)", "(c2)", "(c3)"})
      if (world.chance(45)) out.insert(cat("granular:p", i, parameter));
  return out;
}

int rounds() {
  const char* wanted = std::getenv("CARDEA_FIELD_ROUNDS");
  return wanted ? std::atoi(wanted) : 100'000;
}

TEST(FieldPermissionsAgreement, TheChangedFieldsTheVerbsAskedAndTheAnswerAreThoseOfANaiveJudge) {
  std::mt19937 random(20261115);
  const int kPerWorld = 50;
  int allowed = 0, refused = 0;
  for (int round = 0; round < rounds();) {
    World world(random, false);
    for (int i = 0; i < kPerWorld; ++i, ++round) {
      Value before = world.value(world.root()), after = world.edited(before, world.root());
      if (before.is_null()) before = Value::object();
      if (after.is_null()) after = Value::object();
      schema::ChangedFields changes(before, after, world.root(), {});
      std::set<FieldPath> found;
      changes.leaves().for_each([&](const FieldPath& path) { found.insert(path); });
      std::set<FieldPath> expected = naive_leaves(before, after, world.root());
      expected.merge(naive_reordered(before, after, world.root()));
      ASSERT_EQ(found, expected) << json::print(before) << " -> " << json::print(after);
      Grants grants = random_grants(world);
      for (bool is_granular : {false, true}) {
        Judgement ours = judgement(world, changes, is_granular, grants);
        NaiveJudgement theirs = naive_judgement(world, before, after, is_granular, grants);
        if (theirs.asked.size() > kMostVerbs) continue;
        ASSERT_EQ(ours.allowed, theirs.allowed)
            << json::print(before) << " -> " << json::print(after);
        ASSERT_EQ(ours.asked, theirs.asked) << json::print(before) << " -> " << json::print(after);
        ++(ours.allowed ? allowed : refused);
      }
    }
  }
  EXPECT_GT(allowed, rounds() / 10);
  EXPECT_GT(refused, rounds() / 10);
}

// The values at the nodes of each excluded verb, anywhere in the object.
void collect(const World& world, const Value& v, const Schema& s,
             std::map<std::string, std::multiset<std::string>>& out) {
  auto look = [&](const Value& next, const Schema& below, std::string_view key) {
    if (const Tag* tag = world.tag(&below); tag && tag->excluded) {
      std::string raw = tag->source == "value:kind"     ? std::string(next["kind"].as_string())
                        : tag->source == "listKey:name" ? std::string(next["name"].as_string())
                        : tag->source == "setValue"     ? std::string(next.as_string())
                                                        : std::string(key);
      bool is_empty = next.is_null() || ((next.is_object() || next.is_array()) && next.empty());
      Flat content;
      FieldPath path{"f:."};
      flatten(next, below, path, content);
      std::string printed;
      for (const auto& [p, text] : content)
        if (text != "null" && text != "{}" && text != "[]")
          printed += cat(join(p, "/"), "=", text, ";");
      if (!is_empty && !printed.empty()) out[naive_verb(*tag, raw)].insert(printed);
    }
    collect(world, next, below, out);
  };
  for (const Member& m : v.members()) {
    const auto* p = s.property(m.key());
    look(m.value, p ? *p->schema : *s.additional, m.key());
  }
  if (v.is_array() && s.list_type != Schema::ListType::kAtomic)
    for (const Value& item : v.items()) look(item, *s.items, "");
}

TEST(FieldPermissionsAgreement, NoSequenceOfAllowedEditsChangesWhatIsNotAllowed) {
  std::mt19937 random(3617);
  const int kSequences = std::max(1000, rounds() / 4);
  int steps = 0;
  for (int round = 0; round < kSequences; ++round) {
    World world(random, round % 2 == 0);
    Grants grants = random_grants(world);
    bool is_granular = world.chance(50);
    Value first = world.value(world.root());
    if (first.is_null()) first = Value::object();
    Value last = first;
    for (int i = 0; i < 5; ++i) {
      Value next = world.edited(last, world.root());
      if (next.is_null()) next = Value::object();
      if (!judgement(world, schema::ChangedFields(last, next, world.root(), {}), is_granular,
                     grants)
               .allowed)
        continue;
      last = next;
      ++steps;
    }
    std::map<std::string, std::multiset<std::string>> before, after;
    collect(world, first, world.root(), before);
    collect(world, last, world.root(), after);
    for (const auto& both : {before, after})
      for (const auto& [verb, content] : both)
        if (before[verb] != after[verb]) {
          ASSERT_TRUE(!verb.empty() && grants.contains(verb))
              << verb << ": " << json::print(first) << " -> " << json::print(last);
        }
    if (!is_granular || round % 2 == 0) continue;
    // The parts of a container decide only whether it is present when it is empty.
    Flat left = flat(first, world.root()), right = flat(last, world.root());
    auto is_empty = [](const Flat& side, const FieldPath& path) {
      auto at = side.find(path);
      return at == side.end() || at->second == "null" || at->second == "{}" || at->second == "[]";
    };
    for (const FieldPath& leaf : naive_leaves(first, last, world.root())) {
      if (is_empty(left, leaf) && is_empty(right, leaf)) continue;
      NaiveJudgement ignored;
      for (const NaiveChain& chain : naive_chains(world, leaf, first, last))
        ASSERT_TRUE(judge_chain(chain, true, grants, ignored))
            << schema::field_text(leaf) << ": " << json::print(first) << " -> "
            << json::print(last);
    }
  }
  EXPECT_GT(steps, kSequences / 4);
}

}  // namespace
}  // namespace cardea::authz::fields

// Compares decisions by the index with the five steps of the description, for random policies.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "authz/namespace_policy/policy_authorizer.h"
#include "base/strings.h"
#include "json/parse.h"
#include "schema/permissions/changed_fields.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::Value;
using Texts = std::vector<std::string>;

template <typename T>
T run(Task<T> task) {
  std::optional<T> value;
  spawn(std::move(task), [&](T v) { value.emplace(std::move(v)); });
  return std::move(*value);
}

long cases(long in_ci) {
  const char* wanted = std::getenv("CARDEA_POLICY_CASES");
  return wanted ? std::atol(wanted) : in_ci;
}

struct Binding {
  std::string space, name;
  RoleRef role;
  Texts users, groups;
};

// A request when all facts about it are known.
struct Facts {
  bool is_labelled_before = false, is_labelled_after = false;
  std::string node_before, node_after, name_after;
  bool changes_labels = false, changes_replicas = false;
  bool changes_others = false;  // beside those two
};

struct Ask {
  User user;
  bool is_resource = true;
  std::string verb, group, resource, subresource, space, name, path;
  std::string selected_node;
  bool reaches_all = false;
  Attributes attributes() const {
    Attributes a(user);
    a.is_resource_request = is_resource;
    a.verb = verb;
    a.api_group = group;
    a.api_version = "v1";
    a.resource = resource;
    a.subresource = subresource;
    a.namespace_name = space;
    a.name = name;
    a.path = path;
    a.takes_conditions = true;
    return a;
  }
};

struct World {
  std::map<std::pair<std::string, std::string>, std::vector<Rule>> roles;
  std::vector<Binding> bindings;
};

// The five steps of the description, applied to the documents, with all facts. Slow and simple on
// purpose.
struct Naive {
  const World& world;

  static bool in(const Texts& list, const std::string& word) {
    return std::ranges::find(list, word) != list.end();
  }
  // A word matches if it matches any of `names`, unless it matches any of `reached`.
  static bool m(const Texts& list, const Texts& names, const Texts& reached) {
    if (in(list, "-*")) return false;
    for (const std::string& r : reached)
      if (in(list, "-" + r)) return false;
    return in(list, "*") ||
           std::ranges::any_of(names, [&](const std::string& n) { return in(list, n); });
  }
  static Texts verbs_of(const Ask& ask) {
    Texts out{ask.verb};
    if (!ask.is_resource) return out;
    if (ask.verb == "patch") out.push_back("update");
    if (ask.verb == "deletecollection") out.push_back("delete");
    if (ask.subresource == "exec" && ask.resource == "pods" &&
        (ask.verb == "create" || ask.verb == "get"))
      out.push_back("exec");
    if (ask.subresource == "proxy") out.push_back("proxy");
    if (ask.verb == "create" && ask.resource.ends_with("accessreviews"))
      out.push_back("permission-request");
    return out;
  }
  static bool is_write(const Ask& ask) {
    return (ask.verb == "create" || ask.verb == "update" || ask.verb == "patch" ||
            ask.verb == "delete" || ask.verb == "deletecollection") &&
           ask.subresource != "exec" && ask.subresource != "proxy";
  }
  // Its options are all that a condition sees.
  static bool is_connection(const Ask& ask) {
    const Texts parts{"pods/exec", "pods/proxy", "services/proxy", "nodes/proxy"};
    const Texts verbs{"get", "create", "update", "patch", "delete", "deletecollection"};
    return ask.group.empty() && in(parts, ask.resource + "/" + ask.subresource) &&
           in(verbs, ask.verb);
  }
  static bool labels(const Rule& rule, const Ask& ask, const Facts& facts) {
    bool is_create = ask.verb == "create",
         is_delete = ask.verb == "delete" || ask.verb == "deletecollection";
    bool had = !is_create && facts.is_labelled_before, has = !is_delete && facts.is_labelled_after;
    if (rule.deny) return had || has;
    return is_create ? has : had;
  }
  static bool restriction(const Rule& rule, const Ask& ask, const Facts& facts) {
    bool closed = rule.deny;
    using Kind = Restriction::Kind;
    bool is_create = ask.verb == "create", is_change = ask.verb == "update" || ask.verb == "patch";
    switch (rule.restriction.kind) {
      case Kind::kNone:
        return true;
      case Kind::kLabelsContain:
        return is_write(ask) ? labels(rule, ask, facts) : closed;
      case Kind::kFieldsMutatable: {
        if (!is_write(ask) || !(is_create || is_change)) return closed;
        bool listed = facts.changes_labels, others = facts.changes_replicas || facts.changes_others;
        return rule.deny ? listed || !others : !others;
      }
      case Kind::kSameMinion: {
        if (ask.resource != "pods" || !ask.group.empty()) return closed;
        if ((ask.verb == "list" || ask.verb == "watch" || ask.verb == "get") && ask.name.empty())
          return ask.selected_node.empty() ? closed : ask.selected_node == ask.user.name;
        if (is_write(ask) && is_create && ask.subresource.empty())
          return facts.node_after == ask.user.name;
        if (is_write(ask) && !is_create) return facts.node_before == ask.user.name;
        return ask.name.empty() ? closed : facts.node_before == ask.user.name;
      }
      case Kind::kCel:
        return is_write(ask) || is_connection(ask) ? facts.changes_replicas : closed;
      default:
        return closed;
    }
  }
  // A rule that names an object is about its parts, except for what is created there and for
  // streams: these take `*`, or the word for the stream.
  static bool reaches_part(const Rule& rule, const Texts& kinds, const Ask& ask, bool has_verb) {
    std::string full = ask.resource + "/" + ask.subresource;
    if (ask.subresource.empty() || !m(kinds, {full, ask.resource}, {full, ask.resource}))
      return false;
    bool is_act = ask.verb == "create" || ask.subresource == "proxy" ||
                  (ask.resource == "pods" && ask.subresource == "exec");
    if (!is_act || in(rule.verbs, "*")) return has_verb;
    Texts verbs = verbs_of(ask), words;
    if (in(verbs, "exec") && ask.group.empty()) words.emplace_back("exec");
    if (in(verbs, "proxy")) words.emplace_back("proxy");
    return m(rule.verbs, words, verbs);
  }
  static bool applies(const Rule& rule, const Ask& ask, const Facts& facts) {
    Texts verbs = verbs_of(ask);
    if (!ask.is_resource)
      return m(rule.verbs, verbs, verbs) &&
             (rule.deny || rule.restriction.kind == Restriction::Kind::kNone) &&
             std::ranges::any_of(rule.non_resource_urls, [&](const std::string& u) {
               return u == "*" || u == ask.path ||
                      (u.ends_with('*') && ask.path.starts_with(u.substr(0, u.size() - 1)));
             });
    if (rule.resource_kinds.empty()) return false;
    if (!rule.api_groups.empty() && !in(rule.api_groups, "*") && !in(rule.api_groups, ask.group))
      return false;
    Texts kinds;
    ResourceGroups::built_in().expand(rule.resource_kinds, kinds);
    std::string full = ask.subresource.empty() ? ask.resource
                                               : ask.resource + "/" + ask.subresource;
    bool has_verb = m(rule.verbs, verbs, verbs), has_kind = m(kinds, {full}, {full, ask.resource});
    bool is_named = rule.resource_names.empty() || in(rule.resource_names, ask.name);
    bool is_nameless = !is_named && ask.name.empty();
    if (!is_named && !(rule.deny && is_nameless)) return false;
    if ((has_verb && has_kind) || reaches_part(rule, kinds, ask, has_verb)) {
      if (is_named) return restriction(rule, ask, facts);
      if (ask.reaches_all) return restriction(rule, ask, facts);
      return is_write(ask) ? in(rule.resource_names, facts.name_after) : true;
    }
    // Removing the label is a way to the change that the label forbids.
    bool guards = rule.deny && rule.restriction.kind == Restriction::Kind::kLabelsContain &&
                  (in(rule.verbs, "*") || in(rule.verbs, "update") || in(rule.verbs, "patch") ||
                   in(rule.verbs, "delete") || in(rule.verbs, "deletecollection"));
    bool strips = (ask.verb == "update" || ask.verb == "patch") && facts.is_labelled_before &&
                  !facts.is_labelled_after;
    if (guards && m(kinds, {full, ask.resource}, {full, ask.resource}) &&
        (ask.verb == "update" || ask.verb == "patch"))
      return is_write(ask) ? strips : true;
    return false;
  }

  // The answer to a request, step by step.
  static std::vector<Ask> comes_to(const Ask& ask) {
    std::vector<Ask> out;
    auto add = [&](const Ask& from, std::string verb, std::string subresource) {
      Ask next = from;
      next.verb = std::move(verb);
      next.subresource = std::move(subresource);
      out.push_back(next);
      return next;
    };
    auto step = [&](const Ask& from, auto& self) -> void {
      auto goes_to = [&](std::string verb, std::string subresource) {
        Ask next = add(from, std::move(verb), std::move(subresource));
        self(next, self);
      };
      const std::string &verb = from.verb, &part = from.subresource;
      if (verb == "patch") goes_to("update", part);
      if (verb == "deletecollection") goes_to("delete", part);
      if (verb == "list" || verb == "watch") goes_to("get", part);
      if (verb == "watch") goes_to("list", part);
      if (part == "status" && (verb == "update" || verb == "get")) goes_to(verb, "");
      bool is_pod = from.resource == "pods" && from.group.empty();
      if (is_pod && part == "exec" && verb == "get") goes_to("create", part);
      // Verbs of streams, which have no other effects.
      if (is_pod && part == "exec" && (verb == "get" || verb == "create")) add(from, "exec", "");
      if (part == "proxy") add(from, "proxy", "");
    };
    if (ask.is_resource) {
      step(ask, step);
      return out;
    }
    std::string path = ask.path;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    for (const std::string& at : {ask.path, path}) {
      add(ask, ask.verb, "");
      out.back().path = at;
      add(ask, "get", "");
      out.back().path = at;
    }
    return out;
  }
  static bool leaves_out(const Rule& rule, const Ask& ask) {
    Texts kinds;
    ResourceGroups::built_in().expand(rule.resource_kinds, kinds);
    Texts reached{ask.resource, ask.resource + "/" + ask.subresource}, verbs = verbs_of(ask);
    auto takes = [](const Texts& list, const Texts& away) {
      return in(list, "-*") ||
             std::ranges::any_of(away, [&](const std::string& w) { return in(list, "-" + w); });
    };
    return takes(rule.verbs, verbs) || takes(kinds, reached);
  }
  static bool denies_indirectly(const Rule& rule, const Ask& ask, const Facts& facts) {
    return !leaves_out(rule, ask) && std::ranges::any_of(comes_to(ask), [&](const Ask& other) {
      return applies(rule, other, facts);
    });
  }

  Decision::Kind decide(const Ask& ask, const Facts& facts) const {
    Texts levels{"master"};
    if (ask.is_resource && !ask.space.empty() && ask.space != "master") levels.push_back(ask.space);
    for (const std::string& level : levels) {
      bool denies = false, allows = false, is_broken = false;
      for (const Binding& b : world.bindings) {
        if (b.space != level) continue;
        bool is_for = in(b.users, ask.user.name) ||
                      std::ranges::any_of(ask.user.groups,
                                          [&](const std::string& g) { return in(b.groups, g); });
        if (!is_for) continue;
        auto role = world.roles.find({b.role.namespace_name, b.role.name});
        if (role == world.roles.end() ||
            (b.role.namespace_name != b.space && b.role.namespace_name != "master")) {
          is_broken = true;
          continue;
        }
        for (const Rule& r : role->second)
          if (applies(r, ask, facts) || (r.deny && denies_indirectly(r, ask, facts)))
            (r.deny ? denies : allows) = true;
      }
      if (denies || is_broken) return Decision::Kind::kDeny;
      if (allows) return Decision::Kind::kAllow;
    }
    return Decision::Kind::kNoOpinion;
  }
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  const std::string& of(const Texts& words) { return words[below(words.size())]; }
  Texts some(const Texts& words, std::size_t least, std::size_t most) {
    Texts out;
    for (std::size_t i = least + below(most - least + 1); i > 0; --i) out.push_back(of(words));
    return out;
  }

 private:
  std::mt19937_64 random_;
};

const Texts kVerbs{"get",
                   "list",
                   "watch",
                   "create",
                   "update",
                   "patch",
                   "delete",
                   "deletecollection",
                   "exec",
                   "proxy",
                   "permission-request",
                   "custom"};
const Texts kVerbWords{"*",       "*",      "get",
                       "list",    "create", "update",
                       "patch",   "delete", "deletecollection",
                       "exec",    "proxy",  "permission-request",
                       "custom",  "-get",   "-update",
                       "-delete", "-exec",  "-custom",
                       "-*"};
const Texts kResources{"pods", "secrets", "policies", "subjectaccessreviews", "widgets"};
const Texts kKindWords{"*",
                       "*",
                       "pods",
                       "pods/exec",
                       "pods/status",
                       "secrets",
                       "subjectaccessreviews",
                       "resourcegroup:policy",
                       "-pods",
                       "-pods/exec",
                       "-secrets",
                       "-resourcegroup:policy",
                       "-*",
                       "widgets/proxy"};
const Texts kUsers{"u0", "u1", "u2"}, kGroups{"g0", "g1"}, kSpaces{"master", "a", "b"},
    kNames{"n0", "n1"}, kApiGroups{"", "apps"};

Rule random_rule(Dice& dice, bool with_restrictions) {
  Rule rule;
  rule.deny = dice.one_in(4);
  rule.verbs = dice.some(kVerbWords, 1, 3);
  rule.resource_kinds = dice.some(kKindWords, 1, 3);
  if (dice.one_in(6)) rule.resource_kinds.clear();
  if (dice.one_in(5)) rule.resource_names = dice.some(kNames, 1, 2);
  if (dice.one_in(5)) rule.api_groups = dice.some({"", "apps", "*"}, 1, 2);
  if (dice.one_in(4)) rule.non_resource_urls = dice.some({"/a", "/a/*", "*", "/b"}, 1, 2);
  if (!with_restrictions) return rule;
  // Restrictions matter for writes of objects.
  if (!dice.one_in(3)) {
    rule.verbs = dice.some({"*", "create", "update", "patch", "delete"}, 1, 3);
    rule.resource_kinds = dice.some({"*", "pods", "secrets", "-secrets", "widgets"}, 1, 3);
  }
  if (dice.one_in(4)) return rule;
  using Kind = Restriction::Kind;
  Restriction& r = rule.restriction;
  r.kind = std::array{Kind::kLabelsContain, Kind::kFieldsMutatable, Kind::kSameMinion,
                      Kind::kCel}[dice.below(4)];
  if (dice.one_in(30)) r.kind = Kind::kUnknown;
  if (r.kind == Kind::kLabelsContain) r.items = {"protected"};
  if (r.kind == Kind::kFieldsMutatable) r.items = {"labels"};
  if (r.kind == Kind::kCel) r.expression = "object != null && object.?spec.?replicas.hasValue()";
  if (r.kind == Kind::kUnknown) r.written = Value::object({{"kind", "fullMoon"}});
  return rule;
}

World random_world(Dice& dice, bool with_restrictions) {
  World w;
  for (const std::string& space : kSpaces) {
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<Rule>& rules = w.roles[{space, cat("r", i)}];
      for (std::size_t n = with_restrictions ? 1 + dice.below(3) : dice.below(3); n > 0; --n)
        rules.push_back(random_rule(dice, with_restrictions));
    }
    for (std::size_t i = dice.below(4); i > 0; --i) {
      RoleRef role{dice.one_in(2) ? space : "master", cat("r", dice.below(3))};
      if (dice.one_in(40)) role.name = "missing";
      w.bindings.push_back(
          {space, cat("b", i), role, dice.some(kUsers, 0, 2), dice.some(kGroups, 0, 1)});
    }
  }
  return w;
}

Value role_document(const World& w, const std::string& space) {
  Value roles = Value::object();
  for (const auto& [where, rules] : w.roles)
    if (where.first == space)
      roles.set(
          where.second,
          as_json(Role{space, where.second, Value::object({{"name", where.second}}), rules}, true));
  return Value::object({{"roles", roles}});
}
Value binding_document(const World& w, const std::string& space) {
  Value out = Value::object();
  for (const Binding& b : w.bindings)
    if (b.space == space)
      out.set(b.name, as_json(RoleBinding{space, b.name, Value::object({{"name", b.name}}), b.role,
                                          b.users, b.groups},
                              true));
  return Value::object({{"roleBindings", out}});
}

Ask random_ask(Dice& dice) {
  Ask ask;
  ask.user.name = dice.of(kUsers);
  ask.user.groups = dice.some(kGroups, 0, 2);
  if (dice.one_in(12)) {
    ask.is_resource = false;
    ask.verb = dice.of({"get", "custom"});
    ask.path = dice.of({"/a", "/a/x", "/b", "/c", "/a/", "/c//"});
    return ask;
  }
  ask.verb = dice.of(kVerbs);
  ask.resource = dice.of(kResources);
  ask.group = dice.of(kApiGroups);
  if (dice.one_in(3)) ask.subresource = dice.of({"exec", "status", "proxy"});
  ask.space = dice.of({"", "master", "a", "b", "empty"});
  bool has_name = ask.verb != "list" && ask.verb != "watch" && ask.verb != "deletecollection" &&
                  !(ask.verb == "create" && ask.subresource.empty());
  if (has_name || dice.one_in(10)) ask.name = dice.of({"n0", "n1", "n2"});
  ask.reaches_all = ask.name.empty() &&
                    (ask.verb == "list" || ask.verb == "watch" || ask.verb == "deletecollection");
  return ask;
}

TEST(PolicyAgreement, TheIndexDecidesAsTheFiveStepsDo) {
  Dice dice(7);
  long decisions = cases(1'000'000), per_world = 500, kinds[4] = {};
  World before;
  auto index = std::make_shared<Index>();
  Surroundings none;
  for (long done = 0; done < decisions; done += per_world) {
    World w = random_world(dice, false);
    // From one world to the next by single changes, as the store reports them.
    auto next = std::make_shared<Index>(*index);
    for (const std::string& space : kSpaces) {
      next->change_policy(space, role_document(before, space), role_document(w, space));
      next->change_bindings(space, "master", binding_document(before, space),
                            binding_document(w, space));
    }
    index = next;
    std::shared_ptr<const Index> shared = index;
    for (long i = 0; i < per_world; ++i) {
      Ask ask = random_ask(dice);
      Attributes a = ask.attributes();
      Facts facts{.name_after = dice.of(kNames)};
      Decision d = decide(shared, a, none);
      // A denial of a name waits for the object that is created.
      if (d.kind == Decision::Kind::kConditional) continue;
      Decision::Kind expected = Naive{w}.decide(ask, facts);
      ++kinds[static_cast<int>(expected)];
      ASSERT_EQ(static_cast<int>(d.kind), static_cast<int>(expected))
          << ask.user.name << " " << ask.verb << " " << ask.group << " " << ask.resource << "/"
          << ask.subresource << " " << ask.space << " " << ask.name << ask.path << " after "
          << done + i;
    }
    before = std::move(w);
  }
  for (int k : {0, 1, 2}) EXPECT_GT(kinds[k], decisions / 50);
}

Value object_of(const Facts& facts, bool is_after, std::string_view name) {
  Value meta = Value::object({{"name", name}, {"namespace", "a"}});
  bool is_labelled = is_after ? facts.is_labelled_after : facts.is_labelled_before;
  Value labels = Value::object();
  if (is_labelled) labels.set("protected", "yes");
  if (is_after && facts.changes_labels) labels.set("more", "1");
  if (!labels.empty()) meta.set("labels", labels);
  Value spec = Value::object();
  const std::string& node = is_after ? facts.node_after : facts.node_before;
  if (!node.empty()) spec.set("nodeName", node);
  if (is_after && facts.changes_replicas) spec.set("replicas", 2);
  Value out = Value::object({{"metadata", meta}});
  if (!spec.empty()) out.set("spec", spec);  // a new empty one is a change
  return out;
}

TEST(PolicyAgreement, TwoPhasesDecideAsOneThatKnowsEverything) {
  Dice dice(11);
  const Snapshot<Index> none(std::make_shared<const Index>());
  SystemRandom random;
  node::Graph nodes(random);
  // The nodes of pods with these names, for reads and streams.
  nodes.change({}, {.node = "u0", .objects = {{node::Kind::kPod, "a", "n0"}}});
  schema::Schema any;
  any.type = schema::Schema::Type::kObject;
  any.preserve_unknown_fields = true;
  Surroundings around{.nodes = &nodes};
  PolicyAuthorizer authorizer(none, around);
  long decisions = cases(100'000), per_world = 50, conditional = 0;
  for (long done = 0; done < decisions; done += per_world) {
    World w = random_world(dice, true);
    auto index = std::make_shared<Index>();
    for (const std::string& space : kSpaces) {
      index->change_policy(space, {}, role_document(w, space));
      index->change_bindings(space, "master", {}, binding_document(w, space));
    }
    std::shared_ptr<const Index> shared = index;
    for (long i = 0; i < per_world; ++i) {
      Ask ask = random_ask(dice);
      if (ask.is_resource && dice.one_in(2))
        ask.verb = dice.of({"create", "update", "patch", "delete"});
      ask.reaches_all = ask.name.empty() && (ask.verb == "list" || ask.verb == "watch" ||
                                             ask.verb == "deletecollection");
      bool is_create = ask.verb == "create",
           is_delete = ask.verb == "delete" || ask.verb == "deletecollection";
      Facts facts;
      facts.name_after = dice.of({"n0", "n1", "n2"});
      facts.is_labelled_before = !is_create && dice.one_in(2);
      facts.is_labelled_after = dice.one_in(2);
      facts.node_before = dice.of({"", "u0", "u1"});
      facts.node_after = is_create ? dice.of({"", "u0", "u1"}) : facts.node_before;
      facts.changes_replicas = !is_delete && dice.one_in(2);
      facts.changes_labels = !is_delete && dice.one_in(3);
      // The object that is created has changed, and so has its node.
      facts.changes_others = is_create && !facts.node_after.empty();
      bool is_read = !Naive::is_write(ask) || (is_create && !ask.subresource.empty());
      if (is_read) facts.node_before = ask.space == "a" && ask.name == "n0" ? "u0" : "";
      Selectors selectors;
      if (dice.one_in(3)) {
        ask.selected_node = dice.of({"u0", "u1"});
        selectors.fields.add({"spec.nodeName", true, ask.selected_node});
      }
      Attributes a = ask.attributes();
      if (!ask.selected_node.empty()) a.selectors = &selectors;
      Decision d = decide(shared, a, around);
      std::string name = ask.name.empty() ? facts.name_after : ask.name;
      Value old = is_create ? Value() : object_of(facts, false, name),
            now = is_delete ? Value() : object_of(facts, true, name);
      if (d.kind == Decision::Kind::kConditional) {
        ++conditional;
        facts.changes_labels |= facts.is_labelled_before != facts.is_labelled_after;
        schema::ChangedFields changed(
            old, now, any, {.server = schema::IgnoredFields::of_server(is_create), .reset = {}});
        ConditionData data{.operation = is_create   ? "CREATE"
                                        : is_delete ? "DELETE"
                                                    : "UPDATE",
                           .object = &now,
                           .old_object = &old,
                           .user = &ask.user,
                           .changed = &changed};
        const ConditionData parent = data;
        data.parent = &parent;
        d = run(authorizer.evaluate(d.conditions, data));
      }
      Decision::Kind expected = Naive{w}.decide(ask, facts);
      ASSERT_EQ(static_cast<int>(d.kind), static_cast<int>(expected))
          << ask.user.name << " " << ask.verb << " " << ask.group << " " << ask.resource << "/"
          << ask.subresource << " " << ask.space << " " << ask.name << ask.path << " after "
          << done + i << " " << d.reason.text() << " " << d.error;
    }
  }
  EXPECT_GT(conditional, decisions / 50);
}

}  // namespace
}  // namespace cardea::authz::namespace_policy

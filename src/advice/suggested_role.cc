#include "advice/suggested_role.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "advice/permission_page.h"
#include "authz/fields/field_judge.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::advice {

using authz::fields::FieldJudge;
using authz::fields::Marker;
using json::Value;

namespace {

using Verbs = std::set<std::string, std::less<>>;

// Enough for the change, with the permissions at this depth from the general end, or the most
// specific.
Verbs enough_for(const LoggedChange& c, std::size_t depth) {
  Verbs out;
  bool whole = c.needs_verb;
  for (const schema::Demand& d : c.demands.fields) {
    for (std::uint32_t index : d.excluded) out.insert(c.demands.verbs[index]);
    for (std::uint32_t index : d.inside) out.insert(c.demands.verbs[index]);
    if (!d.excluded.empty()) continue;
    if (d.chain.empty())
      whole = true;
    else
      out.insert(c.demands.verbs[d.chain[std::min(depth, d.chain.size() - 1)]]);
  }
  out.insert(whole ? c.verb : std::string(schema::kGranularVerb));
  return out;
}

Verbs enough_for(const LoggedChange& c) {
  std::size_t deepest = 0;
  for (const schema::Demand& d : c.demands.fields) deepest = std::max(deepest, d.chain.size());
  // The server asks for so many verbs only; then it takes more general ones.
  for (std::size_t depth = deepest; depth-- > 0;)
    if (Verbs verbs = enough_for(c, depth); is_covered(c, verbs)) return verbs;
  Verbs verbs = enough_for(c, 0);
  if (!is_covered(c, verbs)) verbs.insert(c.verb);
  return verbs;
}

// What two changes have to share to be alike for a role.
std::string likeness(const LoggedChange& c) {
  std::string out = cat(c.verb, c.needs_verb ? "!" : "");
  auto add = [&](char kind, const std::vector<std::uint32_t>& indexes) {
    for (std::uint32_t index : indexes) out += cat("\n", kind, c.demands.verbs[index]);
  };
  std::set<std::string> fields;
  for (const schema::Demand& d : c.demands.fields) {
    std::string before = std::move(out);
    out.clear();
    add('c', d.chain);
    add('x', d.excluded);
    add('i', d.inside);
    fields.insert(std::move(out));
    out = std::move(before);
  }
  for (const std::string& f : fields) out += cat("\n-", f);
  return out;
}

SuggestedRule rule_for(const std::vector<const LoggedChange*>& changes) {
  std::map<std::string, const LoggedChange*> kinds;
  Verbs verbs, replaced;
  for (const LoggedChange* c : changes) {
    kinds.emplace(likeness(*c), c);
    replaced.insert(c->verb);
  }
  for (const auto& [key, c] : kinds) verbs.merge(enough_for(*c));
  // Single permissions are removed first: if a change needs the verb itself anyway, they are not
  // needed.
  std::vector<std::string> candidates(verbs.begin(), verbs.end());
  std::ranges::stable_sort(candidates, {}, [](const std::string& v) {
    return v.starts_with(schema::kGranularPrefix) ? 0 : v == schema::kGranularVerb ? 1 : 2;
  });
  for (const std::string& verb : candidates) {
    verbs.erase(verb);
    if (!std::ranges::all_of(kinds,
                             [&](const auto& kind) { return is_covered(*kind.second, verbs); }))
      verbs.insert(verb);
  }
  return {.group = changes[0]->group,
          .resource = changes[0]->resource,
          .verbs = {verbs.begin(), verbs.end()},
          .replaced = {replaced.begin(), replaced.end()},
          .changes = static_cast<std::size_t>(
              std::ranges::count(changes, false, &LoggedChange::is_second))};
}

// Clients read what they change, and read the answer: this takes `get` on the object itself, also
// for a client that writes its status.
std::vector<SuggestedRule> reads_for(const std::vector<SuggestedRule>& rules) {
  std::vector<SuggestedRule> out;
  for (const SuggestedRule& rule : rules) {
    const bool is_granular = std::ranges::find(rule.verbs, schema::kGranularVerb) !=
                             rule.verbs.end();
    if (!is_granular || rule.replaced == std::vector<std::string>{"create"}) continue;
    std::string object = rule.resource.substr(0, rule.resource.find('/'));
    if (out.empty() || out.back().group != rule.group || out.back().resource != object)
      out.push_back({.group = rule.group,
                     .resource = std::move(object),
                     .verbs = {"get"},
                     .replaced = {},
                     .changes = 0});
  }
  return out;
}

std::string role_name(std::string_view user) {
  std::string out = cat("fields-of:", user);
  std::ranges::replace_if(out, [](char c) { return c == '/' || c == '%'; }, '-');
  return out;
}

}  // namespace

bool is_covered(const LoggedChange& c, const Verbs& verbs) {
  bool has_verb = verbs.contains(c.verb);
  if (!has_verb && (c.needs_verb || !verbs.contains(schema::kGranularVerb))) return false;
  authz::fields::Answers answers;
  FieldJudge judge(c.demands, has_verb ? Marker::kRegular : Marker::kGranular, answers);
  while (const std::string* verb = judge.next()) judge.answer(verbs.contains(*verb));
  return !judge.refusal();
}

std::vector<SuggestedRole> suggest_roles(const std::vector<LoggedChange>& changes) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<const LoggedChange*>>
      places;
  for (const LoggedChange& c : changes)
    places[{c.namespace_name, c.group, c.resource}].push_back(&c);
  std::vector<SuggestedRole> out;
  for (const auto& [place, there] : places) {
    const std::string& space = std::get<0>(place);
    if (out.empty() || out.back().namespace_name != space) out.push_back({space, {}});
    out.back().rules.push_back(rule_for(there));
  }
  for (SuggestedRole& role : out)
    for (SuggestedRule& read : reads_for(role.rules)) role.rules.push_back(std::move(read));
  return out;
}

std::string roles_yaml(const std::vector<SuggestedRole>& roles, std::string_view user) {
  std::string out;
  for (const SuggestedRole& role : roles) {
    bool is_cluster = role.namespace_name.empty();
    if (!out.empty()) out += "---\n";
    out += cat(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ", is_cluster ? "ClusterRole" : "Role",
        "\nmetadata:\n  name: ", json::print(Value(role_name(user))), "\n");
    if (!is_cluster) out += cat("  namespace: ", json::print(Value(role.namespace_name)), "\n");
    out += "rules:\n";
    for (const SuggestedRule& rule : role.rules) {
      if (rule.changes == 0)
        out += "# to read what it changes, and the answers\n";
      else if (rule.verbs != rule.replaced)
        out += cat("# ", rule.changes, rule.changes == 1 ? " change" : " changes", ", instead of ",
                   rule_text(rule.group, {rule.resource}, rule.replaced), "\n");
      else
        out += cat("# ", rule.changes, rule.changes == 1 ? " change" : " changes",
                   " that only the verb itself covers\n");
      out += cat("- ", rule_text(rule.group, {rule.resource}, rule.verbs), "\n");
    }
  }
  return out;
}

Value roles_json(const std::vector<SuggestedRole>& roles, std::string_view user) {
  Value items = Value::array();
  for (const SuggestedRole& role : roles) {
    Value meta = Value::object({{"name", role_name(user)}});
    if (!role.namespace_name.empty()) meta.set("namespace", role.namespace_name);
    Value rules = Value::array();
    for (const SuggestedRule& rule : role.rules)
      rules.push_back(
          Value::object({{"apiGroups", Value::array({Value(rule.group)})},
                         {"resources", Value::array({Value(rule.resource)})},
                         {"verbs", Value::array({rule.verbs.begin(), rule.verbs.end()})}}));
    items.push_back(Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                   {"kind", role.namespace_name.empty() ? "ClusterRole" : "Role"},
                                   {"metadata", meta},
                                   {"rules", rules}}));
  }
  return Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}});
}

}  // namespace cardea::advice

#include "authz/namespace_policy/covers.h"

#include <algorithm>
#include <map>
#include <set>

#include "authz/effects.h"
#include "authz/namespace_policy/denial.h"
#include "authz/namespace_policy/parts.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

// A word that no rule mentions. No name of Kubernetes has such a character.
constexpr std::string_view kOther = "\x01";
// A permission on single fields that no rule mentions: rules that exclude a write exclude these
// too.
constexpr std::string_view kOtherGranular = "granular:\x01";
constexpr std::size_t kMostWork = 2'000'000;  // rules that are looked at

// The roles that concern the author at one level.
using Held = std::vector<const CompiledRole*>;
using Texts = std::vector<std::string>;

bool has(const Texts& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

struct Levels {
  Held master, local;
  bool is_broken_at_master = false, is_broken_locally = false;
};

void collect(const Index& index, const Index::Scope* scope, const User& author, Held& out,
             bool& is_broken) {
  if (!scope) return;
  is_broken |= !scope->problem().empty();
  for (const Grant* g : scope->all()) {
    if (!g->is_of(author)) continue;
    const CompiledRole* role = index.role(*g);
    if (!role || !role->problem().empty())
      is_broken = true;
    else if (std::ranges::find(out, role) == out.end())
      out.push_back(role);
  }
}

enum class Held3 { kDenied, kAllowed, kOpen };

// A permission as rules see it. A create that names nothing is denied by the name that its object
// brings, and not allowed by it.
struct Asked {
  const RequestWords& words;
  const RequestWords& named;  // the same where the request has its name, or can have none
  const KindNames* kinds;
  mutable std::optional<DenialWords> denials = std::nullopt;  // of `named`, made for the first
                                                              // denial
};

Held3 at_level(const Held& roles, const Asked& asked, const Restriction& restriction,
               std::size_t& work) {
  bool allows = false;
  for (const CompiledRole* role : roles) {
    work += role->rules().size();
    for (std::size_t i = 0; i < role->rules().size(); ++i) {
      const Rule& rule = role->rules()[i];
      if (rule.deny) {
        if (!asked.denials) asked.denials.emplace(asked.named, asked.kinds);
        if (asked.denials->concern(*role, i)) return Held3::kDenied;
        continue;
      }
      if (role->matches(i, asked.words) == Match::kNo) continue;
      allows |= rule.restriction.kind == Restriction::Kind::kNone ||
                rule.restriction == restriction;
    }
  }
  return allows ? Held3::kAllowed : Held3::kOpen;
}

// Everything that the rules of both sides mention.
struct Alphabet {
  std::set<std::string> verbs, kinds, api_groups, names, paths;
  std::map<std::string, std::set<std::string>, std::less<>> groups_of;  // of a resource: more that
                                                                        // count

  // What an API group of this resource may be.
  std::vector<std::string_view> groups_for(std::string_view resource) const {
    std::vector<std::string_view> out(api_groups.begin(), api_groups.end());
    if (auto more = groups_of.find(resource); more != groups_of.end())
      for (const std::string& g : more->second)
        if (!api_groups.contains(g)) out.emplace_back(g);
    return out;
  }

  void add(const CompiledRole& role, const KindNames* known) {
    for (std::size_t i = 0; i < role.rules().size(); ++i) {
      const Rule& rule = role.rules()[i];
      for (const std::string& v : rule.verbs) add_word(verbs, v);
      for (const std::string& k : role.kinds_of(i)) add_kind(k, known);
      for (const std::string& g : rule.api_groups)
        if (g != "*") api_groups.insert(g);
      names.insert(rule.resource_names.begin(), rule.resource_names.end());
      for (const std::string& u : rule.non_resource_urls) {
        std::string plain = u.substr(0, u.find('*'));
        if (!plain.empty()) paths.insert(plain);
        if (plain.size() != u.size()) paths.insert(plain + std::string(kOther));
      }
    }
  }
  void add_others() {
    for (std::string_view v : well_known_verbs()) verbs.emplace(v);
    for (std::string_view v : {kOther, std::string_view("granular"), kOtherGranular})
      verbs.emplace(v);
    for (std::string_view base :
         {std::string_view("pods"), std::string_view("subjectaccessreviews"), kOther,
          std::string_view("\x01"
                           "accessreviews")})
      kinds.emplace(base);
    kinds.emplace("subjectrulesreviews");
    add_effects();
    // Subresources that are not named follow their resource; proxies have their own verb.
    std::set<std::string> bases;
    for (const std::string& k : kinds) bases.insert(k.substr(0, k.find('/')));
    for (const std::string& b : bases) {
      kinds.insert(b);
      kinds.insert(cat(b, "/", kOther));
      kinds.insert(cat(b, "/proxy"));
    }
    api_groups.emplace(kOther);
    if (!names.empty()) names.emplace("");
    names.emplace(kOther);
    paths.emplace(cat("/", kOther));
  }

 private:
  // A denial reaches every way to what it is about: resources, their parts and their groups that no
  // rule names.
  void add_effects() {
    for (const EffectRow& row : effect_rows()) {
      const std::string_view to = row.to_resource.empty() ? row.resource : row.to_resource;
      const std::string_view to_group = row.to_group.empty() ? row.api_group : row.to_group;
      add_side(row.resource, row.api_group, row.subresource);
      add_side(to, to_group == "core" ? std::string_view() : to_group, row.to_subresource);
    }
  }
  void add_side(std::string_view resource, std::string_view group, std::string_view subresources) {
    // A row about every resource of one group.
    if (resource == "*" && group != "*") api_groups.emplace(group);
    if (resource == "*") resource = kOther;
    kinds.emplace(resource);
    if (group != "*") groups_of[std::string(resource)].emplace(group);
    for (std::string_view sub : split(subresources, ' '))
      if (!sub.empty() && sub != "*" && sub != "/" && sub != "-")
        kinds.insert(cat(resource, "/", sub));
  }
  static std::string_view plain(std::string_view word) {
    return word.starts_with('-') ? word.substr(1) : word;
  }
  static void add_word(std::set<std::string>& to, std::string_view word) {
    if (plain(word) != "*") to.emplace(plain(word));
  }
  void add_kind(std::string_view word, const KindNames* known) {
    add_word(kinds, word);
    if (!known) return;
    // A kind by its singular name is a resource of its group.
    std::string_view name = plain(word), sub;
    if (auto slash = name.find('/'); slash != std::string_view::npos) {
      sub = name.substr(slash);
      name = name.substr(0, slash);
    }
    for (const auto& [group, resource] : known->resources_of(name)) {
      kinds.insert(cat(resource, sub));
      api_groups.insert(group);
    }
  }
};

// Those of an alphabet that a rule may match: what it names, and what that stands for.
Texts kinds_for(const Alphabet& alphabet, const CompiledRole& role, std::size_t rule,
                const KindNames* known) {
  const Texts& words = role.kinds_of(rule);
  if (has(words, "*")) return {alphabet.kinds.begin(), alphabet.kinds.end()};
  std::set<std::string> out;
  for (const std::string& word : words) {
    if (word.starts_with('-')) continue;
    // With its parts, if it names none.
    auto add = [&](const std::string& kind) {
      out.insert(kind);
      const std::string parts = kind + "/";
      for (auto at = alphabet.kinds.lower_bound(parts);
           at != alphabet.kinds.end() && at->starts_with(parts); ++at)
        out.insert(*at);
    };
    add(word);
    auto slash = word.find('/');
    std::string sub = slash == std::string::npos ? "" : word.substr(slash);
    if (!known) continue;
    for (const auto& [group, resource] : known->resources_of(word.substr(0, slash)))
      add(cat(resource, sub));
  }
  return {out.begin(), out.end()};
}
// Whether a verb of a rule is a word for requests with other verbs.
bool is_wide(std::string_view verb) {
  return verb == "*" || verb == "permission-request" || is_stream_word(verb);
}
Texts verbs_for(const Alphabet& alphabet, const Rule& rule) {
  if (std::ranges::any_of(rule.verbs, is_wide))
    return {alphabet.verbs.begin(), alphabet.verbs.end()};
  std::set<std::string> out;
  for (const std::string& v : rule.verbs) {
    if (!v.starts_with('-')) out.insert(v);
    if (v == "update") out.insert("patch");
    if (v == "delete") out.insert("deletecollection");
  }
  return {out.begin(), out.end()};
}

std::string shown(const std::string& word, std::string_view what) {
  return word.find(kOther) == std::string::npos ? word : std::string(what);
}

Permission permission_of(const Attributes& a, const Restriction& restriction) {
  Permission out;
  out.verb = shown(std::string(a.verb),
                   a.verb == kOtherGranular ? "any other granular verb" : "any other verb");
  out.restriction = restriction;
  if (!a.is_resource_request) {
    out.path = a.path;
    if (out.path.ends_with(kOther)) out.path.back() = '*';
    return out;
  }
  out.api_group = shown(std::string(a.api_group), "any other");
  std::string kind = shown(std::string(a.resource), "any other kind");
  out.kind = a.subresource.empty()
                 ? kind
                 : cat(kind, "/", shown(std::string(a.subresource), "any subresource"));
  out.name = shown(std::string(a.name), "any other");
  return out;
}

}  // namespace

std::string Permission::text() const {
  if (!path.empty()) return cat(verb, " ", path);
  std::string out = cat(verb, " ", kind);
  if (api_group != "any other") out += cat(" in API group ", quoted(api_group));
  if (!name.empty() && name != "any other") out += cat(" named ", quoted(name));
  return out;
}

std::optional<Permission> first_missing(const Index& index, const User& author,
                                        std::string_view namespace_name,
                                        const std::vector<Rule>& rules, const KindNames* kinds,
                                        const ResourceGroups& groups) {
  bool is_master = namespace_name == index.master();
  Levels held;
  collect(index, index.scope(index.master()), author, held.master, held.is_broken_at_master);
  if (!is_master)
    collect(index, index.scope(namespace_name), author, held.local, held.is_broken_locally);
  const CompiledRole wanted(namespace_name, "", rules, "", groups);
  Alphabet alphabet;
  alphabet.add(wanted, kinds);
  for (const Held* level : {&held.master, &held.local})
    for (const CompiledRole* role : *level) alphabet.add(*role, kinds);
  alphabet.add_others();
  std::size_t work = 0;

  auto is_held = [&](const Asked& asked, const Restriction& restriction) {
    if (held.is_broken_at_master) return false;
    Held3 first = at_level(held.master, asked, restriction, work);
    if (first != Held3::kOpen) return first == Held3::kAllowed;
    if (held.is_broken_locally || !asked.words.attributes.is_resource_request) return false;
    return at_level(held.local, asked, restriction, work) == Held3::kAllowed;
  };
  // What of the role itself takes this away again.
  auto is_taken_back = [&](const RequestWords& words) {
    if (!wanted.has_deny()) return false;
    work += wanted.rules().size();
    const DenialWords denials(words, kinds);
    bool is_sure = false;
    for (std::size_t i = 0; i < wanted.rules().size() && !is_sure; ++i)
      if (wanted.rules()[i].deny && wanted.rules()[i].restriction.kind == Restriction::Kind::kNone)
        denials.for_each(wanted, i,
                         [&](Match match, const IndirectEffect*, const RequestWords& read) {
                           // Without a name every object is meant, unless one is to come.
                           is_sure = match == Match::kYes || match == Match::kReached ||
                                     (match == Match::kByName &&
                                      !equals_ignoring_case(read.attributes.verb, "create"));
                           return !is_sure;
                         });
    return is_sure;
  };
  auto missing = [&](std::size_t i, const Attributes& a) -> std::optional<Permission> {
    RequestWords words(a, kinds);
    ++work;
    if (wanted.matches(i, words) == Match::kNo) return std::nullopt;
    auto is_covered = [&](const RequestWords& named) {
      return is_taken_back(named) || is_held({words, named, kinds}, rules[i].restriction);
    };
    bool brings_its_name = a.is_resource_request && a.name.empty() &&
                           equals_ignoring_case(a.verb, "create");
    if (!brings_its_name)
      return is_covered(words) ? std::nullopt
                               : std::optional(permission_of(a, rules[i].restriction));
    for (const std::string& name : alphabet.names) {
      if (name.empty()) continue;
      Attributes brought = a;
      brought.name = name;
      if (!is_covered(RequestWords(brought, kinds)))
        return permission_of(brought, rules[i].restriction);
    }
    return std::nullopt;
  };

  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    if (rule.deny) continue;
    Attributes a(author);
    const Texts verbs = verbs_for(alphabet, rule);
    if (is_master && !rule.non_resource_urls.empty())
      for (const std::string& verb : verbs)
        for (const std::string& path : alphabet.paths) {
          a.verb = verb;
          a.path = path;
          if (auto found = missing(i, a)) return found;
        }
    a.is_resource_request = true;
    a.path = "";
    a.namespace_name = is_master ? std::string_view() : namespace_name;
    if (rule.resource_kinds.empty()) continue;
    for (const std::string& kind : kinds_for(alphabet, wanted, i, kinds)) {
      auto slash = kind.find('/');
      a.resource = std::string_view(kind).substr(0, slash);
      a.subresource = slash == std::string::npos ? std::string_view()
                                                 : std::string_view(kind).substr(slash + 1);
      const std::vector<std::string_view> api_groups = alphabet.groups_for(a.resource);
      for (const std::string& verb : verbs) {
        a.verb = verb;
        for (std::string_view group : api_groups) {
          a.api_group = group;
          for (const std::string& name : alphabet.names) {
            a.name = name;
            if (auto found = missing(i, a)) return found;
            if (work > kMostWork)
              return Permission{.verb = "*",
                                .api_group = "any other",
                                .kind = join(rule.resource_kinds, ","),
                                .name = "",
                                .path = "",
                                .restriction = rule.restriction};
          }
        }
      }
    }
  }
  return std::nullopt;
}

std::vector<rbac::PolicyRule> granted_by(const std::vector<Rule>& rules, const KindNames* known,
                                         const ResourceGroups& groups) {
  std::vector<rbac::PolicyRule> out;
  for (const Rule& rule : rules) {
    if (rule.deny) continue;
    rbac::PolicyRule given{.verbs = {},
                           .api_groups = rule.api_groups,
                           .resources = {},
                           .resource_names = rule.resource_names,
                           .non_resource_urls = {}};
    if (given.api_groups.empty()) given.api_groups = {"*"};
    Texts kinds;
    if (!groups.expand(rule.resource_kinds, kinds)) continue;  // it allows nothing
    for (const std::string& v : rule.verbs) {
      if (!v.starts_with('-')) given.verbs.push_back(is_wide(v) ? "*" : v);
      if (v == "update") given.verbs.emplace_back("patch");
      if (v == "delete") given.verbs.emplace_back("deletecollection");
    }
    for (const std::string& k : kinds) {
      if (k.starts_with('-')) continue;
      auto slash = k.find('/');
      auto add = [&](const std::string& resource) {
        given.resources.push_back(slash == std::string::npos ? resource
                                                             : resource + k.substr(slash));
        if (known && slash == std::string::npos)
          for (const std::string& part : known->parts_of(resource).value_or(Texts()))
            given.resources.push_back(cat(resource, "/", part));
      };
      add(k.substr(0, slash));
      if (known)
        for (const auto& [group, resource] : known->resources_of(k.substr(0, slash))) add(resource);
    }
    if (!given.resources.empty()) out.push_back(given);
    if (!rule.non_resource_urls.empty())
      out.push_back({.verbs = given.verbs,
                     .api_groups = {},
                     .resources = {},
                     .resource_names = {},
                     .non_resource_urls = rule.non_resource_urls});
  }
  return out;
}

std::vector<Rule> lifted(const std::vector<Rule>& before, const std::vector<Rule>& after,
                         const ResourceGroups& groups) {
  std::vector<Rule> out;
  for (const Rule& rule : before) {
    if (!rule.deny || std::ranges::find(after, rule) != after.end()) continue;
    Rule& given = out.emplace_back(rule);
    given.deny = false;
    given.restriction = {};
    Texts kinds;
    if (!groups.expand(given.resource_kinds, kinds)) given.resource_kinds = {"*"};
  }
  return out;
}

bool changes_denials(const std::vector<Rule>& before, const std::vector<Rule>& after) {
  return !lifted(before, after).empty() || !lifted(after, before).empty();
}

}  // namespace cardea::authz::namespace_policy

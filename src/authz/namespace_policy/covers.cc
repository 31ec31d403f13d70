#include "authz/namespace_policy/covers.h"

#include <algorithm>
#include <set>

#include "authz/namespace_policy/denial.h"
#include "authz/namespace_policy/holdings.h"
#include "authz/namespace_policy/parts.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

constexpr std::size_t kMostWork = 2'000'000;  // rules that are looked at

using Texts = std::vector<std::string>;

bool has(const Texts& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

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
                                        const std::vector<Rule>& rules, const KindNames* known,
                                        const ResourceGroups& groups) {
  const SymbolKinds symbols(known);
  const KindNames* kinds = &symbols;
  const Holdings held(index, author, namespace_name, symbols);
  const CompiledRole wanted(namespace_name, "", rules, "", groups);
  Alphabet alphabet;
  alphabet.add(wanted, kinds);
  held.add_to(alphabet);
  alphabet.add_others();
  std::size_t work = 0;

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
      return is_taken_back(named) ||
             held.answer({words, named}, rules[i].restriction, work) == Holdings::Answer::kAllowed;
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
    if (held.is_master() && !rule.non_resource_urls.empty())
      for (const std::string& verb : verbs)
        for (const std::string& path : alphabet.paths) {
          a.verb = verb;
          a.path = path;
          if (auto found = missing(i, a)) return found;
        }
    a.is_resource_request = true;
    a.path = "";
    a.namespace_name = held.request_namespace();
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

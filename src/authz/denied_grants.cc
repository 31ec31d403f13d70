#include "authz/denied_grants.h"

#include <algorithm>

#include "authz/effects.h"
#include "base/strings.h"

namespace cardea::authz {
namespace {

using rbac::PolicyRule;
using Texts = std::vector<std::string>;

// A rule has a few dozen effects. A rule with more counts as a rule for everything.
constexpr std::size_t kMostEffectsOfARule = 1000;

// Namespace policy compares without regard to case, and both sides may come from there.
bool has(const Texts& list, std::string_view word) {
  return std::ranges::any_of(list,
                             [&](const std::string& w) { return equals_ignoring_case(w, word); });
}

bool share(const Texts& a, const Texts& b) {
  return has(a, "*") || has(b, "*") ||
         std::ranges::any_of(a, [&](const std::string& word) { return has(b, word); });
}

// Subresources are taken for what they belong to, and `*` before a slash for everything.
Texts without_subresources(Texts resources) {
  for (std::string& r : resources) r = r.substr(0, r.find('/'));
  return resources;
}

// What a list of a rule and a list of a row have in common; `*` stands for everything in either.
Texts common(const Texts& granted, std::string_view row) {
  if (row == "*") return granted;
  Texts out;
  for (std::string_view word : split(row, ' '))
    if (has(granted, "*") || has(granted, word)) out.emplace_back(word);
  return out;
}

// Adds the effects of a rule's resource, wildcards included, by one row.
void add_through(const EffectRow& row, std::string_view granted, Texts& out) {
  const bool is_all = granted == "*";  // without a slash: objects and their subresources
  const auto slash = granted.find('/');
  const std::string_view base = granted.substr(0, slash);
  const std::string_view sub = is_all                            ? std::string_view("*")
                               : slash == std::string_view::npos ? std::string_view()
                                                                 : granted.substr(slash + 1);
  if (row.resource != "*" && base != "*" && !equals_ignoring_case(base, row.resource)) return;
  if (row.subresource == "*" && sub.empty()) return;
  if (row.subresource.empty() && !sub.empty() && !is_all) return;
  const std::string_view to = !row.to_resource.empty() ? row.to_resource
                              : row.resource == "*"    ? base
                                                       : row.resource;
  auto add = [&](std::string_view with_sub) {
    std::string text = with_sub.empty() ? std::string(to) : cat(to, "/", with_sub);
    if (out.empty() || out.back() != text) out.push_back(std::move(text));
  };
  const bool is_named = row.subresource != "*" && row.subresource != "/" &&
                        !row.subresource.empty();
  const Texts subs = is_named ? common({std::string(sub)}, row.subresource)
                              : Texts{std::string(sub)};
  for (const std::string& s : subs) {
    if (row.to_subresource == "-" || (row.to_subresource.empty() && row.subresource.empty()))
      add("");
    else if (!row.to_subresource.empty())
      add(row.to_subresource);
    else {
      if (is_all && !is_named) add("");
      if (!is_all || is_named || to != "*") add(s);
    }
  }
}

// The effects of a granted rule by one row of the table; without verbs: none.
PolicyRule through(const EffectRow& row, const PolicyRule& rule) {
  PolicyRule out;
  for (const std::string& r : rule.resources) add_through(row, r, out.resources);
  out.api_groups = common(rule.api_groups, row.api_group);
  out.verbs = common(rule.verbs, row.verbs);
  if (out.resources.empty() || out.api_groups.empty() || out.verbs.empty()) return {};
  if (!row.to_verb.empty()) out.verbs = {std::string(row.to_verb)};
  if (!row.to_group.empty())
    out.api_groups = {row.to_group == "core" ? "" : std::string(row.to_group)};
  // Another resource has other names.
  if (row.to_resource.empty()) out.resource_names = rule.resource_names;
  return out;
}

// The rule and all its effects: for each row of the table whose left side the rule covers, its
// right side, and the effects of that. nullopt: there are too many effects.
std::vector<PolicyRule> with_effects(const PolicyRule& rule) {
  std::vector<PolicyRule> out = {rule};
  std::vector<bool> is_word = {false};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (is_word[i]) continue;
    for (const EffectRow& row : effect_rows()) {
      PolicyRule effect = through(row, out[i]);
      if (effect.verbs.empty() || std::ranges::find(out, effect) != out.end()) continue;
      if (out.size() == kMostEffectsOfARule) return {};
      out.push_back(std::move(effect));
      is_word.push_back(row.kind == EffectRow::Kind::kWord);
    }
  }
  return out;
}

// A permission on fields is a part of writing the object: who is denied the write does not give the
// part away. With some of them new objects get their names.
std::vector<PolicyRule> with_whole_writes(const PolicyRule& rule) {
  PolicyRule whole = rule;
  whole.verbs.clear();
  for (const std::string& verb : rule.verbs) {
    if (!equals_ignoring_case(verb.substr(0, verb.find(':')), "granular")) continue;
    if (whole.verbs.empty()) whole.verbs = {"update", "patch"};
    if (names_new_objects(verb)) whole.verbs.emplace_back("create");
  }
  return whole.verbs.empty() ? std::vector{rule} : std::vector{rule, whole};
}

bool is_met(const ResourceRule& denied, const PolicyRule& granted) {
  bool names = granted.resource_names.empty() || denied.resource_names.empty() ||
               share(granted.resource_names, denied.resource_names);
  return names && share(granted.verbs, denied.verbs) &&
         share(granted.api_groups, denied.api_groups) &&
         share(without_subresources(granted.resources), without_subresources(denied.resources));
}

bool may_be_denied(const Rules& rules, const PolicyRule& granted) {
  if (!granted.non_resource_urls.empty())
    return std::ranges::any_of(rules.denied_paths,
                               [](const NonResourceRule& r) { return !r.to_everybody; });
  if (std::ranges::all_of(rules.denied_resources, &ResourceRule::to_everybody)) return false;
  const std::vector<PolicyRule> all = with_effects(granted);
  if (all.empty()) return true;
  return std::ranges::any_of(rules.denied_resources, [&](const ResourceRule& denied) {
    return !denied.to_everybody &&
           std::ranges::any_of(all, [&](const PolicyRule& rule) { return is_met(denied, rule); });
  });
}

}  // namespace

bool may_be_denied(const Rules& rules, const std::vector<PolicyRule>& granted) {
  if (rules.denied_resources.empty() && rules.denied_paths.empty()) return false;
  return std::ranges::any_of(granted, [&](const PolicyRule& rule) {
    return std::ranges::any_of(with_whole_writes(rule),
                               [&](const PolicyRule& one) { return may_be_denied(rules, one); });
  });
}

bool names_new_objects(std::string_view verb) {
  return verb == "granular:identity" || verb == "granular:metadata";
}

bool replaces_checks(std::string_view verb) {
  return verb == "escalate" || verb == "bind" || verb == "deny";
}

std::string denied_grant_text(const User& user, std::string_view exemption) {
  return cat("user ", quoted(user.name),
             " is attempting to grant a permission that a policy may deny to this user: this needs "
             "the verb ",
             quoted(exemption));
}

}  // namespace cardea::authz

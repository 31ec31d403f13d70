#include "authz/rbac/covers.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/strings.h"

namespace cardea::authz::rbac {
namespace {

using Texts = std::vector<std::string>;

// Beyond this many a rule is no longer taken apart: a few kilobytes of lists can stand for
// billions.
constexpr std::size_t kMostAtoms = 100'000;

bool has(const Texts& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool resource_covered(const Texts& held, std::string_view wanted) {
  if (has(held, "*") || has(held, wanted)) return true;
  auto slash = wanted.find('/');
  return slash != std::string_view::npos && has(held, cat("*", wanted.substr(slash)));
}

// Each text once, in the order of appearance.
Texts distinct(const Texts& list) {
  Texts out;
  std::set<std::string_view> seen;
  for (const std::string& text : list)
    if (seen.insert(text).second) out.push_back(text);
  return out;
}

bool covers(const PolicyRule& held, const PolicyRule& wanted) {
  auto all = [](const Texts& texts, auto holds) { return std::ranges::all_of(texts, holds); };
  if (!has(held.verbs, "*") &&
      !all(wanted.verbs, [&](const auto& v) { return has(held.verbs, v); }))
    return false;
  if (!has(held.api_groups, "*") &&
      !all(wanted.api_groups, [&](const auto& g) { return has(held.api_groups, g); }))
    return false;
  if (!all(wanted.resources, [&](const auto& r) { return resource_covered(held.resources, r); }))
    return false;
  if (!held.resource_names.empty() &&
      (wanted.resource_names.empty() ||
       !all(wanted.resource_names, [&](const auto& n) { return has(held.resource_names, n); })))
    return false;
  return all(wanted.non_resource_urls, [&](const auto& url) {
    return std::ranges::any_of(held.non_resource_urls,
                               [&](const auto& h) { return url_covers(h, url); });
  });
}

bool is_covered(const std::vector<PolicyRule>& held, const PolicyRule& wanted) {
  return std::ranges::any_of(held, [&](const PolicyRule& h) { return covers(h, wanted); });
}

std::size_t product(std::initializer_list<std::size_t> factors) {
  std::size_t out = 1;
  for (std::size_t f : factors)
    if (__builtin_mul_overflow(out, f, &out)) return SIZE_MAX;
  return out;
}

// The part of a rule about resources, and the part about URLs, each taken apart on its own.
void add_missing_resources(const std::vector<PolicyRule>& held, const PolicyRule& rule,
                           std::vector<PolicyRule>& out) {
  PolicyRule r{rule.verbs, rule.api_groups, rule.resources, rule.resource_names, {}};
  if (r.verbs.empty() || r.api_groups.empty() || r.resources.empty() || is_covered(held, r)) return;
  std::size_t names = std::max<std::size_t>(r.resource_names.size(), 1);
  if (product({r.verbs.size(), r.api_groups.size(), r.resources.size(), names}) > kMostAtoms) {
    r = {distinct(r.verbs),
         distinct(r.api_groups),
         distinct(r.resources),
         distinct(r.resource_names),
         {}};
    names = std::max<std::size_t>(r.resource_names.size(), 1);
    if (product({r.verbs.size(), r.api_groups.size(), r.resources.size(), names}) > kMostAtoms) {
      out.push_back(std::move(r));
      return;
    }
  }
  for (const std::string& group : r.api_groups)
    for (const std::string& resource : r.resources)
      for (const std::string& verb : r.verbs)
        for (std::size_t n = 0; n < names; ++n) {
          PolicyRule atom{{verb}, {group}, {resource}, {}, {}};
          if (!r.resource_names.empty()) atom.resource_names = {r.resource_names[n]};
          if (!is_covered(held, atom)) out.push_back(std::move(atom));
        }
}

void add_missing_urls(const std::vector<PolicyRule>& held, const PolicyRule& rule,
                      std::vector<PolicyRule>& out) {
  PolicyRule r{rule.verbs, {}, {}, {}, rule.non_resource_urls};
  if (r.verbs.empty() || r.non_resource_urls.empty() || is_covered(held, r)) return;
  if (product({r.verbs.size(), r.non_resource_urls.size()}) > kMostAtoms) {
    r = {distinct(r.verbs), {}, {}, {}, distinct(r.non_resource_urls)};
    if (product({r.verbs.size(), r.non_resource_urls.size()}) > kMostAtoms) {
      out.push_back(std::move(r));
      return;
    }
  }
  for (const std::string& url : r.non_resource_urls)
    for (const std::string& verb : r.verbs) {
      PolicyRule atom{{verb}, {}, {}, {}, {url}};
      if (!is_covered(held, atom)) out.push_back(std::move(atom));
    }
}

}  // namespace

bool url_covers(std::string_view held, std::string_view wanted) {
  if (held == wanted) return true;
  if (!held.ends_with('*')) return false;
  while (held.ends_with('*')) held.remove_suffix(1);
  return wanted.starts_with(held);
}

std::vector<PolicyRule> missing_rules(const std::vector<PolicyRule>& held,
                                      const std::vector<PolicyRule>& wanted) {
  std::vector<PolicyRule> out;
  for (const PolicyRule& rule : wanted) {
    add_missing_resources(held, rule, out);
    add_missing_urls(held, rule, out);
  }
  return out;
}

bool is_simple(const PolicyRule& r) {
  return r.api_groups.size() == 1 && r.resources.size() == 1 && r.resource_names.size() <= 1 &&
         r.non_resource_urls.empty();
}

std::vector<PolicyRule> compacted(std::vector<PolicyRule> rules) {
  std::vector<PolicyRule> out, simple;
  std::map<std::tuple<std::string, std::string, Texts>, std::size_t> places;
  for (PolicyRule& r : rules) {
    if (!is_simple(r)) {
      out.push_back(std::move(r));
      continue;
    }
    auto [it, is_new] = places.try_emplace({r.api_groups[0], r.resources[0], r.resource_names},
                                           simple.size());
    if (is_new)
      simple.push_back(std::move(r));
    else
      std::ranges::move(r.verbs, std::back_inserter(simple[it->second].verbs));
  }
  std::ranges::move(simple, std::back_inserter(out));
  return out;
}

std::string escalation_text(const User& user, std::vector<PolicyRule> missing,
                            const std::string& resolution_errors) {
  std::set<std::string> lines;
  for (const PolicyRule& r : compacted(std::move(missing))) lines.insert(compact_text(r));
  Texts groups;
  for (const std::string& g : user.groups) groups.push_back(quoted(g));
  std::string text = cat("user ", quoted(user.name), " (groups=[", join(groups, " "),
                         "]) is attempting to grant RBAC permissions not currently held:\n",
                         join({lines.begin(), lines.end()}, "\n"));
  if (!resolution_errors.empty()) text += cat("; resolution errors: [", resolution_errors, "]");
  return text;
}

}  // namespace cardea::authz::rbac

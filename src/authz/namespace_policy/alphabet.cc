#include "authz/namespace_policy/alphabet.h"

#include "authz/effects.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

std::string_view plain(std::string_view word) {
  return word.starts_with('-') ? word.substr(1) : word;
}

void add_word(std::set<std::string>& to, std::string_view word) {
  if (plain(word) != "*") to.emplace(plain(word));
}

std::string_view any_if_other(std::string_view word) {
  return word.find(kOther) == std::string_view::npos ? word : std::string_view("*");
}

}  // namespace

std::vector<std::string_view> Alphabet::groups_for(std::string_view resource) const {
  std::vector<std::string_view> out(api_groups.begin(), api_groups.end());
  if (auto more = groups_of.find(resource); more != groups_of.end())
    for (const std::string& g : more->second)
      if (!api_groups.contains(g)) out.emplace_back(g);
  return out;
}

void Alphabet::add(const CompiledRole& role, const KindNames* known) {
  for (std::size_t i = 0; i < role.rules().size(); ++i) {
    const Rule& rule = role.rules()[i];
    for (const std::string& v : rule.verbs) add_word(verbs, v);
    for (const std::string& k : role.kinds_of(i)) add_kind(k, known);
    for (const std::string& g : rule.api_groups)
      if (g != "*") api_groups.insert(g);
    names.insert(rule.resource_names.begin(), rule.resource_names.end());
    for (const std::string& u : rule.non_resource_urls) add_path(u);
  }
}

void Alphabet::add_path(std::string_view url) {
  const std::string_view prefix = url.substr(0, url.find('*'));
  if (!prefix.empty()) paths.emplace(prefix);
  if (prefix.size() != url.size()) paths.insert(cat(prefix, kOther));
}

void Alphabet::add_others() {
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

// A denial reaches every way to what it is about: resources, their parts and their groups that no
// rule names.
void Alphabet::add_effects() {
  for (const EffectRow& row : effect_rows()) {
    const std::string_view to = row.to_resource.empty() ? row.resource : row.to_resource;
    const std::string_view to_group = row.to_group.empty() ? row.api_group : row.to_group;
    add_side(row.resource, row.api_group, row.subresource);
    add_side(to, to_group == "core" ? std::string_view() : to_group, row.to_subresource);
  }
}

void Alphabet::add_side(std::string_view resource, std::string_view group,
                        std::string_view subresources) {
  // A row about every resource of one group.
  if (resource == "*" && group != "*") api_groups.emplace(group);
  if (resource == "*") resource = kOther;
  kinds.emplace(resource);
  if (group != "*") groups_of[std::string(resource)].emplace(group);
  for (std::string_view sub : split(subresources, ' '))
    if (!sub.empty() && sub != "*" && sub != "/" && sub != "-")
      kinds.insert(cat(resource, "/", sub));
}

void Alphabet::add_kind(std::string_view word, const KindNames* known) {
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

std::string_view SymbolKinds::kind_of(std::string_view group, std::string_view resource) const {
  return known_ ? known_->kind_of(group, resource) : std::string_view();
}

std::vector<std::pair<std::string, std::string>> SymbolKinds::resources_of(
    std::string_view kind) const {
  return known_ ? known_->resources_of(kind) : std::vector<std::pair<std::string, std::string>>();
}

std::optional<std::vector<std::string>> SymbolKinds::parts_of(std::string_view resource) const {
  return known_ ? known_->parts_of(resource) : std::nullopt;
}

bool SymbolKinds::is_excluded(std::string_view group, std::string_view resource,
                              std::string_view verb) const {
  if (verb == kOtherExcluded) return true;
  if (!known_) return false;
  auto [at, is_new] = excluded_.try_emplace(
      {std::string(any_if_other(group)), std::string(any_if_other(resource)), std::string(verb)},
      false);
  if (is_new)
    at->second = known_->is_excluded(std::get<0>(at->first), std::get<1>(at->first), verb);
  return at->second;
}

}  // namespace cardea::authz::namespace_policy

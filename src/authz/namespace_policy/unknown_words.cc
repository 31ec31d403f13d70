#include "authz/namespace_policy/unknown_words.h"

#include <algorithm>

#include "authz/namespace_policy/parts.h"
#include "authz/namespace_policy/restriction.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

std::string_view without_sign(std::string_view word) {
  return word.substr(word.starts_with('-') ? 1 : 0);
}

bool is_known_verb(std::string_view verb) {
  constexpr std::string_view kBegins[] = {"granular:", "impersonate:", "impersonate-on:"};
  constexpr std::string_view kOthers[] = {"*", "granular",
                                          "request-serviceaccounts-token-audience"};
  return verb_number(verb) >= 0 || is_stream_word(verb) ||
         std::ranges::find(kOthers, verb) != std::end(kOthers) ||
         std::ranges::any_of(kBegins, [&](std::string_view b) { return verb.starts_with(b); });
}

// What is asked for without being an object.
bool is_asked_only(std::string_view resource) {
  constexpr std::string_view kAll[] = {"users", "groups", "uids", "userextras", "signers"};
  return std::ranges::find(kAll, resource) != std::end(kAll);
}

// The resources that a word names, by their plural names; empty: none is known.
std::vector<std::string> resources_named(std::string_view word, const KindNames& kinds) {
  std::vector<std::string> out;
  if (kinds.parts_of(word)) out.emplace_back(word);
  for (auto& [group, resource] : kinds.resources_of(word)) out.push_back(resource);
  return out;
}

class Looking {
 public:
  Looking(const Rule& rule, std::string at, const KindNames& kinds, std::vector<std::string>& out)
      : rule_(rule), at_(std::move(at)), kinds_(kinds), out_(out) {}

  void look() {
    for (std::size_t i = 0; i < rule_.verbs.size(); ++i)
      if (std::string_view verb = without_sign(rule_.verbs[i]); !is_known_verb(verb))
        report("verbs", i, "verb", verb);
    for (std::size_t i = 0; i < rule_.resource_kinds.size(); ++i)
      look_at_kind(i, without_sign(rule_.resource_kinds[i]));
    for (std::size_t i = 0; i < rule_.api_groups.size(); ++i)
      if (const std::string& g = rule_.api_groups[i];
          g != "*" && !g.empty() && !kinds_.has_group(g))
        report("apiGroups", i, "API group", g);
    if (rule_.restriction.kind != Restriction::Kind::kFieldsMutatable) return;
    for (std::size_t i = 0; i < rule_.restriction.items.size(); ++i) look_at_field(i);
  }

 private:
  void report(std::string_view list, std::size_t i, std::string_view what, std::string_view word) {
    out_.push_back(cat(at_, ".", list, "[", i, "]: unknown ", what, " ", quoted(word)));
  }

  void look_at_kind(std::size_t i, std::string_view word) {
    if (word == "*" || word.starts_with("resourcegroup:")) return;
    const std::string_view name = word.substr(0, word.find('/'));
    if (is_asked_only(name)) return;
    const std::vector<std::string> named = resources_named(name, kinds_);
    if (named.empty()) return report("resourceKinds", i, "resource", word);
    if (name.size() == word.size()) return;
    const std::string_view part = word.substr(name.size() + 1);
    const bool has = std::ranges::any_of(named, [&](const std::string& r) {
      auto parts = kinds_.parts_of(r);
      return parts && std::ranges::find(*parts, part) != parts->end();
    });
    if (!has) report("resourceKinds", i, "subresource", word);
  }

  // A field that none of the resources has. Resources that are not known may have any.
  void look_at_field(std::size_t i) {
    std::string problem;
    const FieldPattern field = FieldPattern::parse(rule_.restriction.items[i], problem);
    for (const std::string& word : rule_.resource_kinds) {
      if (word.starts_with('-')) continue;
      const auto named = resources_named(word.substr(0, word.find('/')), kinds_);
      if (named.empty()) return;
      for (const std::string& r : named)
        if (kinds_.any_version(r, [&](const schema::Schema& s) { return field.is_in(s); })) return;
    }
    report("attributeRestrictions.fieldsMutatable", i, "field", rule_.restriction.items[i]);
  }

  const Rule& rule_;
  const std::string at_;
  const KindNames& kinds_;
  std::vector<std::string>& out_;
};

}  // namespace

std::vector<std::string> unknown_words(const Role& role, const std::string& at,
                                       const KindNames& kinds) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < role.rules.size(); ++i)
    Looking(role.rules[i], cat(at, at.empty() ? "" : ".", "rules[", i, "]"), kinds, out).look();
  return out;
}

}  // namespace cardea::authz::namespace_policy

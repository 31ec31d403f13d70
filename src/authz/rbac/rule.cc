#include "authz/rbac/rule.h"

#include <algorithm>

#include "authz/rbac/hash.h"
#include "base/strings.h"

namespace cardea::authz::rbac {
namespace {

std::vector<std::string> texts(const json::Value& list) {
  std::vector<std::string> out;
  for (const json::Value& item : list.items()) out.emplace_back(item.as_string());
  return out;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

// Whether `entry` is `first` + "/" + `second`.
bool is_joined(std::string_view entry, std::string_view first, std::string_view second) {
  return entry.size() == first.size() + 1 + second.size() && entry.starts_with(first) &&
         entry[first.size()] == '/' && entry.ends_with(second);
}

bool resource_is(std::string_view entry, const Attributes& a) {
  if (a.subresource.empty()) return entry == a.resource;
  return is_joined(entry, a.resource, a.subresource) || is_joined(entry, "*", a.subresource);
}

}  // namespace

PolicyRule read_rule(const json::Value& rule) {
  return {texts(rule["verbs"]), texts(rule["apiGroups"]), texts(rule["resources"]),
          texts(rule["resourceNames"]), texts(rule["nonResourceURLs"])};
}

std::vector<PolicyRule> read_rules(const json::Value& rules) {
  std::vector<PolicyRule> out;
  for (const json::Value& rule : rules.items()) out.push_back(read_rule(rule));
  return out;
}

json::Value as_json(const PolicyRule& rule) {
  json::Value out = json::Value::object();
  auto add = [&out](std::string_view key, const std::vector<std::string>& list) {
    if (list.empty()) return;
    std::vector<json::Value> items(list.begin(), list.end());
    out.set(key, json::Value::array(std::move(items)));
  };
  add("apiGroups", rule.api_groups);
  add("nonResourceURLs", rule.non_resource_urls);
  add("resourceNames", rule.resource_names);
  add("resources", rule.resources);
  add("verbs", rule.verbs);
  return out;
}

std::string compact_text(const PolicyRule& rule) {
  std::vector<std::string> parts;
  auto add = [&parts](std::string_view key, const std::vector<std::string>& list) {
    if (list.empty()) return;
    std::vector<std::string> quotes;
    for (const std::string& item : list) quotes.push_back(quoted(item));
    parts.push_back(cat(key, ":[", join(quotes, " "), "]"));
  };
  add("APIGroups", rule.api_groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.non_resource_urls);
  add("ResourceNames", rule.resource_names);
  add("Verbs", rule.verbs);
  return cat("{", join(parts, ", "), "}");
}

bool url_matches(std::string_view pattern, std::string_view path) {
  if (pattern == "*" || pattern == path) return true;
  if (!pattern.ends_with('*')) return false;
  while (pattern.ends_with('*')) pattern.remove_suffix(1);
  return path.starts_with(pattern);
}

RuleQuery::RuleQuery(const Attributes& a)
    : attributes(a),
      verb(hash_word(a.verb)),
      api_group(hash_word(a.api_group)),
      resource(hash_word(a.resource)),
      any_resource(resource),
      name(hash_word(a.name)) {
  if (a.subresource.empty()) return;
  resource = hash_word(a.subresource, hash_word("/", resource));
  any_resource = hash_word(a.subresource, hash_word("*/"));
}

Role::Role(std::string_view namespace_name, std::string_view name, std::vector<PolicyRule> rules)
    : namespace_name_(namespace_name),
      name_(name),
      hash_(hash(namespace_name, name)),
      rules_(std::move(rules)) {
  auto add = [this](const std::vector<std::string>& list) {
    for (const std::string& word : list) words_.push_back(hash_word(word));
    return static_cast<std::uint32_t>(words_.size());
  };
  for (const PolicyRule& r : rules_) {
    Words w{};
    w.verbs_end = add(r.verbs);
    w.groups_end = add(r.api_groups);
    w.resources_end = add(r.resources);
    w.names_end = add(r.resource_names);
    w.any_verb = contains(r.verbs, "*");
    w.any_group = contains(r.api_groups, "*");
    w.any_resource = contains(r.resources, "*");
    words_of_.push_back(w);
  }
  words_.shrink_to_fit();
  words_of_.shrink_to_fit();
}

std::uint64_t Role::hash(std::string_view namespace_name, std::string_view name) {
  return hash_name(name, hash_name(namespace_name));
}

bool Role::allows(std::size_t i, std::uint32_t begin, const RuleQuery& q) const {
  const Words& w = words_of_[i];
  const PolicyRule& rule = rules_[i];
  const Attributes& a = q.attributes;
  const std::uint32_t* word = words_.data();
  auto has = [word](std::uint32_t from, std::uint32_t to, std::uint32_t hash, auto is_it) {
    for (std::uint32_t k = from; k < to; ++k)
      if (word[k] == hash && is_it(k - from)) return true;
    return false;
  };
  if (!w.any_verb &&
      !has(begin, w.verbs_end, q.verb, [&](auto k) { return rule.verbs[k] == a.verb; }))
    return false;
  if (!w.any_group && !has(w.verbs_end, w.groups_end, q.api_group,
                           [&](auto k) { return rule.api_groups[k] == a.api_group; }))
    return false;
  auto is_resource = [&](auto k) { return resource_is(rule.resources[k], a); };
  if (!w.any_resource && !has(w.groups_end, w.resources_end, q.resource, is_resource) &&
      (q.any_resource == q.resource ||
       !has(w.groups_end, w.resources_end, q.any_resource, is_resource)))
    return false;
  if (w.resources_end == w.names_end) return true;
  return has(w.resources_end, w.names_end, q.name,
             [&](auto k) { return rule.resource_names[k] == a.name; });
}

bool Role::allows_url(const PolicyRule& rule, const Attributes& a) const {
  if (!contains(rule.verbs, a.verb) && !contains(rule.verbs, "*")) return false;
  return std::ranges::any_of(rule.non_resource_urls,
                             [&](const std::string& url) { return url_matches(url, a.path); });
}

const PolicyRule* Role::allowing(const RuleQuery& q) const {
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (q.attributes.is_resource_request ? allows(i, begin, q)
                                         : allows_url(rules_[i], q.attributes))
      return &rules_[i];
    begin = words_of_[i].names_end;
  }
  return nullptr;
}

Mismatch mismatch(const PolicyRule& rule, const Attributes& a) {
  Mismatch out;
  auto lacks = [](const std::vector<std::string>& list, std::string_view text) {
    return !contains(list, "*") && !contains(list, text);
  };
  out.verb = lacks(rule.verbs, a.verb);
  if (a.is_resource_request) {
    out.kind = rule.resources.empty() && rule.api_groups.empty();
    out.api_group = lacks(rule.api_groups, a.api_group);
    out.resource = !contains(rule.resources, "*") &&
                   std::ranges::none_of(rule.resources,
                                        [&](const std::string& r) { return resource_is(r, a); });
    out.name = !rule.resource_names.empty() && !contains(rule.resource_names, a.name);
  } else {
    out.kind = rule.non_resource_urls.empty();
    out.url = std::ranges::none_of(
        rule.non_resource_urls, [&](const std::string& url) { return url_matches(url, a.path); });
  }
  return out;
}

bool rule_allows(const PolicyRule& rule, const Attributes& attributes) {
  Mismatch m = mismatch(rule, attributes);
  return !m.verb && !m.api_group && !m.resource && !m.name && !m.url;
}

}  // namespace cardea::authz::rbac

#include <algorithm>

#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/restriction.h"
#include "base/names.h"
#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::FieldErrors;

std::string under(const std::string& at, std::string_view field) {
  return at.empty() ? std::string(field) : cat(at, ".", field);
}
std::string item_of(const std::string& at, std::size_t i) {
  return cat(at, "[", i, "]");
}

void append(FieldErrors& to, FieldErrors more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool is_word(std::string_view word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](unsigned char c) { return c > ' ' && c != 0x7f; }) &&
         !word.starts_with('-');
}

// A list of verbs or kinds. The caller reports an empty list where it is an error.
void check_words(const std::vector<std::string>& words, const std::string& at,
                 FieldErrors& errors) {
  if (words.size() > kMostWords) {
    errors.push_back(
        json::too_many(at, static_cast<int>(words.size()), static_cast<int>(kMostWords)));
    return;
  }
  bool has_positive = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    bool is_negated = word.starts_with('-');
    has_positive |= !is_negated;
    std::string_view plain = is_negated ? word.substr(1) : word;
    if (!is_word(plain))
      errors.push_back(json::invalid(item_of(at, i), word,
                                     "must be a word, `*`, or one of these after a single `-`"));
    else if (is_negated && plain == "*")
      errors.push_back(json::invalid(item_of(at, i), word,
                                     "takes everything away: the rule would match nothing"));
    else if (plain != "*" && plain.find('*') != std::string_view::npos)
      errors.push_back(json::invalid(
          item_of(at, i), word,
          "`*` must stand alone: write the full names of resources and subresources"));
  }
  if (!words.empty() && !has_positive)
    errors.push_back(json::invalid(at, json::Value(join(words, ",")),
                                   "only takes away: a rule that names nothing matches nothing"));
}

void check_urls(const Rule& rule, const std::string& at, FieldErrors& errors) {
  if (rule.non_resource_urls.size() > kMostWords)
    errors.push_back(json::too_many(at, static_cast<int>(rule.non_resource_urls.size()),
                                    static_cast<int>(kMostWords)));
  for (std::size_t i = 0; i < rule.non_resource_urls.size() && i < kMostWords; ++i) {
    const std::string& url = rule.non_resource_urls[i];
    bool is_good = url == "*" || (url.starts_with('/') && (url.find('*') == std::string::npos ||
                                                           url.find('*') == url.size() - 1));
    if (!is_good)
      errors.push_back(json::invalid(item_of(at, i), url,
                                     "must be a path, perhaps with `*` at its end, or `*`"));
  }
}

void check_subjects(const std::vector<std::string>& names, const std::string& at,
                    FieldErrors& errors) {
  if (names.size() > kMostSubjects)
    errors.push_back(
        json::too_many(at, static_cast<int>(names.size()), static_cast<int>(kMostSubjects)));
  for (std::size_t i = 0; i < names.size() && i < kMostSubjects; ++i)
    if (names[i].empty())
      errors.push_back(json::required(item_of(at, i), "names must not be empty"));
}

void check_identity(const std::string& name, const std::string& namespace_name, const Place& place,
                    const std::string& at, FieldErrors& errors) {
  std::string where = under(at, "metadata");
  if (name.empty())
    errors.push_back(json::required(under(where, "name"), "name or generateName is required"));
  for (std::string& problem : path_segment_problems(name))
    errors.push_back(json::invalid(under(where, "name"), name, std::move(problem)));
  if (namespace_name.empty())
    errors.push_back(json::required(under(where, "namespace")));
  else if (!place.namespace_name.empty() && namespace_name != place.namespace_name)
    errors.push_back(json::invalid(under(where, "namespace"), namespace_name,
                                   cat("must be ", quoted(place.namespace_name))));
}

void check_key(std::string_view key, const std::string& name, const std::string& at,
               FieldErrors& errors) {
  if (key != name)
    errors.push_back(json::invalid(under(at, "metadata.name"), name,
                                   cat("must be equal to its key, ", quoted(key))));
}

}  // namespace

FieldErrors validate(const Rule& rule, const std::string& at, const ResourceGroups& groups) {
  FieldErrors errors;
  if (rule.verbs.empty())
    errors.push_back(json::required(under(at, "verbs"), "verbs must contain at least one value"));
  check_words(rule.verbs, under(at, "verbs"), errors);
  if (rule.resource_kinds.empty() && rule.non_resource_urls.empty())
    errors.push_back(
        json::required(under(at, "resourceKinds"),
                       "resourceKinds or nonResourceURLs must contain at least one value"));
  check_words(rule.resource_kinds, under(at, "resourceKinds"), errors);
  for (std::size_t i = 0; i < rule.resource_kinds.size(); ++i) {
    std::vector<std::string> opened;
    if (!groups.expand({rule.resource_kinds[i]}, opened))
      errors.push_back(
          json::not_found(item_of(under(at, "resourceKinds"), i), rule.resource_kinds[i]));
  }
  check_urls(rule, under(at, "nonResourceURLs"), errors);
  for (std::size_t i = 0; i < rule.resource_names.size(); ++i) {
    std::string where = item_of(under(at, "resourceNames"), i);
    if (rule.resource_names[i].empty()) errors.push_back(json::required(where));
    for (std::string& problem : path_segment_problems(rule.resource_names[i]))
      errors.push_back(json::invalid(where, rule.resource_names[i], std::move(problem)));
  }
  for (std::size_t i = 0; i < rule.api_groups.size(); ++i) {
    const std::string& group = rule.api_groups[i];
    if (group.empty() || group == "*") continue;
    for (std::string& problem : dns_subdomain_problems(group))
      errors.push_back(
          json::invalid(item_of(under(at, "apiGroups"), i), group, std::move(problem)));
  }
  if (rule.resource_kinds.empty() && (!rule.resource_names.empty() || !rule.api_groups.empty()))
    errors.push_back(
        json::forbidden(under(at, "nonResourceURLs"), "paths have neither names nor groups"));
  const bool is_line = std::ranges::none_of(rule.description,
                                            [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (rule.description.size() > kLongestText || !is_line)
    errors.push_back(json::invalid(under(at, "description"), rule.description,
                                   cat("must be one line of at most ", kLongestText, " bytes")));
  std::vector<std::string> kinds;
  groups.expand(rule.resource_kinds, kinds);
  if (errors.empty())
    append(errors, validate_restriction(rule, kinds, under(at, "attributeRestrictions")));
  return errors;
}

FieldErrors validate(const Role& role, const Place& place, const std::string& at,
                     const ResourceGroups& groups) {
  FieldErrors errors;
  check_identity(role.name, role.namespace_name, place, at, errors);
  std::string where = under(at, "rules");
  if (role.rules.size() > kMostRules) {
    errors.push_back(
        json::too_many(where, static_cast<int>(role.rules.size()), static_cast<int>(kMostRules)));
    return errors;
  }
  for (std::size_t i = 0; i < role.rules.size(); ++i) {
    append(errors, validate(role.rules[i], item_of(where, i), groups));
    if (!role.rules[i].non_resource_urls.empty() && role.namespace_name != place.master)
      errors.push_back(json::forbidden(
          under(item_of(where, i), "nonResourceURLs"),
          "paths lie in no namespace: only roles of the master namespace name them"));
  }
  return errors;
}

FieldErrors validate(const RoleBinding& binding, const Place& place, const std::string& at) {
  FieldErrors errors;
  check_identity(binding.name, binding.namespace_name, place, at, errors);
  std::string where = under(at, "roleRef");
  if (binding.role.name.empty()) errors.push_back(json::required(under(where, "name")));
  bool is_reachable = binding.role.namespace_name == binding.namespace_name ||
                      binding.role.namespace_name == place.master;
  if (!is_reachable)
    errors.push_back(json::invalid(under(where, "namespace"), binding.role.namespace_name,
                                   "must be the binding's own namespace or the master namespace"));
  check_subjects(binding.user_names, under(at, "userNames"), errors);
  check_subjects(binding.group_names, under(at, "groupNames"), errors);
  return errors;
}

FieldErrors validate(const PolicyDocument& policy, const Place& place,
                     const ResourceGroups& groups) {
  FieldErrors errors;
  check_identity(policy.name, policy.namespace_name, place, "", errors);
  if (policy.name != kPolicyName)
    errors.push_back(
        json::invalid("metadata.name", policy.name,
                      cat("the policy of a namespace is named ", quoted(kPolicyName))));
  Place inside{policy.namespace_name, place.master};
  for (const auto& [key, role] : policy.roles) {
    std::string at = cat("roles[", key, "]");
    check_key(key, role.name, at, errors);
    append(errors, validate(role, inside, at, groups));
  }
  return errors;
}

FieldErrors validate(const PolicyBindingDocument& binding, const Place& place) {
  FieldErrors errors;
  check_identity(binding.name, binding.namespace_name, place, "", errors);
  if (binding.policy.name != kPolicyName)
    errors.push_back(
        json::invalid("policyRef.name", binding.policy.name,
                      cat("the policy of a namespace is named ", quoted(kPolicyName))));
  if (binding.name != binding.policy.namespace_name)
    errors.push_back(json::invalid(
        "metadata.name", binding.name,
        cat("must be the namespace of policyRef, ", quoted(binding.policy.namespace_name))));
  bool is_reachable = binding.policy.namespace_name == binding.namespace_name ||
                      binding.policy.namespace_name == place.master;
  if (!is_reachable)
    errors.push_back(json::invalid("policyRef.namespace", binding.policy.namespace_name,
                                   "must be the binding's own namespace or the master namespace"));
  Place inside{binding.namespace_name, place.master};
  for (const auto& [key, one] : binding.role_bindings) {
    std::string at = cat("roleBindings[", key, "]");
    check_key(key, one.name, at, errors);
    append(errors, validate(one, inside, at));
    if (one.role.namespace_name != binding.policy.namespace_name)
      errors.push_back(json::invalid(
          cat(at, ".roleRef.namespace"), one.role.namespace_name,
          cat("must be the namespace of policyRef, ", quoted(binding.policy.namespace_name))));
  }
  return errors;
}

json::FieldError dangling(const RoleRef& role, const std::string& at) {
  return json::not_found(under(at, "roleRef"), cat(role.namespace_name, "/", role.name));
}

}  // namespace cardea::authz::namespace_policy

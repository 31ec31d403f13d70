#include "audit/policy.h"

#include <algorithm>

#include "authz/authorizer.h"
#include "base/strings.h"

namespace cardea::audit {
namespace {

constexpr std::string_view kLevelNames[] = {"None", "Metadata", "Request", "RequestResponse"};
constexpr std::string_view kStageNames[] = {"RequestReceived", "ResponseStarted",
                                            "ResponseComplete", "Panic"};

Level level_of(std::string_view name) {
  auto at = std::ranges::find(kLevelNames, name);
  return at == std::end(kLevelNames) ? Level::kNone
                                     : static_cast<Level>(at - std::begin(kLevelNames));
}

Stages stages_of(const std::vector<std::string>& names) {
  Stages out;
  for (const std::string& name : names)
    if (auto at = std::ranges::find(kStageNames, name); at != std::end(kStageNames))
      out.add(static_cast<Stage>(at - std::begin(kStageNames)));
  return out;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::binary_search(names.begin(), names.end(), name,
                            [](std::string_view a, std::string_view b) { return a < b; });
}

bool covers(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('*')) return pattern == path;
  return path.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

std::string_view level_name(Level level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}
std::string_view stage_name(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

Policy::Rule Policy::compiled(const PolicyDocument::Rule& rule, const PolicyDocument& document) {
  Rule out;
  out.treatment = {level_of(rule.level),
                   stages_of(rule.omit_stages) | stages_of(document.omit_stages),
                   rule.omit_managed_fields.value_or(document.omit_managed_fields)};
  out.users = sorted(rule.users);
  out.user_groups = sorted(rule.user_groups);
  out.verbs = sorted(rule.verbs);
  out.namespaces = sorted(rule.namespaces);
  out.urls = rule.non_resource_urls;
  for (const PolicyDocument::Resources& r : rule.resources) {
    Resources made{r.group, {}, sorted(r.resource_names), r.resources.empty()};
    for (std::string_view text : r.resources) {
      auto slash = text.find('/');
      if (slash != std::string_view::npos && slash + 1 == text.size())
        continue;  // `pods/` is the name of nothing
      made.patterns.push_back(
          {std::string(text.substr(0, slash)),
           std::string(slash == std::string_view::npos ? std::string_view()
                                                       : text.substr(slash + 1)),
           text == "*"});
    }
    out.resources.push_back(std::move(made));
  }
  return out;
}

Policy::Policy(const PolicyDocument& valid)
    : otherwise_{Level::kNone, stages_of(valid.omit_stages), valid.omit_managed_fields} {
  for (const PolicyDocument::Rule& rule : valid.rules) rules_.push_back(compiled(rule, valid));
}

Result<Policy> Policy::load(std::string_view text) {
  auto document = parse_policy(text);
  if (!document) return fail(document.error());
  std::vector<std::string> problems;
  for (const json::FieldError& e : validate(*document)) problems.push_back(e.message());
  if (!problems.empty()) return fail(bad_request(authz::aggregated(problems)));
  if (document->rules.empty()) return fail(bad_request("loaded illegal policy with 0 rules"));
  return Policy(*document);
}

bool Policy::matches(const Resources& resources, const authz::RequestInfo& info) {
  if (resources.group != info.api_group && resources.group != "*") return false;
  if (resources.is_whole_group) return true;
  if (!resources.names.empty() && !has(resources.names, info.name)) return false;
  for (const ResourcePattern& p : resources.patterns) {
    if (p.is_everything) return true;
    // `pods/*` is pods too, `*/status` is not everything.
    bool of_it = p.resource == info.resource &&
                 (p.subresource == "*" || p.subresource == info.subresource);
    bool of_any = p.resource == "*" && !info.subresource.empty() &&
                  p.subresource == info.subresource;
    if (of_it || of_any) return true;
  }
  return false;
}

bool Policy::matches(const Rule& rule, const authz::User* user, const authz::RequestInfo& info) {
  if (!rule.users.empty() && (!user || !has(rule.users, user->name))) return false;
  if (!rule.user_groups.empty() &&
      (!user || std::ranges::none_of(user->groups, [&](const std::string& group) {
        return has(rule.user_groups, group);
      })))
    return false;
  if (!rule.verbs.empty() && !has(rule.verbs, info.verb)) return false;
  if (!rule.namespaces.empty() || !rule.resources.empty()) {
    if (!info.is_resource_request) return false;
    if (!rule.namespaces.empty() && !has(rule.namespaces, info.namespace_name)) return false;
    return rule.resources.empty() || std::ranges::any_of(rule.resources, [&](const Resources& r) {
             return matches(r, info);
           });
  }
  if (rule.urls.empty()) return true;
  return !info.is_resource_request && std::ranges::any_of(rule.urls, [&](const std::string& url) {
    return covers(url, info.path);
  });
}

Treatment Policy::treat(const authz::User* user, const authz::RequestInfo& info) const {
  for (const Rule& rule : rules_)
    if (matches(rule, user, info)) return rule.treatment;
  return otherwise_;
}

}  // namespace cardea::audit

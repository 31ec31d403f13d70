#include "impersonation/impersonation.h"

#include <algorithm>

#include "base/names.h"
#include "base/strings.h"

namespace cardea::impersonation {
namespace {

using authz::User;

constexpr std::string_view kUser = "impersonate-user", kUid = "impersonate-uid", kGroup = "impersonate-group", kExtra = "impersonate-extra-";
constexpr std::string_view kAuthentication = "authentication.k8s.io";
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

struct Account {
  std::string namespace_name, name;
};

// A service account's user name has exactly two valid parts; anything else is an ordinary user.
std::optional<Account> account_of(std::string_view user) {
  if (!user.starts_with(kAccountPrefix)) return std::nullopt;
  std::vector<std::string_view> parts = split(user.substr(kAccountPrefix.size()), ':');
  if (parts.size() != 2 || !dns_label_problems(parts[0]).empty() || !dns_subdomain_problems(parts[1]).empty()) return std::nullopt;
  return Account{std::string(parts[0]), std::string(parts[1])};
}

// The key as it arrives is lower-cased, then decoded; one that cannot be decoded stays.
std::string extra_key(std::string_view header) {
  std::string key = lower(header.substr(kExtra.size()));
  return percent_decode(key).value_or(key);
}

std::string shown_list(const std::vector<std::string>& list) {
  std::vector<std::string> parts;
  for (const std::string& text : list) parts.push_back(quoted(text));
  return cat("[]string{", join(parts, ", "), "}");
}

// As Go prints the value of its type.
std::string shown(const User& user) {
  std::vector<std::string> extra;
  for (const auto& [key, values] : user.extra) extra.push_back(cat(quoted(key), ":", shown_list(values)));
  return cat("&user.DefaultInfo{Name:\"\", UID:", quoted(user.uid), ", Groups:", user.groups.empty() ? "[]string(nil)" : shown_list(user.groups),
             ", Extra:", user.extra.empty() ? "map[string][]string(nil)" : cat("map[string][]string{", join(extra, ", "), "}"), "}");
}

void ensure(std::vector<std::string>& groups, std::string_view group) {
  if (std::ranges::find(groups, group) == groups.end()) groups.emplace_back(group);
}

std::string why(const authz::Decision& decision) {
  std::string reason = decision.reason.text();
  if (decision.error.empty()) return reason;
  return reason.empty() ? decision.error : cat(decision.error, ": ", reason);
}

}  // namespace

Result<std::optional<User>> requested_user(const http::Headers& headers) {
  User asked;
  bool has_name = false, has_parts = false;
  for (http::Header h : headers) {
    if (equals_ignoring_case(h.name, kUser)) {
      if (has_name) return fail(bad_request("the header Impersonate-User may be given once"));
      if (h.value.empty()) return fail(bad_request("the header Impersonate-User names nobody"));
      has_name = true;
      asked.name = h.value;
    } else if (equals_ignoring_case(h.name, kUid)) {
      if (asked.uid.empty()) asked.uid = h.value;
      has_parts |= !h.value.empty();
    } else if (equals_ignoring_case(h.name, kGroup)) {
      asked.groups.emplace_back(h.value);
      has_parts = true;
    } else if (h.name.size() >= kExtra.size() && equals_ignoring_case(h.name.substr(0, kExtra.size()), kExtra)) {
      asked.extra[extra_key(h.name)].emplace_back(h.value);
      has_parts = true;
    }
  }
  if (!has_name && has_parts) return fail(bad_request(cat("requested ", shown(asked), " without impersonating a user name")));
  if (!has_name) return std::nullopt;
  return asked;
}

void remove_headers(http::Headers& headers) {
  std::vector<std::string> names;
  for (http::Header h : headers)
    if (std::string name = lower(h.name); name == kUser || name == kUid || name == kGroup || name.starts_with(kExtra)) names.push_back(std::move(name));
  for (const std::string& name : names) headers.remove(name);
}

authz::Attributes Check::attributes(const User& sender) const {
  authz::Attributes a(sender);
  a.is_resource_request = true;
  a.verb = verb;
  a.api_group = api_group;
  a.api_version = "v1";
  a.resource = resource;
  a.subresource = subresource;
  a.namespace_name = namespace_name;
  a.name = name;
  return a;
}

std::vector<Check> checks_for(const User& asked) {
  std::vector<Check> out;
  auto add = [&out](std::string_view group, std::string resource, std::string name, std::string subresource = "", std::string where = "") {
    out.push_back({"impersonate", std::string(group), std::move(resource), std::move(subresource), std::move(where), std::move(name)});
  };
  if (auto account = account_of(asked.name)) add("", "serviceaccounts", account->name, "", account->namespace_name);
  else add("", "users", asked.name);
  if (!asked.uid.empty()) add(kAuthentication, "uids", asked.uid);
  for (const std::string& group : asked.groups) add("", "groups", group);
  for (const auto& [key, values] : asked.extra)
    for (const std::string& value : values) add(kAuthentication, "userextras", value, key);
  return out;
}

User resulting_user(User asked) {
  if (auto account = account_of(asked.name); account && asked.groups.empty())
    asked.groups = {"system:serviceaccounts", cat("system:serviceaccounts:", account->namespace_name)};
  if (asked.name == authz::kAnonymousUser) ensure(asked.groups, authz::kUnauthenticatedGroup);
  else if (!asked.in_group(authz::kUnauthenticatedGroup)) ensure(asked.groups, authz::kAuthenticatedGroup);
  return asked;
}

Task<Result<User>> impersonate(const authz::CurrentChain& chain, const User& sender, User asked) {
  std::vector<Check> checks = checks_for(asked);
  for (const Check& check : checks) {
    authz::Attributes attributes = check.attributes(sender);
    authz::Chain::Verdict verdict = co_await chain.authorize(attributes);
    if (!verdict.decision.allowed()) co_return fail(authz::forbidden(attributes, why(verdict.decision)));
  }
  co_return resulting_user(std::move(asked));
}

}  // namespace cardea::impersonation

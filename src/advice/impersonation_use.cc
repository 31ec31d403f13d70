#include "advice/impersonation_use.h"

#include <algorithm>

#include "base/strings.h"
#include "impersonation/attempt.h"

namespace cardea::advice {
namespace {

using impersonation::Attempt;
using impersonation::Mode;
using json::Value;

authz::User user_in(const Value& info) {
  authz::User out{.name = std::string(info["username"].as_string()),
                  .uid = std::string(info["uid"].as_string()),
                  .groups = {},
                  .extra = {}};
  for (const Value& group : info["groups"].items()) out.groups.emplace_back(group.as_string());
  for (const json::Member& member : info["extra"].members())
    for (const Value& value : member.value.items())
      out.extra[std::string(member.key())].emplace_back(value.as_string());
  return out;
}

// The groups that a name implies are in the log, and nobody asked for them.
void drop_implied_groups(authz::User& user) {
  const impersonation::Target target = impersonation::target_of(user.name);
  std::erase_if(user.groups, [&](const std::string& group) {
    using Kind = impersonation::Target::Kind;
    if (group == authz::kAuthenticatedGroup || group == authz::kUnauthenticatedGroup) return true;
    if (target.kind == Kind::kNode) return group == "system:nodes";
    return target.kind == Kind::kServiceAccount &&
           (group == "system:serviceaccounts" ||
            group == cat("system:serviceaccounts:", target.namespace_name));
  });
}

authz::RequestInfo request_in(const Value& event) {
  authz::RequestInfo out;
  const Value& object = event["objectRef"];
  out.verb = event["verb"].as_string();
  out.is_resource_request = !object["resource"].as_string().empty();
  const std::string_view uri = event["requestURI"].as_string();
  out.path = percent_decode(uri.substr(0, uri.find('?'))).value_or(std::string(uri));
  out.api_group = object["apiGroup"].as_string();
  out.api_version = object["apiVersion"].as_string();
  out.namespace_name = object["namespace"].as_string();
  out.resource = object["resource"].as_string();
  out.subresource = object["subresource"].as_string();
  out.name = object["name"].as_string();
  return out;
}

bool is_about_the_user(const authz::Attributes& question) {
  return !question.verb.starts_with("impersonate-on:");
}

std::string role_name_for(std::string_view sender) {
  std::string out = cat("impersonation-by:", sender);
  std::ranges::replace_if(out, [](char c) { return c == '/' || c == '%'; }, '-');
  return out;
}

Value subject_for(std::string_view sender) {
  const impersonation::Target target = impersonation::target_of(sender);
  if (target.kind == impersonation::Target::Kind::kServiceAccount)
    return Value::object({{"kind", "ServiceAccount"},
                          {"name", target.account},
                          {"namespace", target.namespace_name}});
  return Value::object(
      {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", sender}});
}

Value meta_of(const std::string& name, const std::string& space) {
  Value out = Value::object({{"name", name}});
  if (!space.empty()) out.set("namespace", space);
  return out;
}

Value texts(const auto& list) {
  Value out = Value::array({});
  for (const std::string& text : list) out.push_back(text);
  return out;
}

}  // namespace

void ImpersonationUse::take(const Value& event) {
  if (event["kind"].as_string() == "EventList") {
    for (const Value& one : event["items"].items()) take(one);
    return;
  }
  const Value& impersonated = event["impersonatedUser"];
  const std::string sender(event["user"]["username"].as_string());
  if (!impersonated.is_object() || event["stage"].as_string() != "ResponseComplete" ||
      sender.empty() || (!only_.empty() && sender != only_))
    return;
  if (!event["authenticationMetadata"]["impersonationConstraint"].as_string().empty()) {
    ++constrained_;
    return;
  }
  Sender& known = senders_[sender];
  ++known.requests;
  known.users.emplace(impersonated["username"].as_string());
  if (!take_request(event)) ++known.impossible;
}

bool ImpersonationUse::take_request(const Value& event) {
  const authz::User sender = user_in(event["user"]);
  authz::User asked = user_in(event["impersonatedUser"]);
  drop_implied_groups(asked);
  const authz::RequestInfo request = request_in(event);
  Attempt attempt(sender, std::move(asked), request);
  const Mode mode = attempt.mode();
  if (!attempt.question() || mode == Mode::kLegacy) return false;
  while (attempt.question() && attempt.mode() == mode) {
    if (attempt.is_probe()) {
      attempt.answer(authz::Decision::no_opinion(""));
      continue;
    }
    need(sender.name, *attempt.question());
    attempt.answer(authz::Decision::allow(""));
  }
  return attempt.is_allowed() && attempt.mode() == mode;
}

void ImpersonationUse::need(const std::string& sender, const authz::Attributes& q) {
  const bool has_sub = !q.subresource.empty();
  const Permission permission{.group = q.is_resource_request ? std::string(q.api_group) : "",
                              .resource = !q.is_resource_request ? ""
                                          : has_sub ? cat(q.resource, "/", q.subresource)
                                                    : std::string(q.resource),
                              .path = q.is_resource_request ? "" : std::string(q.path),
                              .verb = std::string(q.verb)};
  std::set<std::string>& names = needed_[{sender, std::string(q.namespace_name)}][permission];
  if (is_about_the_user(q) && !q.name.empty()) names.emplace(q.name);
}

std::vector<Value> ImpersonationUse::objects() const {
  std::vector<Value> out;
  for (const auto& [place, permissions] : needed_) {
    // Verbs on the same thing are one rule.
    std::map<std::tuple<std::string, std::string, std::string, std::set<std::string>>,
             std::set<std::string>>
        rules;
    for (const auto& [p, names] : permissions)
      rules[{p.group, p.resource, p.path, names}].insert(p.verb);
    Value list = Value::array({});
    for (const auto& [key, verbs] : rules) {
      const auto& [group, resource, path, names] = key;
      Value rule = Value::object({{"verbs", texts(verbs)}});
      if (!path.empty()) {
        rule.set("nonResourceURLs", Value::array({path}));
      } else {
        rule.set("apiGroups", Value::array({group}));
        rule.set("resources", Value::array({resource}));
        if (!names.empty()) rule.set("resourceNames", texts(names));
      }
      list.push_back(std::move(rule));
    }
    const bool is_cluster = place.space.empty();
    const std::string name = role_name_for(place.sender);
    const std::string_view version = "rbac.authorization.k8s.io/v1";
    const std::string_view kind = is_cluster ? "ClusterRole" : "Role";
    out.push_back(Value::object({{"apiVersion", version},
                                 {"kind", kind},
                                 {"metadata", meta_of(name, place.space)},
                                 {"rules", std::move(list)}}));
    out.push_back(Value::object(
        {{"apiVersion", version},
         {"kind", is_cluster ? "ClusterRoleBinding" : "RoleBinding"},
         {"metadata", meta_of(name, place.space)},
         {"roleRef",
          Value::object(
              {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", name}})},
         {"subjects", Value::array({subject_for(place.sender)})}}));
  }
  return out;
}

}  // namespace cardea::advice

#include "authz/testing/random_worlds.h"

#include "base/strings.h"

namespace cardea::authz::rbac {
namespace {

using json::Value;
using Words = std::vector<std::string>;

const Words kNamespaces{"a", "b", "c"};
const Words kUsers{"u",
                   "u",
                   "v",
                   "system:serviceaccount:a:s",
                   "system:serviceaccount:b:s",
                   "system:serviceaccount:a:t",
                   "",
                   "\"q\" \\ \n"};
const Words kGroups{"g", "h", "system:authenticated", "u", ""};
const Words kVerbs{"get", "get", "get", "list", "create", "*", "*", "escalate", ""};
const Words kApiGroups{"", "", "apps", "*"};
const Words kResources{
    "pods", "pods",    "pods/log",          "*/log", "pods/*", "*/*", "deployments", "*",
    "*",    "*/scale", "deployments/scale", "",      "pods/",  "/log"};
const Words kNames{"", "x", "y", "*"};
const Words kUrls{"*",    "/",         "/healthz", "/healthz/*", "/api", "/api/*",
                  "/a**", "/metrics*", "",         "/api*/x",    "**"};
const Words kRoleNames{"r1", "r2", "r3", "r4", "R \"5\"", "missing"};

}  // namespace

Attributes RandomRequest::attributes() const {
  Attributes a(user);
  a.is_resource_request = is_resource_request;
  a.verb = verb;
  a.api_version = "v1";
  a.api_group = api_group;
  a.namespace_name = namespace_name;
  a.resource = resource;
  a.subresource = subresource;
  a.name = name;
  a.path = path;
  return a;
}

RandomWorld::RandomWorld(std::uint64_t seed) : random_(seed) {
  for (const std::string& name : kRoleNames) {
    if (name == "missing") continue;
    if (below(5) > 0) add_role("", name);
    for (const std::string& where : kNamespaces)
      if (below(3) > 0) add_role(where, name);
  }
  for (std::size_t i = 0, n = below(8); i < n; ++i) add_binding("", cat("b", below(100), "-", i));
  for (const std::string& where : kNamespaces)
    for (std::size_t i = 0, n = below(10); i < n; ++i)
      add_binding(where, cat("b", below(100), "-", i));
}

Value RandomWorld::some_of(const Words& words, std::size_t at_most) {
  Value out = Value::array();
  for (std::size_t i = 0, n = below(12) == 0 ? 0 : 1 + below(at_most); i < n; ++i)
    out.push_back(one_of(words));
  return out;
}

Value RandomWorld::rule() {
  Value out = Value::object({{"verbs", some_of(kVerbs, 3)}});
  bool is_url = below(4) == 0, is_both = below(12) == 0;
  if (!is_url || is_both) {
    out.set("apiGroups", some_of(kApiGroups, 2));
    out.set("resources", some_of(kResources, 3));
    if (below(3) == 0) out.set("resourceNames", some_of(kNames, 2));
  }
  if (is_url || is_both) out.set("nonResourceURLs", some_of(kUrls, 2));
  return out;
}

Value RandomWorld::subject() {
  switch (below(8)) {
    case 0:
    case 1:
    case 2:
      return Value::object({{"kind", "User"}, {"apiGroup", kGroup}, {"name", one_of(kUsers)}});
    case 3:
    case 4:
      return Value::object({{"kind", "Group"}, {"apiGroup", kGroup}, {"name", one_of(kGroups)}});
    case 5:
      return Value::object({{"kind", "ServiceAccount"},
                            {"name", below(2) ? "s" : "t"},
                            {"namespace", one_of(kNamespaces)}});
    case 6:
      return Value::object({{"kind", "ServiceAccount"}, {"name", "s"}});
    default:
      return Value::object({{"kind", below(2) ? "Robot" : "user"}, {"name", one_of(kUsers)}});
  }
}

void RandomWorld::add_role(std::string where, std::string name) {
  Value meta = Value::object({{"name", name}});
  if (!where.empty()) meta.set("namespace", where);
  Value rules = Value::array();
  for (std::size_t i = 0, n = below(6); i < n; ++i) rules.push_back(rule());
  objects_.push_back(Value::object(
      {{"kind", where.empty() ? "ClusterRole" : "Role"}, {"metadata", meta}, {"rules", rules}}));
}

void RandomWorld::add_binding(std::string where, std::string name) {
  Value meta = Value::object({{"name", name}});
  if (!where.empty()) meta.set("namespace", where);
  Value subjects = Value::array();
  for (std::size_t i = 0, n = below(5); i < n; ++i) subjects.push_back(subject());
  bool is_role = below(where.empty() ? 12 : 2) == 0;
  std::string kind = below(15) == 0 ? "Rôle" : is_role ? "Role" : "ClusterRole";
  Value ref = Value::object({{"apiGroup", kGroup}, {"kind", kind}, {"name", one_of(kRoleNames)}});
  objects_.push_back(Value::object({{"kind", where.empty() ? "ClusterRoleBinding" : "RoleBinding"},
                                    {"metadata", meta},
                                    {"roleRef", ref},
                                    {"subjects", subjects}}));
}

Value RandomWorld::rules() {
  Value out = Value::array();
  for (std::size_t i = 0, n = below(4); i < n; ++i) out.push_back(rule());
  return out;
}

RandomRequest RandomWorld::request() {
  RandomRequest r;
  r.user.name = one_of(kUsers);
  for (std::size_t i = 0, n = below(4); i < n; ++i) r.user.groups.push_back(one_of(kGroups));
  r.verb = one_of(kVerbs);
  r.is_resource_request = below(4) > 0;
  if (!r.is_resource_request) {
    r.path = one_of(
        {"/", "/healthz", "/healthz/x", "/api", "/api/", "/api/v1", "/abc", "/metricsx", ""});
    return r;
  }
  r.api_group = one_of(kApiGroups);
  r.resource = one_of({"pods", "pods", "pods", "deployments", "pods/log", "", "*"});
  if (below(3) == 0) r.subresource = one_of({"log", "scale", "*", "status"});
  if (below(5)) r.namespace_name = one_of({"a", "a", "b", "c", "d"});
  r.name = one_of(kNames);
  return r;
}

void add_object(RoleTable& policy, const Value& o) {
  std::string_view where = o["metadata"]["namespace"].as_string(),
                   name = o["metadata"]["name"].as_string();
  if (o.has("roleRef"))
    policy.add_binding(where, name, o);
  else
    policy.set_role(where, name, read_rules(o["rules"]));
}

void remove_object(RoleTable& policy, const Value& o) {
  std::string_view where = o["metadata"]["namespace"].as_string(),
                   name = o["metadata"]["name"].as_string();
  if (o.has("roleRef"))
    policy.remove_binding(where, name, o);
  else
    policy.remove_role(where, name);
}

void RandomWorld::fill(RoleTable& policy) const {
  for (const Value& o : objects_) add_object(policy, o);
}

}  // namespace cardea::authz::rbac

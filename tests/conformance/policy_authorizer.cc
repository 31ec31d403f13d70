// policy-authorizer.json: decisions by policy documents, and whether a rule matches.
#include <cstdio>
#include <map>

#include "authz/namespace_policy/decide.h"
#include "base/strings.h"
#include "conformance/conformance.h"
#include "json/print.h"

namespace cardea::conformance {
namespace {

using authz::Decision;
using authz::namespace_policy::Index;
using json::Value;

std::string_view kind_name(Decision::Kind kind) {
  switch (kind) {
    case Decision::Kind::kAllow:
      return "Allow";
    case Decision::Kind::kDeny:
      return "Deny";
    case Decision::Kind::kNoOpinion:
      return "NoOpinion";
    case Decision::Kind::kConditional:
      break;
  }
  return "Conditional";
}

// Containers as the store keeps them: a policy by its namespace, bindings by namespace and name.
std::shared_ptr<const Index> index_of(const std::vector<Value>& policies,
                                      const std::vector<Value>& bindings) {
  auto index = std::make_shared<Index>();
  for (const Value& p : policies)
    index->change_policy(p["metadata"]["namespace"].as_string(), {}, p);
  for (const Value& b : bindings)
    index->change_bindings(b["metadata"]["namespace"].as_string(),
                           b["metadata"]["name"].as_string(), {}, b);
  return index;
}

std::vector<Value> list(const Value& v) {
  return {v.items().begin(), v.items().end()};
}

struct Ask {
  authz::User user;
  std::string verb, kind, space;
  authz::Attributes attributes() const {
    authz::Attributes a(user);
    a.is_resource_request = true;
    a.verb = verb;
    auto slash = kind.find('/');
    a.resource = std::string_view(kind).substr(0, slash);
    if (slash != std::string::npos) a.subresource = std::string_view(kind).substr(slash + 1);
    a.namespace_name = space;
    a.api_version = "v1";
    return a;
  }
};

Ask read_ask(const Value& request) {
  Ask ask;
  ask.user.name = request["user"].as_string();
  for (const Value& g : request["groups"].items()) ask.user.groups.emplace_back(g.as_string());
  ask.verb = lower(request["verb"].as_string());
  ask.kind = lower(request["resourceKind"].as_string());
  ask.space = request["namespace"].as_string();
  return ask;
}

bool check_case(const std::map<std::string, std::shared_ptr<const Index>, std::less<>>& worlds,
                const Value& row) {
  auto world = worlds.find(row["fixture"].as_string());
  if (world == worlds.end()) {
    std::printf("policy %s: no fixture is called %s\n",
                std::string(row["name"].as_string()).c_str(),
                std::string(row["fixture"].as_string()).c_str());
    return false;
  }
  Ask ask = read_ask(row["request"]);
  authz::namespace_policy::Answer answer = decide_with_reasons(world->second, ask.attributes(), {});
  const Value& expect = row["expect"];
  std::string reason = answer.decision.allowed() ? answer.allowed_by : answer.denied_because;
  bool is_error = !answer.decision.error.empty(),
       expects_error = expect["error"].as_bool() || !expect["errorContains"].as_string().empty();
  bool ok = answer.decision.allowed() == expect["allowed"].as_bool() && is_error == expects_error &&
            (expects_error ||
             reason.find(expect["reasonContains"].as_string()) != std::string::npos) &&
            (!expect.has("chainDecision") ||
             kind_name(answer.decision.kind) == expect["chainDecision"].as_string());
  if (!ok)
    std::printf("policy %s: %s, %s, error %s; expected %s\n",
                std::string(row["name"].as_string()).c_str(),
                std::string(kind_name(answer.decision.kind)).c_str(), reason.c_str(),
                quoted(answer.decision.error).c_str(), json::print(expect).c_str());
  return ok;
}

bool check_match(const Value& row) {
  Value role = Value::object(
      {{"metadata", Value::object({{"name", "r"}})}, {"rules", Value::array({row["rule"]})}});
  Value binding = Value::object(
      {{"metadata", Value::object({{"name", "b"}})},
       {"roleRef", Value::object({{"namespace", "master"}, {"name", "r"}})},
       {"userNames", Value::array({Value("u")})}});
  Value meta = Value::object({{"namespace", "master"}, {"name", "master"}});
  auto index = index_of(
      {Value::object({{"metadata", meta}, {"roles", Value::object({{"r", role}})}})},
      {Value::object({{"metadata", meta}, {"roleBindings", Value::object({{"b", binding}})}})});
  Ask ask = read_ask(row);
  ask.user.name = "u";
  Decision::Kind kind = decide(index, ask.attributes(), {}).kind;
  bool matches = kind ==
                 (row["rule"]["deny"].as_bool() ? Decision::Kind::kDeny : Decision::Kind::kAllow);
  bool ok = matches == row["matches"].as_bool();
  if (!ok) std::printf("policy: %s\n", json::print(row).c_str());
  return ok;
}

}  // namespace

Counts run_policy_authorizer(const std::string& path) {
  Value data = read(path);
  Counts counts;
  std::map<std::string, std::shared_ptr<const Index>, std::less<>> worlds;
  for (const json::Member& m : data["fixtures"].members())
    worlds.emplace(m.key(), index_of(list(m.value["policies"]), list(m.value["policyBindings"])));
  worlds.emplace("bootstrap",
                 index_of({data["bootstrap"]["policy"]}, {data["bootstrap"]["policyBinding"]}));
  for (const Value& row : data["cases"].items()) counts.check(check_case(worlds, row));
  for (const Value& row : data["negation"].items()) counts.check(check_match(row));
  return counts;
}

}  // namespace cardea::conformance

// rbac.json and bootstrap-policy.json: matching, subjects, coverage, escalation, aggregation,
// validation, defaults.
#include <algorithm>
#include <cstdio>
#include <set>

#include "authz/rbac/aggregation.h"
#include "authz/rbac/bootstrap_policy.h"
#include "authz/rbac/covers.h"
#include "authz/rbac/escalation.h"
#include "authz/rbac/rbac_authorizer.h"
#include "catalog/catalog.h"
#include "catalog/strategy.h"
#include "conformance/conformance.h"
#include "json/field_error.h"
#include "json/print.h"

namespace cardea::conformance {
namespace {

using namespace authz::rbac;
using authz::Attributes;
using authz::User;
using json::Value;

class Run {
 public:
  void expect(const char* part, const Value& c, bool ok, const std::string& got) {
    counts.check(ok);
    if (!ok)
      std::printf("rbac %s %s: got %s\n", part, json::print(c.has("name") ? c["name"] : c).c_str(),
                  got.c_str());
  }
  Counts counts;
};

User user_of(const Value& c) {
  User user{.name = std::string(c["user"].as_string())};
  for (const Value& g : c["groups"].items()) user.groups.emplace_back(g.as_string());
  return user;
}

Attributes attributes_of(const User& user, const Value& r) {
  Attributes a(user);
  a.is_resource_request = r["resourceRequest"].as_bool();
  a.verb = r["verb"].as_string();
  a.api_group = r["apiGroup"].as_string();
  a.namespace_name = r["namespace"].as_string();
  a.resource = r["resource"].as_string();
  a.subresource = r["subresource"].as_string();
  a.name = r["name"].as_string();
  a.path = r["path"].as_string();
  return a;
}

std::shared_ptr<RoleTable> policy_of(const Value& c) {
  auto policy = std::make_shared<RoleTable>();
  for (const char* key : {"roles", "clusterRoles"})
    for (const Value& o : c[key].items())
      policy->set_role(o["metadata"]["namespace"].as_string(), o["metadata"]["name"].as_string(),
                       read_rules(o["rules"]));
  for (const char* key : {"roleBindings", "clusterRoleBindings"})
    for (const Value& o : c[key].items())
      policy->add_binding(o["metadata"]["namespace"].as_string(), o["metadata"]["name"].as_string(),
                          o);
  return policy;
}

std::multiset<std::string> printed(const std::vector<PolicyRule>& rules) {
  std::multiset<std::string> out;
  for (const PolicyRule& r : rules) out.insert(json::print(as_json(r)));
  return out;
}

std::string joined(const std::multiset<std::string>& texts) {
  std::string out;
  for (const std::string& t : texts) out += t + " ";
  return out;
}

void expect_rules(Run& run, const char* part, const Value& c, const std::vector<PolicyRule>& got,
                  const Value& want) {
  run.expect(part, c, printed(got) == printed(read_rules(want)), joined(printed(got)));
}

void run_decisions(Run& run, const Value& data) {
  for (const Value& c : data["authorizer"].items()) {
    std::shared_ptr<const RoleTable> policy = policy_of(c);
    for (const Value& r : c["requests"].items()) {
      User user = user_of(r);
      authz::Decision d = decide(policy, attributes_of(user, r));
      bool ok = d.allowed() == r["allow"].as_bool() &&
                (!r.has("reason") || d.reason.text() == r["reason"].as_string());
      run.expect("authorizer", c, ok, json::print(r) + " " + d.reason.text());
    }
  }
  for (const Value& c : data["ruleMatches"].items())
    for (const Value& r : c["requests"].items()) {
      User nobody;
      Role role("", "r", {read_rule(c["rule"])});
      Attributes a = attributes_of(nobody, r);
      bool allows = role.allowing(RuleQuery(a)) != nullptr;
      run.expect("ruleMatches", c,
                 allows == r["allow"].as_bool() && allows == rule_allows(role.rules()[0], a),
                 json::print(r));
    }
}

void run_subjects(Run& run, const Value& data) {
  for (const Value& c : data["subjectAppliesTo"].items()) {
    RoleTable policy;
    std::string_view where = c["bindingNamespace"].as_string();
    policy.add_binding(where, "b", Value::object({{"subjects", c["subjects"]}}));
    auto grants = policy.grants_of(user_of(c), where);
    bool ok = grants.empty() == !c["applies"].as_bool() &&
              (grants.empty() || grants[0]->index() == c["index"].as_int());
    run.expect("subjectAppliesTo", c, ok,
               grants.empty() ? "no" : std::to_string(grants[0]->index()));
  }
  for (const Value& c : data["subjectLocator"].items()) {
    auto policy = policy_of(c);
    for (const Value& q : c["queries"].items()) {
      std::set<std::string> got{"Group system:masters"}, want;
      if (std::string_view super = c["superUser"].as_string(); !super.empty())
        got.insert("User " + std::string(super));
      User nobody;
      policy->for_each_allowed(
          attributes_of(nobody, q["action"]),
          [&](const Subject& s, const Role&, const PolicyRule&) {
            got.insert(std::string(s.kind_name()) + " " + std::string(s.name()));
          });
      for (const Value& s : q["subjects"].items())
        want.insert(std::string(s["kind"].as_string()) + " " + std::string(s["name"].as_string()));
      run.expect("subjectLocator", c, got == want, joined({got.begin(), got.end()}));
    }
  }
  const Value& resolver = data["ruleResolver"];
  auto policy = policy_of(resolver);
  for (const Value& c : resolver["cases"].items()) {
    std::vector<PolicyRule> rules;
    for (const Subject* g : policy->grants_of(user_of(c), c["namespace"].as_string()))
      if (const Role* role = policy->role_of(g->binding()))
        rules.insert(rules.end(), role->rules().begin(), role->rules().end());
    expect_rules(run, "ruleResolver", c, rules, c["rules"]);
  }
}

void run_coverage(Run& run, const Value& data) {
  for (const Value& c : data["covers"].items())
    expect_rules(run, "covers", c, missing_rules(read_rules(c["owner"]), read_rules(c["servant"])),
                 c["uncovered"]);
  for (const Value& c : data["nonResourceURLCovers"].items())
    run.expect(
        "nonResourceURLCovers", c,
        url_covers(c["owner"].as_string(), c["requested"].as_string()) == c["covers"].as_bool(),
        "the other");
  for (const Value& c : data["compactRules"].items())
    expect_rules(run, "compactRules", c, compacted(read_rules(c["rules"])), c["expected"]);
  for (const Value& c : data["isSimpleResourceRule"].items())
    run.expect("isSimpleResourceRule", c, is_simple(read_rule(c["rule"])) == c["simple"].as_bool(),
               "the other");
}

void run_escalation(Run& run, const Value& data) {
  for (const Value& c : data["escalation"].items()) {
    auto policy = policy_of(c);
    User user = user_of(c);
    const Value& info = c["requestInfo"];
    Value old;
    bool is_update = info["verb"].as_string() == "update";
    authz::rbac::Grant grant{.user = user,
                             .resource = info["resource"].as_string(),
                             .namespace_name = info["namespace"].as_string(),
                             .request_name = info["name"].as_string(),
                             .object = c["object"],
                             .old = is_update ? &old : nullptr};
    bool is_master = user.in_group(authz::kMastersGroup), allowed = is_master, asked = false;
    if (!allowed) {
      auto question = exemption(grant);
      asked = question.has_value();
      for (const Value& u : c["authorizerAllowsUsers"].items())
        allowed |= asked && u.as_string() == user.name;
    }
    std::string text = "allowed";
    if (!allowed) {
      auto refusal = check_escalation(*policy, grant);
      allowed = !refusal;
      if (refusal) text = refusal->text;
    }
    const Value& want = c["expect"];
    bool ok = allowed == want["allowed"].as_bool() &&
              (!want.has("escalateCheckMade") || asked == want["escalateCheckMade"].as_bool()) &&
              (!want["message"].is_string() || text.ends_with(want["message"].as_string()));
    run.expect("escalation", c, ok, text);
  }
  for (const Value& c : data["onlyMutatingGCFields"].items())
    run.expect("onlyMutatingGCFields", c,
               only_changes_ownership(c["new"], c["old"]) == c["expected"].as_bool(), "the other");
}

void run_aggregation(Run& run, const Value& data) {
  for (const Value& c : data["aggregation"].items()) {
    std::vector<Value> roles(c["clusterRoles"].items().begin(), c["clusterRoles"].items().end());
    auto role = std::ranges::find_if(
        roles, [&](const Value& r) { return r["metadata"]["name"] == c["sync"]; });
    std::vector<Value> rules = aggregated_rules(c["sync"].as_string(), roles);
    bool is_same = role != roles.end() && std::ranges::equal(rules, (*role)["rules"].items());
    bool ok = c["expectApply"].is_null()
                  ? is_same
                  : !is_same && std::ranges::equal(rules, c["expectApply"]["rules"].items());
    run.expect("aggregation", c, ok, json::print(Value::array(rules)));
  }
}

std::string_view type_name(json::FieldError::Type type) {
  using T = json::FieldError::Type;
  switch (type) {
    case T::kNotFound:
      return "FieldValueNotFound";
    case T::kRequired:
      return "FieldValueRequired";
    case T::kDuplicate:
      return "FieldValueDuplicate";
    case T::kNotSupported:
      return "FieldValueNotSupported";
    case T::kForbidden:
      return "FieldValueForbidden";
    default:
      return "FieldValueInvalid";
  }
}

void run_validation(Run& run, const Value& data) {
  auto catalog = catalog::Catalog::builtin();
  for (const Value& c : data["objectValidation"].items()) {
    std::string plural = std::string(c["kind"].as_string()) + "s";
    std::ranges::transform(plural, plural.begin(),
                           [](unsigned char ch) { return std::tolower(ch); });
    const catalog::Resource* r = catalog->find("rbac.authorization.k8s.io", "v1", plural);
    if (!r) {
      run.expect("objectValidation", c, false, "no such kind");
      continue;
    }
    catalog::StrategyContext context{.group = r->group, .version = r->version, .resource = r->name};
    const Value& old = c.has("old") ? c["old"] : c["oldObject"];
    json::FieldErrors errors = c["operation"].as_string() == "update"
                                   ? r->strategy->validate_update(c["object"], old, context)
                                   : r->strategy->validate_create(c["object"], context);
    std::set<std::string> got, want;
    for (const json::FieldError& e : errors)
      got.insert(std::string(type_name(e.type)) + " " + e.field);
    for (const Value& e : c["errors"].items())
      want.insert(std::string(e["type"].as_string()) + " " + std::string(e["field"].as_string()));
    run.expect("objectValidation", c, got == want, joined({got.begin(), got.end()}));
  }
}

void run_reconciliation(Run& run, const Value& data) {
  for (const char* part : {"reconcileRole", "reconcileRoleBinding"})
    for (const Value& c : data[part].items()) {
      bool remove_extra = c["removeExtraPermissions"].as_bool() ||
                          c["removeExtraSubjects"].as_bool();
      auto change = reconcile(c["expected"], c["existing"], remove_extra);
      Value got = change ? change->object : Value();
      // An update also shows the unchanged part; an absent and an empty list are the same.
      Value want = c["result"];
      if (change && got["metadata"].empty() && !want.has("metadata")) got.erase("metadata");
      if (change && got["metadata"].empty() && want["metadata"].empty()) {
        got.erase("metadata");
        want.erase("metadata");
      }
      run.expect(part, c, change.has_value() == c["needed"].as_bool() && got == want,
                 json::print(got));
    }
}

}  // namespace

Counts run_rbac(const std::string& path) {
  Run run;
  Value data = read(path);
  run_decisions(run, data);
  run_subjects(run, data);
  run_coverage(run, data);
  run_escalation(run, data);
  run_aggregation(run, data);
  run_validation(run, data);
  run_reconciliation(run, data);
  return run.counts;
}

Counts run_bootstrap_policy(const std::string& path) {
  Run run;
  Value data = read(path);
  std::vector<Value> ours = bootstrap_policy();
  auto is_same = [](const Value& a, const Value& b) {
    return a["kind"] == b["kind"] && a["metadata"]["name"] == b["metadata"]["name"] &&
           a["metadata"]["namespace"] == b["metadata"]["namespace"];
  };
  for (const char* key : {"clusterRoles", "clusterRoleBindings", "controllerRoles",
                          "controllerRoleBindings", "namespaceRoles", "namespaceRoleBindings"})
    for (const Value& want : data[key].items()) {
      auto got = std::ranges::find_if(ours, [&](const Value& o) { return is_same(o, want); });
      run.expect(key, want["metadata"], got != ours.end() && *got == want,
                 got == ours.end() ? "nothing" : json::print(*got));
    }
  return run.counts;
}

}  // namespace cardea::conformance

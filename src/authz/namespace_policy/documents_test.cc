#include "authz/namespace_policy/documents.h"

#include <gtest/gtest.h>

#include "authz/namespace_policy/restriction.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::authz::namespace_policy {
namespace {

json::Value parsed(std::string_view text) {
  return json::parse(text).value();
}

std::string messages(const json::FieldErrors& errors) {
  std::vector<std::string> lines;
  for (const json::FieldError& e : errors) lines.push_back(e.message());
  return join(lines, "\n");
}

const Place kHammer{"hammer", "master"};

Role role_of(std::string_view text, json::FieldErrors& errors) {
  return read_role(parsed(text), kHammer, "", errors);
}

std::string refusal_of(std::string_view rule) {
  json::FieldErrors errors;
  Role role = role_of(cat(R"({"metadata":{"name":"r"},"rules":[)", rule, "]}"), errors);
  if (!errors.empty()) return messages(errors);
  return messages(validate(role, kHammer, "", ResourceGroups::built_in()));
}

TEST(PolicyDocuments, AcceptTheSpellingsOfTheSeedAndComeBackCanonical) {
  json::FieldErrors errors;
  Role role = role_of(R"({"kind":"role","name":"fatFingeredEditor","namespace":"hammer","rule":[
    {"Deny":"true","Verbs":["Delete"],"ResourceKinds":["DeploymentConfig"],
      "AttributeRestrictions":{"labelsContain":["protected"]}}]})",
                      errors);
  EXPECT_EQ(messages(errors), "");
  EXPECT_EQ(messages(validate(role, kHammer, "", ResourceGroups::built_in())), "");
  EXPECT_EQ(json::print_object(as_json(role)),
            R"({"kind":"Role","apiVersion":"authorization.openshift.io/v1beta3",)"
            R"("metadata":{"name":"fatFingeredEditor","namespace":"hammer"},)"
            R"("rules":[{"attributeRestrictions":{"labelsContain":["protected"]},"deny":true,)"
            R"("resourceKinds":["deploymentconfig"],"verbs":["delete"]}]})");
}

TEST(PolicyDocuments, ReadTheLegacyReferenceOfABinding) {
  json::FieldErrors errors;
  RoleBinding b = read_role_binding(
      parsed(
          R"({"kind": "roleBinding", "name": "Editors", "namespace": "hammer",
              "referencesGlobalRole": true, "roleName": "edit", "userNames": ["Edgar"]})"),
      kHammer, "", errors);
  EXPECT_EQ(messages(errors), "");
  EXPECT_EQ(b.role, (RoleRef{"master", "edit"}));
  EXPECT_EQ(messages(validate(b, kHammer, "")), "");
  EXPECT_EQ(json::print(as_json(b)["roleRef"]), R"({"name":"edit","namespace":"master"})");
}

TEST(PolicyDocuments, KnowAPolicyByItsOldName) {
  json::FieldErrors errors;
  PolicyDocument p = read_policy(
      parsed(R"({"kind":"Policy","name":"Policy","namespace":"hammer"})"), kHammer, errors);
  EXPECT_EQ(messages(errors), "");
  EXPECT_EQ(p.name, "default");
  EXPECT_EQ(json::print(as_json(p)["metadata"]), R"({"name":"default","namespace":"hammer"})");
  PolicyBindingDocument b = read_policy_binding(
      parsed(R"({"kind":"PolicyBinding","name":"hammer","namespace":"hammer"})"), kHammer, errors);
  EXPECT_EQ(messages(errors), "");
  EXPECT_EQ(messages(validate(b, kHammer)), "");
  EXPECT_EQ(b.policy, (RoleRef{"hammer", "default"}));
}

TEST(PolicyDocuments, HaveOneNameHoweverItIsGiven) {
  json::FieldErrors errors;
  role_of(R"({"name":"a","namespace":"anvil","metadata":{"name":"b","namespace":"hammer"}})",
          errors);
  EXPECT_EQ(messages(errors),
            "name: Invalid value: \"a\": metadata says \"b\"\nnamespace: Invalid value: \"anvil\": "
            "metadata says \"hammer\"");
  errors.clear();
  EXPECT_EQ(role_of(R"({"name":"a","metadata":{"name":"a","labels":{}}})", errors).name, "a");
  EXPECT_EQ(messages(errors), "");
}

TEST(PolicyDocuments, NeverTakeAMisspeltDenyForAnAllow) {
  json::FieldErrors errors;
  role_of(
      R"({"metadata": {"name": "r"},
          "rules": [{"denny": true, "verbs": ["get"], "resourceKinds": ["pods"]}]})",
      errors);
  EXPECT_EQ(messages(errors), "rules[0].denny: Forbidden: unknown field");
  errors.clear();
  role_of(
      R"({"metadata": {"name": "r"},
          "rules": [{"deny": "yes", "verbs": ["get"], "resourceKinds": ["pods"]}]})",
      errors);
  EXPECT_EQ(messages(errors), R"(rules[0].deny: Invalid value: "yes": must be true or false)");
  errors.clear();
  role_of(
      R"({"metadata": {"name": "r"},
          "rules": [{"deny": false, "Deny": true, "verbs": ["get"], "resourceKinds": ["pods"]}]})",
      errors);
  EXPECT_EQ(messages(errors), R"(rules[0].deny: Duplicate value: "deny")");
}

TEST(PolicyDocuments, RefuseWhatIsWrongWithItsPath) {
  EXPECT_EQ(refusal_of(R"({"verbs":["get"],"resourceKinds":["pods"]})"), "");
  EXPECT_EQ(refusal_of(R"({"verbs":["-get"],"resourceKinds":["pods"]})"),
            R"(rules[0].verbs: Invalid value: "-get": only takes away: )"
            R"(a rule that names nothing matches nothing)");
  EXPECT_EQ(refusal_of(R"({"verbs":["get"],"resourceKinds":["*","-*"]})"),
            R"(rules[0].resourceKinds[1]: Invalid value: "-*": takes everything away: )"
            R"(the rule would match nothing)");
  EXPECT_EQ(refusal_of(R"({"verbs":["get"],"resourceKinds":["resourcegroup:nothing"]})"),
            R"(rules[0].resourceKinds[0]: Not found: "resourcegroup:nothing")");
  EXPECT_EQ(refusal_of(R"({"verbs":"get","resourceKinds":["pods"]})"),
            R"(rules[0].verbs: Invalid value: "get": must be a list of strings)");
  EXPECT_EQ(refusal_of(R"({"verbs":["get"],"nonResourceURLs":["/healthz"]})"),
            "rules[0].nonResourceURLs: Forbidden: paths lie in no namespace: only roles of the "
            "master namespace name them");
  EXPECT_EQ(
      refusal_of(
          R"({"verbs": ["get"], "resourceKinds": ["pods"],
              "attributeRestrictions": {"labelsContain": ["a"]}})"),
      R"(rules[0].attributeRestrictions: Forbidden: cannot be looked at with the verb "get": )"
      R"(there is no object then)");
  EXPECT_TRUE(refusal_of(
                  R"({"verbs": ["get"], "resourceKinds": ["pods"],
              "attributeRestrictions": {"kind": "fullMoon"}})")
                  .starts_with("rules[0].attributeRestrictions: Unsupported value"));
  EXPECT_TRUE(refusal_of(
                  R"({"verbs": ["update"], "resourceKinds": ["pods"],
              "attributeRestrictions": {"kind": "cel", "expression": "1 +"}})")
                  .starts_with("rules[0].attributeRestrictions.expression: Invalid value"));
  EXPECT_EQ(refusal_of(
                R"({"verbs": ["*"], "resourceKinds": ["Pod"],
              "attributeRestrictions": {"kind": "sameMinionRestriction"}})"),
            "");
}

TEST(PolicyDocuments, RefuseTenThousandRules) {
  json::FieldErrors errors;
  Role role = role_of(
      R"({"metadata":{"name":"r"},"rules":[{"verbs":["get"],"resourceKinds":["pods"]}]})", errors);
  role.rules.resize(10000, role.rules[0]);
  EXPECT_EQ(messages(validate(role, kHammer, "", ResourceGroups::built_in())),
            "rules: Too many: 10000: must have at most 1000 items");
}

TEST(PolicyDocuments, RefuseKeysThatDifferFromNames) {
  json::FieldErrors errors;
  PolicyDocument p = read_policy(parsed(
                                     R"({"metadata": {"name": "default", "namespace": "hammer"},
              "roles": {"a": {"metadata": {"name": "b"}, "rules": []}}})"),
                                 kHammer, errors);
  EXPECT_EQ(messages(validate(p, kHammer, ResourceGroups::built_in())),
            R"(roles[a].metadata.name: Invalid value: "b": must be equal to its key, "a")");
}

TEST(PolicyDocuments, RefuseBindingsBeyondTheirPolicy) {
  json::FieldErrors errors;
  PolicyBindingDocument b = read_policy_binding(
      parsed(
          R"({"metadata": {"name": "master", "namespace": "hammer"},
              "roleBindings": {
                "a": {"metadata": {"name": "a"}, "roleRef": {"namespace": "other",
                  "name": "x"}}}})"),
      kHammer, errors);
  EXPECT_EQ(messages(validate(b, kHammer)),
            "roleBindings[a].roleRef.namespace: Invalid value: \"other\": must be the binding's "
            "own namespace or the master namespace\n"
            "roleBindings[a].roleRef.namespace: Invalid value: \"other\": must be the namespace of "
            "policyRef, \"master\"");
}

TEST(ResourceGroups, OpenNestedGroupsAndRefuseCycles) {
  json::FieldErrors errors;
  ResourceGroups groups = ResourceGroups::with(
      parsed(
          R"({"mine": ["Widgets", "resourcegroup:quota"], "a": ["resourcegroup:b"],
              "b": ["resourcegroup:a"]})"),
      errors);
  EXPECT_EQ(messages(errors), R"(a: Invalid value: "a": a resource group must not contain itself)");
  EXPECT_EQ(*groups.members("mine"),
            (std::vector<std::string>{"widgets", "limitranges", "resourcequotas",
                                      "resourcequotausages"}));
  std::vector<std::string> out;
  EXPECT_TRUE(groups.expand({"*", "-resourcegroup:policy"}, out));
  EXPECT_EQ(out, (std::vector<std::string>{"*", "-policies", "-policybindings"}));
  EXPECT_EQ(ResourceGroups::built_in().members("non-escalating")->size() + 3,
            ResourceGroups::built_in().members("allkube")->size() +
                ResourceGroups::built_in().members("allopenshift")->size());
}

TEST(FieldPattern, ReachesWhatIsBelow) {
  std::string problem;
  auto covers = [&](std::string_view text, schema::FieldPath path) {
    return FieldPattern::parse(text, problem).covers(path);
  };
  EXPECT_TRUE(covers("labels", {"f:metadata", "f:labels", "f:app"}));
  EXPECT_TRUE(covers("metadata.labels", {"f:metadata", "f:labels"}));
  EXPECT_FALSE(covers("labels", {"f:metadata", "f:annotations", "f:app"}));
  EXPECT_FALSE(covers("labels", {"f:metadata"}));
  EXPECT_TRUE(covers(R"(labels["a.b/c"])", {"f:metadata", "f:labels", "f:a.b/c"}));
  EXPECT_TRUE(covers("spec.containers[*].image",
                     {"f:spec", "f:containers", R"(k:{"name":"c"})", "f:image"}));
  EXPECT_EQ(problem, "");
  FieldPattern::parse("spec..x", problem);
  EXPECT_NE(problem, "");
}

}  // namespace
}  // namespace cardea::authz::namespace_policy

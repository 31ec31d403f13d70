#include "authz/namespace_policy/role.h"

#include <gtest/gtest.h>

namespace cardea::authz::namespace_policy {
namespace {

bool allows(std::vector<std::string> verbs, std::string_view verb) {
  Rule rule;
  rule.verbs = std::move(verbs);
  rule.resource_kinds = {"*"};
  CompiledRole role("hammer", "r", {rule}, "", ResourceGroups::built_in());
  User user{.name = "Hubert"};
  Attributes a(user);
  a.is_resource_request = true;
  a.verb = verb;
  a.resource = "policies";
  a.namespace_name = "hammer";
  return role.matches(0, RequestWords(a, nullptr)) == Match::kYes;
}

TEST(CompiledRole, WhatIsTakenAwayIsNotGivenBackFieldByField) {
  EXPECT_TRUE(allows({"*"}, "granular:labels"));
  EXPECT_TRUE(allows({"granular", "granular:labels"}, "granular:labels"));
  for (const char* taken : {"-create", "-update", "-patch"}) {
    EXPECT_FALSE(allows({"*", taken}, "granular")) << taken;
    EXPECT_FALSE(allows({"*", taken}, "granular:labels")) << taken;
  }
  EXPECT_TRUE(allows({"*", "-delete"}, "granular:labels"));
  EXPECT_TRUE(allows({"*", "-update"}, "get"));
}

// Whether a rule for `kind` allows the verb on `resource/part`.
bool reaches(std::vector<std::string> verbs, std::string kind, std::string_view verb,
             std::string_view resource, std::string_view part) {
  Rule rule;
  rule.verbs = std::move(verbs);
  rule.resource_kinds = {std::move(kind)};
  CompiledRole role("hammer", "r", {rule}, "", ResourceGroups::built_in());
  User user{.name = "Hubert"};
  Attributes a(user);
  a.is_resource_request = true;
  a.verb = verb;
  a.resource = resource;
  a.subresource = part;
  a.namespace_name = "hammer";
  return role.matches(0, RequestWords(a, nullptr)) == Match::kYes;
}

TEST(CompiledRole, AKindMeansItsParts) {
  EXPECT_TRUE(reaches({"*"}, "pods", "update", "pods", "status"));
  EXPECT_TRUE(reaches({"update"}, "pods", "patch", "pods", "status"));
  EXPECT_TRUE(reaches({"get"}, "deployments", "get", "deployments", "scale"));
  EXPECT_FALSE(reaches({"get"}, "deployments", "update", "deployments", "scale"));
  EXPECT_FALSE(reaches({"*"}, "pods", "update", "secrets", "status"));
  for (const char* part : {"exec", "attach", "portforward", "proxy", "eviction", "binding"})
    EXPECT_TRUE(reaches({"*"}, "pods", "create", "pods", part)) << part;
}

TEST(CompiledRole, TheVerbsOfAKindAreNotThoseOfWhatHappensThere) {
  const std::vector<std::string> all{"get",    "list",  "watch",  "create",
                                     "update", "patch", "delete", "deletecollection"};
  for (const char* part : {"exec", "attach", "portforward", "proxy", "eviction", "binding"})
    EXPECT_FALSE(reaches(all, "pods", "create", "pods", part)) << part;
  for (const char* part : {"exec", "attach", "portforward", "proxy", "log"})
    EXPECT_FALSE(reaches(all, "pods", "get", "pods", part)) << part;
  EXPECT_FALSE(reaches(all, "pods", "patch", "pods", "ephemeralcontainers"));
  EXPECT_FALSE(reaches(all, "serviceaccounts", "create", "serviceaccounts", "token"));
  EXPECT_FALSE(reaches(all, "nodes", "get", "nodes", "proxy"));
  // Who names the part means it.
  EXPECT_TRUE(reaches(all, "pods/exec", "create", "pods", "exec"));
}

TEST(CompiledRole, AStreamOfAKindIsAVerb) {
  for (const char* part : {"exec", "attach", "portforward"}) {
    EXPECT_TRUE(reaches({part}, "pods", "create", "pods", part)) << part;
    EXPECT_TRUE(reaches({part}, "pods", "get", "pods", part)) << part;
    EXPECT_FALSE(reaches({"*", std::string("-") + part, "-create"}, "pods", "create", "pods", part))
        << part;
    EXPECT_FALSE(reaches({part}, "secrets", "create", "pods", part)) << part;
    EXPECT_FALSE(reaches({part}, "pods", "create", "pods", "eviction")) << part;
  }
  for (const char* part : {"attach", "portforward", "log"})
    EXPECT_FALSE(reaches({"*", std::string("-") + part}, "pods", "get", "pods", part)) << part;
  EXPECT_TRUE(reaches({"*", "-attach"}, "pods", "get", "pods", "portforward"));
  EXPECT_TRUE(reaches({"log"}, "pods", "get", "pods", "log"));
  EXPECT_TRUE(reaches({"proxy"}, "services", "update", "services", "proxy"));
  EXPECT_FALSE(reaches({"exec"}, "pods", "create", "pods", "attach"));
}

TEST(CompiledRole, ParametersOfVerbsKeepTheirCase) {
  const std::string verb = "granular:condition(SuperSafe)";
  EXPECT_TRUE(allows({verb}, verb));
  EXPECT_FALSE(allows({verb}, "granular:condition(supersafe)"));
  EXPECT_FALSE(allows({"granular:condition(supersafe)"}, verb));
  EXPECT_FALSE(allows({"*", "-" + verb}, verb));
  EXPECT_TRUE(allows({"*", "-" + verb}, "granular:condition(supersafe)"));
  EXPECT_EQ(stored_verb("-GET"), "-get");
  EXPECT_EQ(stored_verb("Granular:nodeAssignment"), "granular:nodeAssignment");
  EXPECT_EQ(stored_verb("-granular:label(A)"), "-granular:label(A)");
  // Those that were stored in lower case.
  EXPECT_TRUE(allows({"granular:nodeassignment"}, "granular:nodeAssignment"));
}

TEST(CompiledRole, WhatIsExcludedIsNoPartOfAStar) {
  struct Guarded : KindNames {
    std::string_view kind_of(std::string_view, std::string_view) const override { return ""; }
    std::vector<std::pair<std::string, std::string>> resources_of(std::string_view) const override {
      return {};
    }
    bool is_excluded(std::string_view, std::string_view, std::string_view verb) const override {
      return verb == "granular:label(guarded)";
    }
  } guarded;
  auto matches = [&](bool deny, std::vector<std::string> verbs, std::vector<std::string> kinds,
                     std::string verb) {
    Rule rule;
    rule.deny = deny;
    rule.verbs = std::move(verbs);
    rule.resource_kinds = std::move(kinds);
    CompiledRole role("hammer", "r", {rule}, "", ResourceGroups::built_in());
    User user{.name = "Edgar"};
    Attributes a(user);
    a.is_resource_request = true;
    a.verb = verb;
    a.resource = "pods";
    a.namespace_name = "hammer";
    return role.matches(0, RequestWords(a, &guarded)) == Match::kYes;
  };
  const std::string excluded = "granular:label(guarded)";
  EXPECT_FALSE(matches(false, {"*"}, {"*", "-roles"}, excluded));
  EXPECT_FALSE(matches(false, {"*"}, {"pods"}, excluded));
  EXPECT_FALSE(matches(false, {"*", "-get"}, {"*"}, excluded));
  EXPECT_TRUE(matches(false, {"*"}, {"*"}, excluded)) << "everything there is";
  EXPECT_TRUE(matches(false, {excluded}, {"pods"}, excluded));
  EXPECT_TRUE(matches(false, {"*"}, {"pods"}, "granular:label(other)"));
  EXPECT_TRUE(matches(true, {"*"}, {"pods"}, excluded)) << "a denial leaves nothing out";
}

TEST(CompiledRole, AReviewThatIsTakenAwayIsNotAskedInAnotherForm) {
  auto allows_kind = [](std::vector<std::string> kinds, std::string resource) {
    Rule rule;
    rule.verbs = {"*"};
    rule.resource_kinds = std::move(kinds);
    CompiledRole role("hammer", "r", {rule}, "", ResourceGroups::built_in());
    User user{.name = "Edgar"};
    Attributes a(user);
    a.is_resource_request = true;
    a.verb = "create";
    a.resource = resource;
    a.namespace_name = "hammer";
    return role.matches(0, RequestWords(a, nullptr)) == Match::kYes;
  };
  for (const char* word : {"-resourceaccessreviews", "-resourceaccessreview"})
    EXPECT_FALSE(allows_kind({"*", word}, "localresourceaccessreviews")) << word;
  for (const char* form :
       {"localsubjectaccessreviews", "batchsubjectaccessreviews", "accessexplanationreviews",
        "impersonationreviews", "subjectrulesreviews"})
    EXPECT_FALSE(allows_kind({"*", "-subjectaccessreviews"}, form)) << form;
  EXPECT_TRUE(allows_kind({"*", "-resourceaccessreviews"}, "localsubjectaccessreviews"));
  EXPECT_TRUE(allows_kind({"*", "-localresourceaccessreviews"}, "resourceaccessreviews"));
  EXPECT_TRUE(allows_kind({"*", "-subjectaccessreviews"}, "selfsubjectaccessreviews"))
      << "about nobody else";
}

}  // namespace
}  // namespace cardea::authz::namespace_policy

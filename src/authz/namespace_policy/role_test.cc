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

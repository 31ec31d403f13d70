#include "authz/policy/role.h"

#include <gtest/gtest.h>

namespace cardea::authz::policy {
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

}  // namespace
}  // namespace cardea::authz::policy

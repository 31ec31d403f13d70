#include "authz/denied_grants.h"

#include <gtest/gtest.h>

#include "authz/effects.h"
#include "base/strings.h"

namespace cardea::authz {
namespace {

using rbac::PolicyRule;
using Texts = std::vector<std::string>;

PolicyRule granted(Texts verbs, Texts resources, Texts groups = {""}, Texts names = {}) {
  return {std::move(verbs), std::move(groups), std::move(resources), std::move(names), {}};
}
Rules denied(Texts verbs, Texts resources, Texts groups = {""}, Texts names = {}) {
  Rules out;
  out.denied_resources.push_back(
      {std::move(verbs), std::move(groups), std::move(resources), std::move(names)});
  return out;
}

TEST(DeniedGrants, AWildcardThatCoversAWayToADeniedEffectIsRefused) {
  const Rules no_delete = denied({"delete"}, {"pods"}), no_exec = denied({"exec"}, {"pods"});
  for (const Texts& groups : {Texts{""}, Texts{"*"}, Texts{"apps", ""}}) {
    for (std::string_view way :
         {"pods/eviction", "pods/*", "*/eviction", "*", "*/*", "Pods/Eviction"})
      EXPECT_TRUE(may_be_denied(no_delete, {granted({"create"}, {std::string(way)}, groups)}))
          << way;
    for (std::string_view way : {"pods/exec", "pods/*", "*/exec", "*", "*/*"})
      for (std::string_view verb : {"create", "get", "*"})
        EXPECT_TRUE(
            may_be_denied(no_exec, {granted({std::string(verb)}, {std::string(way)}, groups)}))
            << verb << way;
  }
}

TEST(DeniedGrants, EveryRowOfTheTableIsHeldHoweverItsLeftSideIsSpelled) {
  for (const EffectRow& row : effect_rows()) {
    const std::string resource(row.resource == "*" ? "widgets" : row.resource);
    const std::string group(row.api_group == "*" ? "example.com" : row.api_group);
    const std::string to(row.to_resource.empty() ? resource : row.to_resource);
    const std::string to_group(row.to_group == "core" ? ""
                               : row.to_group.empty() ? group
                                                      : row.to_group);
    for (std::string_view verb : split(row.verbs == "*" ? "get" : row.verbs, ' '))
      for (std::string_view sub : split(row.subresource == "*"   ? "status"
                                        : row.subresource == "/" ? ""
                                                                 : row.subresource,
                                        ' ')) {
        const Rules rules = denied({std::string(row.to_verb.empty() ? verb : row.to_verb)}, {to},
                                   {to_group});
        const std::string full = sub.empty() ? resource : cat(resource, "/", sub);
        Texts spelled = {full, "*"};
        if (!sub.empty()) spelled.insert(spelled.end(), {cat(resource, "/*"), cat("*/", sub)});
        for (const std::string& s : spelled)
          for (const std::string& g : {group, std::string("*")})
            for (const std::string& v : {std::string(verb), std::string("*")})
              EXPECT_TRUE(may_be_denied(rules, {granted({v}, {s}, {g})}))
                  << v << " " << g << " " << s;
      }
  }
}

TEST(DeniedGrants, WhatDoesNotComeToTheEffectMayBeGiven) {
  const Rules no_delete = denied({"delete"}, {"pods"});
  EXPECT_FALSE(may_be_denied(no_delete, {granted({"create"}, {"pods", "configmaps"})}));
  EXPECT_FALSE(may_be_denied(no_delete, {granted({"*"}, {"configmaps"})}));
  EXPECT_FALSE(may_be_denied(no_delete, {granted({"create"}, {"*"}, {"apps"})}));
  EXPECT_FALSE(may_be_denied(no_delete, {granted({"get", "list", "watch"}, {"*"})}));
  EXPECT_FALSE(may_be_denied(denied({"delete"}, {"configmaps"}), {granted({"create"}, {"*"})}));
  EXPECT_FALSE(may_be_denied(denied({"delete"}, {"pods"}, {""}, {"a"}),
                             {granted({"create"}, {"pods/eviction"}, {""}, {"b"})}));
  EXPECT_TRUE(may_be_denied(denied({"delete"}, {"pods"}, {""}, {"a"}),
                            {granted({"create"}, {"*"}, {""}, {"a"})}));
}

TEST(DeniedGrants, AnotherResourceHasOtherNames) {
  const std::string group = "authorization.openshift.io";
  EXPECT_TRUE(may_be_denied(denied({"get"}, {"roles"}, {group}, {"a"}),
                            {granted({"get"}, {"policies"}, {group}, {"default"})}));
}

TEST(DeniedGrants, AVeryLongRuleIsNoTrouble) {
  Texts many;
  for (int i = 0; i < 20'000; ++i) many.push_back(cat("r", i));
  EXPECT_FALSE(may_be_denied(denied({"delete"}, {"pods"}), {granted({"*"}, many, {"*"})}));
}

}  // namespace
}  // namespace cardea::authz

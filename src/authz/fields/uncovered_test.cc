#include "authz/fields/uncovered.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace cardea::authz::fields {
namespace {

json::Value spec(std::string_view text) {
  return *json::parse(text);
}

bool excludes(const Uncovered& uncovered, std::string_view resource, std::string_view verb) {
  return uncovered.on("", resource).verbs.verbs.contains(verb);
}

TEST(Uncovered, ASetMayBeAboutSomeResourcesAlone) {
  Uncovered all;
  all.add(spec(R"({"uncoveredPermissions":["granular:a"]})"));
  all.add(
      spec(R"({"uncoveredPermissions":["granular:b"],"resources":[{"resource":"namespaces"}]})"));
  all.add(spec(R"({"uncoveredPermissions":["granular:c"],"admissionMayWrite":true})"));
  EXPECT_TRUE(excludes(all, "namespaces", "granular:a"));
  EXPECT_TRUE(excludes(all, "namespaces", "granular:b"));
  EXPECT_TRUE(excludes(all, "namespaces", "granular:c"));
  EXPECT_TRUE(excludes(all, "pods", "granular:a"));
  EXPECT_FALSE(excludes(all, "pods", "granular:b"));
  EXPECT_TRUE(excludes(all, "pods", "granular:c"));
  EXPECT_FALSE(all.on("other", "namespaces").verbs.verbs.contains("granular:b"));
  const auto& guarded = all.on("", "namespaces").guarded_from_admission.verbs;
  EXPECT_TRUE(guarded.contains("granular:b"));
  EXPECT_FALSE(guarded.contains("granular:c"));
}

TEST(Uncovered, AListOfResourcesThatCannotBeReadStandsForAllOfThem) {
  for (const char* resources : {"[]", "{}", "7", R"([{"group":"apps"}])", R"(["pods"])"}) {
    Uncovered one;
    one.add(spec(std::string(R"({"uncoveredPermissions":["granular:a"],"resources":)") + resources +
                 "}"));
    EXPECT_TRUE(excludes(one, "pods", "granular:a")) << resources;
    EXPECT_FALSE(one.empty());
  }
}

}  // namespace
}  // namespace cardea::authz::fields

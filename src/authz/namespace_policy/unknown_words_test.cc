#include "authz/namespace_policy/unknown_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "schema/schema.h"

namespace cardea::authz::namespace_policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

// Pods with a status, whose objects have a field `spec`.
struct OnlyPods : KindNames {
  OnlyPods() {
    any.type = schema::Schema::Type::kAny;
    pod.type = schema::Schema::Type::kObject;
    pod.properties.push_back({.name = "spec", .schema = &any});
  }
  std::string_view kind_of(std::string_view, std::string_view) const override { return ""; }
  std::vector<std::pair<std::string, std::string>> resources_of(
      std::string_view kind) const override {
    if (kind != "pod") return {};
    return {{"", "pods"}};
  }
  std::optional<Texts> parts_of(std::string_view resource) const override {
    if (resource != "pods") return std::nullopt;
    return Texts{"status"};
  }
  bool has_group(std::string_view group) const override { return group == "apps"; }
  bool any_version(std::string_view,
                   const std::function<bool(const schema::Schema&)>& has) const override {
    return has(pod);
  }
  schema::Schema any, pod;
};

Texts doubts(std::string_view rule) {
  json::FieldErrors errors;
  Role role;
  role.rules.push_back(read_rule(json::parse(rule).value(), "", errors));
  EXPECT_TRUE(errors.empty());
  return unknown_words(role, "", OnlyPods());
}

TEST(UnknownWords, AreToldWithTheirPlace) {
  EXPECT_THAT(doubts(R"({"verbs":["get","gett"],"resourceKinds":["pods","podz"]})"),
              ElementsAre(R"(rules[0].verbs[1]: unknown verb "gett")",
                          R"(rules[0].resourceKinds[1]: unknown resource "podz")"));
  EXPECT_THAT(doubts(R"({"deny":true,"verbs":["*","-dellete"],"resourceKinds":["*","-podz"]})"),
              ElementsAre(R"(rules[0].verbs[1]: unknown verb "dellete")",
                          R"(rules[0].resourceKinds[1]: unknown resource "podz")"));
  EXPECT_THAT(doubts(R"({"verbs":["get"],"resourceKinds":["pods/statsu"],"apiGroups":["aps"]})"),
              ElementsAre(R"(rules[0].resourceKinds[0]: unknown subresource "pods/statsu")",
                          R"(rules[0].apiGroups[0]: unknown API group "aps")"));
  EXPECT_THAT(doubts(R"({"verbs":["update"],"resourceKinds":["Pod"],
                         "attributeRestrictions":{"fieldsMutatable":["spec.replicas","sepc"]}})"),
              ElementsAre("rules[0].attributeRestrictions.fieldsMutatable[1]: unknown field "
                          "\"sepc\""));
}

TEST(UnknownWords, AreNotThoseThatMeanSomething) {
  EXPECT_THAT(doubts(R"({"verbs":["*"],"resourceKinds":["*"],"apiGroups":["*","","apps"]})"),
              IsEmpty());
  EXPECT_THAT(doubts(R"json({"verbs":["GET","exec","log","granular:label(x)",
                                      "impersonate:user-info"],
                         "resourceKinds":["Pod","pods/status","users",
                                          "resourcegroup:builds"]})json"),
              IsEmpty());
  EXPECT_THAT(doubts(R"({"verbs":["get"],"nonResourceURLs":["/x"]})"), IsEmpty());
}

}  // namespace
}  // namespace cardea::authz::namespace_policy

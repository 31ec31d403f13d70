#include "advice/permission_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "advice/known_resources.h"
#include "json/parse.h"

namespace cardea::advice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const KnownResources& builtins() {
  static const KnownResources kKnown;
  return kKnown;
}

json::Value definition(std::string_view spec) {
  return json::parse(std::string(
                         R"({"kind":"CustomResourceDefinition","spec":{"group":"example.com",
    "scope":"Namespaced",
    "names":{"plural":"widgets","singular":"widget","kind":"Widget","shortNames":["wd"]},
    "versions":[{"name":"v1","served":true,"storage":true,
    "subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object",
      "properties":{"spec":)") +
                     std::string(spec) + "}}}}]}}")
      .value();
}

std::string documented_page() {
  std::ifstream in(CARDEA_SOURCE_DIR "/docs/permissions.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PermissionPage, IsTheOneInTheDocumentation) {
  EXPECT_TRUE(documented_page() == permissions_markdown(builtins().catalog()))
      << "write it anew: cardea explain-permissions --all --markdown > docs/permissions.md";
}

TEST(PermissionPage, EveryRuleOfThePageIsOneThatRbacCanRead) {
  const std::string page = documented_page();
  int rules = 0;
  for (std::string_view rest = page; !rest.empty();) {
    auto end = std::min(rest.find('\n'), rest.size() - 1);
    if (rest.starts_with("{")) {
      auto rule = json::parse(rest.substr(0, end));
      ASSERT_TRUE(rule) << rest.substr(0, end);
      std::vector<std::string> verbs;
      for (const auto& v : (*rule)["verbs"].items()) verbs.emplace_back(v.as_string());
      if (verbs.front() == "get") verbs.erase(verbs.begin());
      if (!verbs.empty()) EXPECT_THAT(verbs, ElementsAre("granular", StartsWith("granular:")));
      ++rules;
    }
    rest.remove_prefix(end + 1);
  }
  EXPECT_GT(rules, 100);
}

TEST(PermissionPage, ShowsFieldsParameterWhatCoversThemAndARule) {
  const catalog::Resource* r = builtins().find("deploy");
  ASSERT_TRUE(r);
  std::string text = explain_permissions(*r);
  EXPECT_THAT(text, HasSubstr("deployments.apps (Deployment, apps/v1)\n"));
  EXPECT_THAT(
      text,
      HasSubstr("granular:label(<prefix of key>)\n"
                "    fields      metadata.labels[*]\n"
                "    parameter   the key, up to its first slash\n"
                "    covered by  granular:metadata, granular:labels\n"
                "    rule        {\"apiGroups\": [\"apps\"], \"resources\": [\"deployments\"], "
                "\"verbs\": [\"get\", \"granular\", \"granular:label(example.com)\"]}\n"));
  EXPECT_THAT(text, HasSubstr("\"resources\": [\"deployments\"], \"verbs\": [\"get\"]}\n"));
  EXPECT_THAT(text, HasSubstr("\"resources\": [\"deployments/status\"], \"verbs\": [\"granular\", "
                              "\"granular:condition(Ready)\"]"));
  EXPECT_THAT(text, HasSubstr("\"resources\": [\"deployments\", \"deployments/scale\"], \"verbs\": "
                              "[\"get\", \"granular\", \"granular:replicaCount\"]"));
  EXPECT_THAT(text, Not(HasSubstr("nodeAssignment")));
}

TEST(PermissionPage, FindsResourcesByAnyOfTheirNames) {
  const KnownResources& known = builtins();
  EXPECT_EQ(known.find("po")->qualified_name(), "pods");
  EXPECT_EQ(known.find("pod.v1")->qualified_name(), "pods");
  EXPECT_EQ(known.find("Deployment.apps")->qualified_name(), "deployments.apps");
  EXPECT_EQ(known.find("deployments.v1.apps/status")->qualified_name(), "deployments.apps");
  EXPECT_EQ(known.find("deployments.example.com"), nullptr);
  EXPECT_EQ(known.find("subjectaccessreviews"), nullptr);
  EXPECT_EQ(known.find(""), nullptr);
}

TEST(PermissionPage, ShowsTheTagsOfADefinition) {
  KnownResources known;
  auto name = known.add_definition(
      definition(R"({"type":"object","x-kubernetes-permission-verb":"specification","properties":{
    "boom":{"type":"boolean","x-kubernetes-permission-verb":"example.com/selfDestruct",
      "x-kubernetes-permission-excluded":true},
    "parts":{"type":"object","additionalProperties":{"type":"string",
      "x-kubernetes-permission-verb":"example.com/part",
      "x-kubernetes-permission-parameter":"mapKey",
      "x-kubernetes-permission-parameter-cel":"self.split('-')[0]"}}}})"));
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(*name, "widgets.example.com");
  std::string text = explain_permissions(*known.find("wd"));
  EXPECT_THAT(text, HasSubstr("granular:example.com/selfDestruct\n    fields      spec.boom\n"
                              "    note        excluded: neither the verb of a request nor any "
                              "other permission implies it\n"));
  EXPECT_THAT(text, HasSubstr("parameter   the key, as self.split('-')[0] makes it\n"));
  EXPECT_THAT(text, HasSubstr("granular:label(<prefix of key>)"));
}

TEST(PermissionPage, SaysWhatIsWrongWithADefinition) {
  KnownResources known;
  auto wrong = known.add_definition(
      definition(R"({"type":"object","x-kubernetes-permission-verb":"Not A Name"})"));
  ASSERT_FALSE(wrong);
  EXPECT_THAT(
      wrong.error().message,
      HasSubstr(
          "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-permission-verb"));
  EXPECT_FALSE(known.add_definition(json::Value::object({{"kind", "Pod"}})));
}

}  // namespace
}  // namespace cardea::advice

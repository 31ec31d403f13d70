#include "catalog/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "catalog/builtin_types.h"
#include "json/print.h"
#include "json/testing/recordings.h"
#include "schema/wire/decode.h"

namespace cardea::catalog {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kNow = "2026-01-01T00:00:00Z";

Value definition(std::string_view plural, std::string_view kind, std::string_view short_name = "") {
  Value names = Value::object({{"plural", plural}, {"kind", kind}});
  if (!short_name.empty()) names.set("shortNames", Value::array({short_name}));
  Value version = json::parse(R"({"name":"v1","served":true,"storage":true,
                                  "schema":{"openAPIV3Schema":{"type":"object"}}})")
                      .value();
  Value d = Value::object({{"metadata", Value::object({{"name", cat(plural, ".g.example")}})},
                           {"spec", Value::object({{"group", "g.example"},
                                                   {"scope", "Cluster"},
                                                   {"names", names},
                                                   {"versions", Value::array({version})}})}});
  StrategyContext context{};
  definition_strategy().defaults(d, context);
  definition_strategy().prepare_for_create(d, context);
  return d;
}

std::vector<std::string> messages(const json::FieldErrors& errors) {
  std::vector<std::string> out;
  for (const auto& e : errors) out.push_back(e.message());
  return out;
}

std::string condition(const Value& d, std::string_view type) {
  const Value* c = find_condition(d, type);
  return c ? cat((*c)["status"].as_string(), " ", (*c)["reason"].as_string(), ": ",
                 (*c)["message"].as_string())
           : "";
}

TEST(Definition, FillsInNamesConversionAndStoredVersions) {
  Value d = definition("plains", "Plain");
  EXPECT_THAT(messages(validate_definition(d)), IsEmpty());
  EXPECT_EQ(json::print(d["spec"]["names"]),
            R"({"kind":"Plain","listKind":"PlainList","plural":"plains","singular":"plain"})");
  EXPECT_EQ(json::print(d["spec"]["conversion"]), R"({"strategy":"None"})");
  EXPECT_EQ(
      json::print(d["status"]),
      R"({"acceptedNames":{"kind":"","plural":""},"conditions":null,"storedVersions":["v1"]})");
}

TEST(Definition, IsEstablishedWhenItsNamesAreFree) {
  Value d = with_names_accepted(definition("plains", "Plain"), {}, kNow);
  EXPECT_EQ(d["status"]["acceptedNames"], d["spec"]["names"]);
  EXPECT_EQ(condition(d, "NamesAccepted"), "True NoConflicts: no conflicts found");
  EXPECT_EQ(condition(d, "Established"),
            "True InitialNamesAccepted: the initial names have been accepted");
  std::vector<Value> all = {d};
  EXPECT_TRUE(with_names_accepted(d, all, "2027-01-01T00:00:00Z").same(d));
}

TEST(Definition, IsNotEstablishedWhileAnotherHasItsNames) {
  std::vector<Value> others = {with_names_accepted(definition("plains", "Plain", "p"), {}, kNow)};
  Value d = with_names_accepted(definition("planes", "Plain", "p"), others, kNow);
  EXPECT_EQ(condition(d, "NamesAccepted"),
            "False ListKindConflict: \"PlainList\" is already in use");
  EXPECT_EQ(condition(d, "Established"), "False NotAccepted: not all names are accepted");
  EXPECT_EQ(d["status"]["acceptedNames"]["plural"].as_string(), "planes");
  EXPECT_EQ(d["status"]["acceptedNames"]["kind"].as_string(), "");
  Value freed = with_names_accepted(d, {}, kNow);
  EXPECT_EQ(condition(freed, "Established"),
            "True InitialNamesAccepted: the initial names have been accepted");
}

TEST(Definition, KeepsTheNamesItOnceHad) {
  Value first = with_names_accepted(definition("plains", "Plain"), {}, kNow);
  Value changed = first;
  changed.member("spec").member("names").set("shortNames", Value::array({"q"}));
  std::vector<Value> others = {with_names_accepted(definition("quads", "Quad", "q"), {}, kNow),
                               first};
  Value d = with_names_accepted(changed, others, kNow);
  EXPECT_EQ(condition(d, "NamesAccepted"), "False ShortNamesConflict: \"q\" is already in use");
  EXPECT_EQ(condition(d, "Established"),
            "True InitialNamesAccepted: the initial names have been accepted");
}

TEST(Definition, WaitsForItsInstancesWhenDeleted) {
  Value d = marked_for_deletion(with_names_accepted(definition("plains", "Plain"), {}, kNow), kNow);
  EXPECT_EQ(json::print(d["metadata"]["finalizers"]),
            R"(["customresourcecleanup.apiextensions.k8s.io"])");
  EXPECT_EQ(condition(d, "Terminating"),
            "True InstanceDeletionPending: CustomResourceDefinition marked for deletion; "
            "CustomResource deletion will begin soon");
  EXPECT_EQ(d["metadata"]["deletionTimestamp"].as_string(), kNow);
}

TEST(Definition, ItsIdentityIsImmutable) {
  Value old = with_names_accepted(definition("plains", "Plain"), {}, kNow);
  Value d = old;
  d.member("spec").set("scope", "Namespaced");
  d.member("spec").member("names").set("kind", "Other");
  d.member("spec").member("versions").item(0).set("name", "v2");
  definition_strategy().prepare_for_update(d, old, {});
  EXPECT_THAT(messages(validate_definition_update(d, old)),
              ElementsAre("spec.scope: Invalid value: \"Namespaced\": field is immutable",
                          "spec.names.kind: Invalid value: \"Other\": field is immutable",
                          "status.storedVersions[0]: Invalid value: \"v1\": missing from "
                          "spec.versions; v1 was previously "
                          "a storage version, and must remain in spec.versions until a storage "
                          "migration ensures no data "
                          "remains persisted in v1 and removes v1 from status.storedVersions"));
}

TEST(Definition, OfTheCommunitysGroupsSaysWhoApprovedIt) {
  Value d = definition("plains", "Plain");
  d.member("metadata").set("name", "plains.x.k8s.io");
  d.member("spec").set("group", "x.k8s.io");
  EXPECT_EQ(validate_definition(d).size(), 1u);
  d.member("metadata")
      .member("annotations")
      .set("api-approved.kubernetes.io", "unapproved, a test");
  EXPECT_THAT(messages(validate_definition(d)), IsEmpty());
  EXPECT_EQ(condition(with_names_accepted(d, {}, kNow), "KubernetesAPIApprovalPolicyConformant"),
            "False UnapprovedAnnotation: not approved: \"unapproved, a test\"");
}

TEST(Definition, WarnsOfFormatsNobodyKnows) {
  Value d = definition("plains", "Plain");
  Value schema = json::parse(
                     R"({"type":"object","properties":{"a":{"type":"string","format":"banana"}}})")
                     .value();
  d.member("spec").member("versions").item(0).member("schema").set("openAPIV3Schema", schema);
  StrategyContext context{};
  EXPECT_THAT(definition_strategy().warnings(d, nullptr, context),
              ElementsAre("unrecognized format \"banana\""));
  EXPECT_THAT(definition_strategy().warnings(d, &d, context), IsEmpty());
}

// Every definition that a recorded conversation creates, with the recorded answer.
class RecordedDefinitions : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedDefinitions, AreAnsweredInTheRecordedWords) {
  const std::optional<json::Value> conversation = json::recorded(GetParam());
  BuiltinTypes types;
  const auto* type = types.find(
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition");
  ASSERT_NE(type, nullptr);
  const Strategy& strategy = definition_strategy();
  StrategyContext context{};
  for (const Value& step : (*conversation)["steps"].items()) {
    if (step["method"].as_string() != "POST" ||
        step["body"]["kind"].as_string() != "CustomResourceDefinition")
      continue;
    std::string text = json::print(step["body"]);
    SCOPED_TRACE(text);
    auto decoded = schema::decode(*type, json::parse_document(text).value(), text);
    ASSERT_TRUE(decoded) << decoded.error().message;
    auto warnings = step["expect"]["headers"]["Warning"].items();
    ASSERT_EQ(warnings.size(), decoded->strict.size());
    for (std::size_t i = 0; i < warnings.size(); ++i)
      EXPECT_EQ(warnings[i].as_string(),
                cat("299 - ", ::cardea::quoted(std::string_view(decoded->strict[i]))));
    Value d = decoded->value;
    strategy.defaults(d, context);
    strategy.prepare_for_create(d, context);
    auto errors = strategy.validate_create(d, context);
    const Value& expected = step["expect"]["body"];
    if (expected["code"].as_int() == 422) {
      Error error = json::invalid_object("apiextensions.k8s.io", "CustomResourceDefinition",
                                         d["metadata"]["name"].as_string(), errors);
      EXPECT_EQ(error.message, expected["message"].as_string());
    } else {
      EXPECT_THAT(messages(errors), IsEmpty());
      EXPECT_EQ(json::print(d["spec"]), json::print(expected["spec"]));
      EXPECT_EQ(json::print(d["status"]), json::print(expected["status"]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Conversations, RecordedDefinitions,
                         ::testing::Values("crd--crd-structural-errors", "defaults--defaults-crd"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace cardea::catalog

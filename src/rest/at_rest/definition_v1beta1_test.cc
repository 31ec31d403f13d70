#include "rest/at_rest/definition_v1beta1.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::rest {
namespace {

std::string renewed(std::string_view spec) {
  auto object = json::parse(std::string(R"({"kind":"CustomResourceDefinition",)") +
                            R"("apiVersion":"apiextensions.k8s.io/v1beta1","spec":)" +
                            std::string(spec) + "}");
  EXPECT_TRUE(object && is_old_definition(*object));
  const json::Value now = definition_from_v1beta1(*object);
  EXPECT_FALSE(is_old_definition(now));
  return json::print(now["spec"]);
}

TEST(DefinitionV1beta1, WhatVersionsHaveInCommonGoesIntoEach) {
  EXPECT_EQ(renewed(R"({"version":"v1","validation":{"openAPIV3Schema":{"type":"object"}},)"
                    R"("subresources":{"status":{}},"preserveUnknownFields":false,)"
                    R"("additionalPrinterColumns":[{"name":"A","JSONPath":".a"}],)"
                    R"("versions":[{"name":"v1","served":true,"storage":true},{"name":"v2"}]})"),
            R"({"preserveUnknownFields":false,"versions":[)"
            R"({"additionalPrinterColumns":[{"jsonPath":".a","name":"A"}],"name":"v1",)"
            R"("schema":{"openAPIV3Schema":{"type":"object"}},"served":true,"storage":true,)"
            R"("subresources":{"status":{}}},)"
            R"({"additionalPrinterColumns":[{"jsonPath":".a","name":"A"}],"name":"v2",)"
            R"("schema":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}}}]})");
}

TEST(DefinitionV1beta1, AVersionKeepsWhatIsItsOwn) {
  EXPECT_EQ(renewed(R"({"version":"v1","preserveUnknownFields":false,"versions":[)"
                    R"({"name":"v1","schema":{"a":1}},{"name":"v2","schema":{"a":2}}]})"),
            R"({"preserveUnknownFields":false,"versions":[)"
            R"({"name":"v1","schema":{"a":1}},{"name":"v2","schema":{"a":2}}]})");
}

TEST(DefinitionV1beta1, TheWebhookOfAConversionHasItsOwnObject) {
  EXPECT_EQ(renewed(R"({"preserveUnknownFields":false,"versions":[],"conversion":)"
                    R"({"strategy":"Webhook","webhookClientConfig":{"url":"u"},)"
                    R"("conversionReviewVersions":["v1"]}})"),
            R"({"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"url":"u"},)"
            R"("conversionReviewVersions":["v1"]}},"preserveUnknownFields":false,"versions":[]})");
}

TEST(DefinitionV1beta1, WhatIsNotSaidMeansWhatItMeantThere) {
  EXPECT_EQ(renewed(R"({"version":"v1"})"), R"({"preserveUnknownFields":true,"versions":[)"
                                            R"({"name":"v1","served":true,"storage":true}]})");
  EXPECT_EQ(renewed("7"), "7") << "what is wrong stays wrong";
}

}  // namespace
}  // namespace cardea::rest

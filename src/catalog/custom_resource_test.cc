// Custom resources against recorded answers: the definitions and bodies of conversations with a
// real kube-apiserver, read, defaulted and validated here.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/strings.h"
#include "catalog/builtin_types.h"
#include "json/field_error.h"
#include "json/print.h"
#include "json/testing/recordings.h"
#include "schema/custom/defaults.h"
#include "schema/custom/prune.h"
#include "schema/custom/structural.h"
#include "schema/custom/validate.h"

namespace cardea::catalog {
namespace {

using json::Value;

class CustomResources : public ::testing::Test {
 protected:
  // Takes the schema of the first definition that the conversation creates.
  void learn(const Value& conversation) {
    for (const char* part : {"setup", "steps"})
      for (const Value& step : conversation[part].items())
        if (step["body"]["kind"].as_string() == "CustomResourceDefinition" && !schema_) {
          const Value& version = step["body"]["spec"]["versions"][0];
          schema_ = schema::build_structural(set_, version["schema"]["openAPIV3Schema"], meta());
          resource_path_ = cat("/", step["body"]["spec"]["names"]["plural"].as_string());
        }
    ASSERT_NE(schema_, nullptr);
  }

  const schema::Schema* meta() {
    return types_.find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  }

  static std::string body_text(const Value& step) {
    return step["body"].is_string() ? std::string(step["body"].as_string())
                                    : json::print(step["body"]);
  }

  void check_create(const Value& step) {
    std::string text = body_text(step);
    SCOPED_TRACE(text);
    auto document = json::parse_document(text).value();
    const Value& expected = step["expect"];
    auto decoded = schema::decode_custom(*schema_, *meta(), document, text);
    if (!decoded) {
      EXPECT_EQ(expected["status"].as_int(), 400);
      EXPECT_TRUE(expected["body"]["message"].as_string().ends_with(decoded.error().message))
          << decoded.error().message;
      return;
    }
    if (expected["status"].as_int() == 400) {
      EXPECT_TRUE(
          expected["body"]["message"].as_string().ends_with(schema::strict_error(decoded->strict)))
          << schema::strict_error(decoded->strict);
      return;
    }
    check_warnings(step, decoded->strict);
    Value object = schema::apply_defaults(*schema_, decoded->value);
    std::vector<std::string> warnings;
    auto errors = schema::validate_custom(*schema_, *meta(), object, nullptr, false, warnings);
    if (expected["status"].as_int() == 422)
      return check_causes(expected["body"]["details"]["causes"], errors);
    for (const auto& e : errors) ADD_FAILURE() << e.message();
    const Value* spec = expected["body"].find("spec");
    if (!spec) spec = expected["body"].has("$.spec") ? &expected["body"]["$.spec"][0] : nullptr;
    if (spec) EXPECT_EQ(json::print(object["spec"]), json::print(*spec));
  }

  void check_warnings(const Value& step, const std::vector<std::string>& strict) {
    if (step["path"].as_string().find("fieldValidation=Ignore") != std::string_view::npos) return;
    auto warnings = step["expect"]["headers"]["Warning"].items();
    ASSERT_EQ(warnings.size(), strict.size());
    for (std::size_t i = 0; i < strict.size(); ++i)
      EXPECT_EQ(warnings[i].as_string(),
                cat("299 - ", ::cardea::quoted(std::string_view(strict[i]))));
  }

  // Recorded causes of several fields have no fixed order, because maps have none in Go.
  static void check_causes(const Value& causes, const json::FieldErrors& errors) {
    std::vector<std::string> wanted, found;
    for (const Value& cause : causes.items()) {
      if (cause["field"].as_string().starts_with("metadata."))
        return;  // the object's own name, which is not checked here
      wanted.push_back(cat(cause["field"].as_string(), ": ", cause["message"].as_string()));
    }
    for (const auto& e : errors) found.push_back(e.message());
    std::ranges::sort(wanted);
    std::ranges::sort(found);
    EXPECT_EQ(found, wanted);
    ErrorDetails details = *json::invalid_object("g", "K", "n", errors).details;
    for (const Cause& cause : details.causes)
      EXPECT_TRUE(std::ranges::any_of(causes.items(),
                                      [&](const Value& c) {
                                        return c["reason"].as_string() == cause.reason &&
                                               c["field"].as_string() == cause.field;
                                      }))
          << cause.reason << " " << cause.field;
  }

  void check_all(const Value& conversation) {
    learn(conversation);
    int checked = 0;
    for (const Value& step : conversation["steps"].items()) {
      std::string_view path = step["path"].as_string();
      path = path.substr(0, path.find('?'));
      if (step["method"].as_string() != "POST" || !path.ends_with(resource_path_)) continue;
      check_create(step);
      ++checked;
    }
    EXPECT_GT(checked, 0);
  }

  BuiltinTypes types_;
  schema::SchemaSet set_;
  const schema::Schema* schema_ = nullptr;
  std::string resource_path_;
};

TEST_F(CustomResources, ValuesAreRefusedInTheRecordedWords) {
  const std::optional<json::Value> conversation = json::recorded("crd--crd-value-validation");
  check_all(*conversation);
}

TEST_F(CustomResources, DefaultsAndPruningGiveTheRecordedObjects) {
  const std::optional<json::Value> conversation = json::recorded("crd--crd-default-prune");
  check_all(*conversation);
}

TEST_F(CustomResources, UnknownAndDuplicateFieldsAreReportedInTheRecordedOrder) {
  const std::optional<json::Value> conversation = json::recorded(
      "fieldvalidation--field-validation-crd");
  check_all(*conversation);
}

}  // namespace
}  // namespace cardea::catalog

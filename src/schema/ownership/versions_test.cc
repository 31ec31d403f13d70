// Ownership across versions that a webhook converts: what v1 calls `size` is `width` in v2.
#include "schema/ownership/versions.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"
#include "schema/ownership/apply.h"

namespace cardea::schema {
namespace {

using json::Value;

Value read(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

class OwnersInVersions : public ::testing::Test {
 protected:
  const Schema* shape(std::string_view field) {
    Schema* text = schemas_.make();
    text->type = Schema::Type::kString;
    Schema* number = schemas_.make();
    number->type = Schema::Type::kInteger;
    Schema* managed = schemas_.make();
    managed->type = Schema::Type::kArray;
    Schema* metadata = schemas_.make();
    metadata->type = Schema::Type::kObject;
    metadata->properties = {{"managedFields", managed}, {"name", text}};
    Schema* spec = schemas_.make();
    spec->type = Schema::Type::kObject;
    spec->properties = {{"note", text}, {std::string(field), number}};
    Schema* root = schemas_.make();
    root->type = Schema::Type::kObject;
    root->properties = {
        {"apiVersion", text}, {"kind", text}, {"metadata", metadata}, {"spec", spec}};
    return root;
  }

  VersionSchemas schema_of() {
    return [this](std::string_view version) -> const Schema* {
      return version == "e/v1" ? v1_ : version == "e/v2" ? v2_ : nullptr;
    };
  }
  VersionViews view_of() {
    return [this](const Value& object, std::string_view version) -> std::optional<Value> {
      if (object["apiVersion"].as_string() == version) return object;
      if (!is_known_) return std::nullopt;
      Value out = object;
      out.set("apiVersion", version);
      const char* from = version == "e/v1" ? "width" : "size";
      if (const Value* found = object["spec"].find(from)) {
        out.member("spec").set(version == "e/v1" ? "size" : "width", *found);
        out.member("spec").erase(from);
      }
      return out;
    };
  }

  Result<Value> apply_as(std::string_view manager, std::string_view version, const Value* live,
                         std::string_view spec, bool force = false) {
    Value config = read(R"({"kind":"Thing","metadata":{"name":"t"}})");
    config.set("apiVersion", version);
    config.set("spec", read(spec));
    std::optional<Value> shown = live ? view_of()(*live, version) : std::nullopt;
    return apply(shown ? &*shown : nullptr, config, version == "e/v1" ? *v1_ : *v2_,
                 {.manager = manager,
                  .force = force,
                  .api_version = version,
                  .kind = "Thing",
                  .now = "2026-01-01T00:00:00Z",
                  .schema_of = schema_of(),
                  .view_of = view_of()});
  }
  static std::string owned_by(const Value& object, std::string_view manager) {
    for (const Value& m : object["metadata"]["managedFields"].items())
      if (m["manager"].as_string() == manager)
        return std::string(m["apiVersion"].as_string()) + " " + json::print(m["fieldsV1"]);
    return "";
  }

  SchemaSet schemas_;
  const Schema* v1_ = shape("size");
  const Schema* v2_ = shape("width");
  bool is_known_ = true;
};

TEST_F(OwnersInVersions, ConflictUnderTheNameOfTheOwnersVersion) {
  auto first = apply_as("one", "e/v1", nullptr, R"({"size":1,"note":"a"})");
  ASSERT_TRUE(first) << first.error().message;
  auto second = apply_as("two", "e/v2", &*first, R"({"width":2})");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            "Apply failed with 1 conflict: conflict with \"one\": .spec.size");
  EXPECT_TRUE(apply_as("two", "e/v2", &*first, R"({"width":1})")) << "the value stays";
}

TEST_F(OwnersInVersions, LoseWhatAnotherVersionTakesByForce) {
  auto first = apply_as("one", "e/v1", nullptr, R"({"size":1,"note":"a"})");
  auto second = apply_as("two", "e/v2", &*first, R"({"width":2})", true);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(owned_by(*second, "one"), R"(e/v1 {"f:spec":{"f:note":{}}})");
  EXPECT_EQ(owned_by(*second, "two"), R"(e/v2 {"f:spec":{"f:width":{}}})");
}

TEST_F(OwnersInVersions, RemoveWhatTheyAppliedInAnotherVersion) {
  auto first = apply_as("one", "e/v1", nullptr, R"({"size":1,"note":"a"})");
  auto second = apply_as("one", "e/v2", &*first, R"({"note":"a"})");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(json::print((*second)["spec"]), R"({"note":"a"})");
  EXPECT_EQ(owned_by(*second, "one"), R"(e/v2 {"f:spec":{"f:note":{}}})");
}

TEST_F(OwnersInVersions, KeepWhatAnotherOwnsInAnotherVersion) {
  auto first = apply_as("one", "e/v1", nullptr, R"({"size":1,"note":"a"})");
  auto shared = apply_as("two", "e/v2", &*first, R"({"width":1})");
  auto second = apply_as("one", "e/v2", &*shared, R"({"note":"a"})");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(json::print((*second)["spec"]), R"({"note":"a","width":1})");
}

TEST_F(OwnersInVersions, LoseWhatAnUpdateOfAnotherVersionChanges) {
  auto first = apply_as("one", "e/v1", nullptr, R"({"size":1,"note":"a"})");
  Value old = *view_of()(*first, "e/v2"), updated = old;
  updated.member("spec").set("width", 5);
  Value tracked = track_update(&old, updated, *v2_,
                               {.manager = "three",
                                .api_version = "e/v2",
                                .now = "2026-01-01T00:00:00Z",
                                .schema_of = schema_of(),
                                .view_of = view_of()});
  EXPECT_EQ(owned_by(tracked, "one"), R"(e/v1 {"f:spec":{"f:note":{}}})");
  EXPECT_EQ(owned_by(tracked, "three"), R"(e/v2 {"f:spec":{"f:width":{}}})");
}

TEST_F(OwnersInVersions, AreNotGuessedWhileAVersionIsNotKnown) {
  auto first = apply_as("one", "e/v1", nullptr, R"({"size":1})");
  Value live = *view_of()(*first, "e/v2");
  is_known_ = false;
  EXPECT_FALSE(apply_as("two", "e/v2", &live, R"({"width":2})"));
}

}  // namespace
}  // namespace cardea::schema

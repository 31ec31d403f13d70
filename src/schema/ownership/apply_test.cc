#include "schema/ownership/apply.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::schema {
namespace {

using json::Value;

Value read(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

// A resource with each kind of field: spec{ports[port,proto=TCP], set, atom[], amap (atomic), gmap,
// any, n}.
class Ownership : public ::testing::Test {
 protected:
  Ownership() {
    Schema* text = make(Schema::Type::kString);
    Schema* protocol = make(Schema::Type::kString);
    protocol->default_value = Value("TCP");
    Schema* number = make(Schema::Type::kInteger);
    Schema* port = make(Schema::Type::kObject);
    port->properties = {{"name", text}, {"port", number}, {"proto", protocol}};
    Schema* ports = make(Schema::Type::kArray);
    ports->items = port;
    ports->list_type = Schema::ListType::kMap;
    ports->map_keys = {"port", "proto"};
    Schema* set = make(Schema::Type::kArray);
    set->items = text;
    set->list_type = Schema::ListType::kSet;
    Schema* atom = make(Schema::Type::kArray);
    atom->items = text;
    Schema* granular = make(Schema::Type::kObject);
    granular->additional = text;
    Schema* atomic = make(Schema::Type::kObject);
    atomic->additional = text;
    atomic->map_type = Schema::MapType::kAtomic;
    Schema* any = make(Schema::Type::kObject);
    any->preserve_unknown_fields = true;
    Schema* spec = make(Schema::Type::kObject);
    spec->properties = {{"amap", atomic}, {"any", any},     {"atom", atom}, {"gmap", granular},
                        {"n", number},    {"ports", ports}, {"set", set}};
    Schema* managed = make(Schema::Type::kArray);
    Schema* metadata = make(Schema::Type::kObject);
    metadata->properties = {{"annotations", granular},
                            {"labels", granular},
                            {"managedFields", managed},
                            {"name", text},
                            {"uid", text}};
    Schema* root = make(Schema::Type::kObject);
    root->properties = {{"apiVersion", text},
                        {"kind", text},
                        {"metadata", metadata},
                        {"spec", spec},
                        {"status", any}};
    schema_ = root;
  }

  Schema* make(Schema::Type type) {
    Schema* schema = set_.make();
    schema->type = type;
    return schema;
  }

  static Value object(std::string_view spec) {
    return read(std::string(R"({"apiVersion":"e/v1","kind":"E","metadata":{"name":"x"},"spec":)") +
                std::string(spec) + "}");
  }

  Result<Value> try_apply(std::string_view manager, std::string_view spec, bool force = false,
                          std::string_view now = "T1") {
    ApplyRequest request{manager, force, "e/v1", "E", "", now, nullptr, {}};
    auto result = apply(live_.is_null() ? nullptr : &live_, object(spec), *schema_, request);
    if (result) {
      if (!live_.is_null()) *result = keep_times_when_unchanged(live_, *result);
      live_ = *result;
    }
    return result;
  }

  // "ok", or the message of the error.
  std::string applied(std::string_view manager, std::string_view spec, bool force = false) {
    auto result = try_apply(manager, spec, force);
    return result ? "ok" : result.error().message;
  }

  void update(std::string_view manager, const Value& object, std::string_view subresource = "",
              std::string_view now = "T1", const FieldSet* reset = nullptr) {
    UpdateRequest request{manager, "e/v1", subresource, now, reset};
    live_ = track_update(live_.is_null() ? nullptr : &live_, object, *schema_, request);
  }

  Value changed(std::string_view spec) {
    Value out = live_;
    out.set("spec", read(spec));
    return out;
  }

  std::string spec() const { return json::print(live_["spec"]); }

  std::string owned(std::string_view manager) const {
    for (const Value& entry : live_["metadata"]["managedFields"].items())
      if (entry["manager"].as_string() == manager) return json::print(entry["fieldsV1"]);
    return "nothing";
  }
  std::string time_of(std::string_view manager) const {
    for (const Value& entry : live_["metadata"]["managedFields"].items())
      if (entry["manager"].as_string() == manager) return std::string(entry["time"].as_string());
    return "nobody";
  }

  SchemaSet set_;
  const Schema* schema_;
  Value live_;
};

TEST_F(Ownership, AnApplierOwnsWhatItApplies) {
  EXPECT_EQ(
      applied("a",
              R"({"ports":[{"port":80,"name":"web"}],"set":["s"],"atom":["1"],"amap":{"k":"1"},)"
              R"("gmap":{"k":"1"}})"),
      "ok");
  EXPECT_EQ(owned("a"), R"({"f:spec":{"f:amap":{},"f:atom":{},"f:gmap":{"f:k":{}},)"
                        R"("f:ports":{"k:{\"port\":80,\"proto\":\"TCP\"}":)"
                        R"({".":{},"f:name":{},"f:port":{}}},"f:set":{"v:\"s\"":{}}}})");
}

TEST_F(Ownership, WhatIsNoLongerAppliedGoesUnlessOthersOwnIt) {
  applied("a", R"({"gmap":{"x":"1","y":"2"},"set":["s","t"],"n":1})");
  applied("b", R"({"gmap":{"y":"2"}})");
  EXPECT_EQ(applied("a", R"({"set":["s"]})"), "ok");
  EXPECT_EQ(spec(), R"({"gmap":{"y":"2"},"set":["s"]})");
  EXPECT_EQ(owned("a"), R"({"f:spec":{"f:set":{"v:\"s\"":{}}}})");
}

TEST_F(Ownership, AMapThatSomebodyOwnsStaysWhenItsLastKeyGoes) {
  applied("a", R"({"gmap":{"x":"1"}})");
  applied("b", R"({"gmap":{}})");
  EXPECT_EQ(applied("a", "{}"), "ok");
  EXPECT_EQ(spec(), R"({"gmap":{}})");
  EXPECT_EQ(owned("b"), R"({"f:spec":{"f:gmap":{}}})");
}

TEST_F(Ownership, AChangeOfWhatOthersOwnIsAConflict) {
  applied("a", R"({"gmap":{"x":"1"},"n":1})");
  auto result = try_apply("b", R"({"n":2})");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, Reason::kConflict);
  EXPECT_EQ(result.error().message, R"(Apply failed with 1 conflict: conflict with "a": .spec.n)");
  ASSERT_EQ(result.error().details->causes.size(), 1u);
  EXPECT_EQ(result.error().details->causes[0].reason, "FieldManagerConflict");
  EXPECT_EQ(applied("b", R"({"n":2,"gmap":{"x":"9"}})"),
            "Apply failed with 2 conflicts: conflicts with \"a\":\n- .spec.n\n- .spec.gmap.x");
}

TEST_F(Ownership, ForceTakesOver) {
  applied("a", R"({"n":1,"gmap":{"x":"1"}})");
  EXPECT_EQ(applied("b", R"({"n":2})", true), "ok");
  EXPECT_EQ(owned("a"), R"({"f:spec":{"f:gmap":{"f:x":{}}}})");
  EXPECT_EQ(owned("b"), R"({"f:spec":{"f:n":{}}})");
}

TEST_F(Ownership, TheSameValueIsSharedWithoutConflict) {
  applied("a", R"({"n":1})");
  EXPECT_EQ(applied("b", R"({"n":1})"), "ok");
  EXPECT_EQ(owned("a"), owned("b"));
  EXPECT_EQ(time_of("b"), "");  // only ownership changed
}

TEST_F(Ownership, ApplyingTheSameAgainChangesNothingNotEvenATime) {
  try_apply("a", R"({"n":1})", false, "T1");
  Value before = live_;
  try_apply("a", R"({"n":1})", false, "T2");
  EXPECT_EQ(live_, before);
  try_apply("a", R"({"n":2})", false, "T3");
  EXPECT_EQ(time_of("a"), "T3");
}

TEST_F(Ownership, ItemsKeepTheOrderOfTheConfigAmongTheirLiveNeighbours) {
  applied("a", R"({"set":["a","b","c"]})");
  applied("b", R"({"set":["c","x","a"]})");
  EXPECT_EQ(spec(), R"({"set":["b","c","x","a"]})");
}

TEST_F(Ownership, ConfigsThatTheSchemaDoesNotAllowAreRefused) {
  const std::string prefix = "failed to create typed patch object (/x; e/v1, Kind=E): ";
  EXPECT_EQ(applied("a", R"({"bogus":1})"), prefix + ".spec.bogus: field not declared in schema");
  EXPECT_EQ(applied("a", R"({"set":["d","d"]})"),
            prefix + R"(.spec.set: duplicate entries for key [="d"])");
  EXPECT_EQ(applied("a", R"({"ports":[{"port":80},{"port":80,"proto":"TCP"}]})"),
            prefix + R"(.spec.ports: duplicate entries for key [port=80,proto="TCP"])");
  EXPECT_EQ(applied("a", R"({"gmap":{"x":5}})"), prefix + ".spec.gmap.x: expected string, got 5");
  EXPECT_EQ(applied("a", R"({"ports":{"a":1}})"),
            prefix + R"(.spec.ports: expected list, got {"a":1})");
  EXPECT_TRUE(live_.is_null());
}

TEST_F(Ownership, ConfigsOfAnotherKindOrWithManagedFieldsAreRefused) {
  ApplyRequest request{"a", false, "e/v1", "E", "", "T1", nullptr, {}};
  auto result = apply(nullptr, read(R"({"apiVersion":"v2","kind":"E"})"), *schema_, request);
  EXPECT_EQ(result.error().message, "invalid object type: /v2, Kind=E");
  EXPECT_EQ(apply(nullptr, read("{}"), *schema_, request).error().message,
            "invalid object type: /, Kind=");
  Value config = object("{}");
  config.member("metadata").set("managedFields", Value::array());
  EXPECT_EQ(apply(nullptr, config, *schema_, request).error().message,
            "metadata.managedFields must be nil");
}

TEST_F(Ownership, PartsWithoutSchemaAreDeduced) {
  applied("a", R"({"any":{"m":{"k":1},"l":[1,2]}})");
  EXPECT_EQ(owned("a"), R"({"f:spec":{"f:any":{"f:l":{},"f:m":{".":{},"f:k":{}}}}})");
}

TEST_F(Ownership, DuplicatesInTheLiveListAreTolerated) {
  update("u", object(R"({"set":["d","d"]})"));
  EXPECT_EQ(owned("u"), R"({"f:spec":{".":{},"f:set":{".":{},"v:\"d\"":{}}}})");
  EXPECT_EQ(applied("a", R"({"set":["e"]})"), "ok");
  EXPECT_EQ(spec(), R"({"set":["d","d","e"]})");
}

TEST_F(Ownership, AnUpdaterOwnsWhatItChangedAndTakesItFromOthers) {
  applied("a", R"({"n":1,"gmap":{"x":"1"}})");
  update("u", changed(R"({"n":2,"gmap":{"x":"1","y":"2"}})"), "", "T2");
  EXPECT_EQ(owned("a"), R"({"f:spec":{"f:gmap":{"f:x":{}}}})");
  EXPECT_EQ(owned("u"), R"({"f:spec":{"f:gmap":{"f:y":{}},"f:n":{}}})");
  EXPECT_EQ(time_of("a"), "T1");
  update("u", changed(R"({"gmap":{"x":"1","y":"2"}})"), "", "T3");
  EXPECT_EQ(owned("u"), R"({"f:spec":{"f:gmap":{"f:y":{}}}})");
  EXPECT_EQ(time_of("u"), "T2");  // it only lost fields
}

TEST_F(Ownership, AnUpdateWithoutEffectChangesNothing) {
  update("u", object(R"({"n":1})"));
  Value before = live_;
  update("v", live_, "", "T2");
  EXPECT_EQ(live_, before);
}

TEST_F(Ownership, NameAndTheLikeAreOwnedByNobody) {
  update("u", object("{}"));
  EXPECT_EQ(owned("u"), R"({"f:spec":{}})");
}

TEST_F(Ownership, ResetFieldsAreOwnedByNobody) {
  FieldSet reset = FieldSet::of({{"f:status"}});
  Value made = object(R"({"n":1})");
  made.set("status", read(R"({"a":1})"));
  update("u", made, "", "T1", &reset);
  EXPECT_EQ(owned("u"), R"({"f:spec":{".":{},"f:n":{}}})");
}

TEST_F(Ownership, SubresourcesAreOwnersOfTheirOwn) {
  update("u", object(R"({"n":1})"));
  Value written = live_;
  written.set("status", read(R"({"a":1})"));
  update("u", written, "status");
  EXPECT_EQ(live_["metadata"]["managedFields"].size(), 2u);
  EXPECT_EQ(live_["metadata"]["managedFields"][1]["subresource"].as_string(), "status");
}

TEST_F(Ownership, AnObjectNobodyTrackedBelongsToWhoCameBeforeTheFirstApply) {
  live_ = object(R"({"n":1})");
  EXPECT_EQ(
      applied("a", R"({"n":2})"),
      R"(Apply failed with 1 conflict: conflict with "before-first-apply" using e/v1: .spec.n)");
  EXPECT_EQ(applied("a", R"({"n":2})", true), "ok");
  EXPECT_EQ(owned("before-first-apply"), R"({"f:spec":{}})");
}

TEST_F(Ownership, ClientsMayClearManagedFieldsAndBadOnesAreDropped) {
  update("u", object(R"({"n":1})"));
  Value sent = live_;
  sent.member("metadata").set("managedFields", read(R"([{"manager":"m","operation":"Frob"}])"));
  update("v", sent);
  EXPECT_EQ(owned("u"), R"({"f:spec":{".":{},"f:n":{}}})");
  for (const char* cleared : {"[]", "[{}]"}) {
    Value before = live_;
    sent.member("metadata").set("managedFields", read(cleared));
    update("v", sent);
    EXPECT_FALSE(live_["metadata"].has("managedFields")) << cleared;
    live_ = before;
  }
}

TEST_F(Ownership, AtMostTenUpdatersAreKept) {
  Value written = object(R"({"gmap":{}})");
  for (int i = 0; i < 14; ++i) {
    written.member("spec").member("gmap").set("k" + std::to_string(i), "v");
    update("u" + std::to_string(100 + i), written, "", "T" + std::to_string(100 + i));
  }
  EXPECT_EQ(live_["metadata"]["managedFields"].size(), kMaxUpdateManagers);
  EXPECT_EQ(
      owned("ancient-changes"),
      R"({"f:spec":{".":{},"f:gmap":{".":{},"f:k0":{},"f:k1":{},"f:k2":{},"f:k3":{},"f:k4":{}}}})");
  EXPECT_EQ(time_of("ancient-changes"), "T104");
}

TEST_F(Ownership, EntriesAreSortedByOperationThenTimeThenManager) {
  update("z", object(R"({"n":1})"), "", "T1");
  try_apply("b", R"({"gmap":{"b":"1"}})", false, "T3");
  try_apply("a", R"({"gmap":{"a":"1"}})", false, "T3");
  try_apply("c", R"({"gmap":{"c":"1"}})", false, "T2");
  std::vector<std::string> managers;
  for (const Value& entry : live_["metadata"]["managedFields"].items())
    managers.emplace_back(entry["manager"].as_string());
  EXPECT_EQ(managers, (std::vector<std::string>{"c", "a", "b", "z"}));
}

TEST_F(Ownership, KubectlTakesOverWhatItsClientSideApplyWrote) {
  Value made = object(R"({"n":1,"gmap":{"x":"1"}})");
  const char* annotation = "kubectl.kubernetes.io/last-applied-configuration";
  made.member("metadata").member("annotations").set(annotation, json::print(object(R"({"n":1})")));
  update("kubectl-client-side-apply", made);
  EXPECT_EQ(applied("other", R"({"n":2})").substr(0, 12), "Apply failed");
  EXPECT_EQ(
      applied("kubectl", R"({"n":2,"gmap":{"x":"2"}})"),
      R"(Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using e/v1: )"
      R"(.spec.gmap.x)");
  EXPECT_EQ(applied("kubectl", R"({"n":2})"), "ok");
  EXPECT_EQ(live_["metadata"]["annotations"][annotation].as_string(),
            json::print(object(R"({"n":2})")) + "\n");
}

TEST_F(Ownership, OwnersOfAVersionThatIsGoneAreForgottenAndOnesThatDoNotFitStopAnApply) {
  applied("a", R"({"n":1})");
  SchemaSet others;
  Schema* other = others.make();
  *other = *schema_;
  std::erase_if(other->properties,
                [](const Property& property) { return property.name == "spec"; });
  ApplyRequest request{"b", true, "e/v2",  "E",
                       "",  "T1", nullptr, [&](std::string_view) { return other; }};
  Value config = object(R"({"n":2})");
  config.set("apiVersion", "e/v2");
  EXPECT_EQ(apply(&live_, config, *schema_, request).error().message,
            ".spec: field not declared in schema");
  request.schema_of = [](std::string_view) { return nullptr; };
  live_ = *apply(&live_, config, *schema_, request);
  EXPECT_EQ(owned("a"), "nothing");
}

TEST(ManagerName, ComesFromTheOptionOrTheUserAgent) {
  EXPECT_EQ(manager_name("m", "kubectl/1.30"), "m");
  EXPECT_EQ(manager_name("", "kubectl/1.30 (linux/amd64)"), "kubectl");
  EXPECT_EQ(manager_name("", "a\tb/1"), "ab");
  EXPECT_EQ(manager_name("", ""), "unknown");
  EXPECT_EQ(manager_name("", std::string(200, 'x')).size(), 128u);
}

TEST_F(Ownership, ScalingTakesReplicasFromTheApplierThatOwnedThem) {
  applied("a", R"({"n":1,"set":["s"]})");
  update("s", changed(R"({"n":2,"set":["s"]})"), "scale", "");
  EXPECT_EQ(json::print(live_["metadata"]["managedFields"]),
            R"([{"apiVersion":"e/v1","fieldsType":"FieldsV1",)"
            R"("fieldsV1":{"f:spec":{"f:set":{"v:\"s\"":{}}}},"manager":"a","operation":"Apply",)"
            R"("time":"T1"},)"
            R"({"apiVersion":"e/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:n":{}}},)"
            R"("manager":"s","operation":"Update","subresource":"scale"}])");
}

TEST_F(Ownership, ScalingToTheSameNumberTakesNothing) {
  applied("a", R"({"n":1})");
  Value before = live_;
  update("s", changed(R"({"n":1})"), "scale", "");
  EXPECT_EQ(json::print(live_), json::print(before));
}

}  // namespace
}  // namespace cardea::schema

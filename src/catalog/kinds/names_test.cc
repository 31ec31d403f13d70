#include "catalog/kinds/names.h"

#include <gtest/gtest.h>

#include "catalog/kinds/ip.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/validate.h"
#include "json/parse.h"

namespace cardea::catalog {
namespace {

json::Value doc(std::string_view text) {
  auto parsed = json::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? std::move(*parsed) : json::Value();
}

TEST(Names, LabelsAndSubdomainsFollowRfc1123) {
  for (const char* good : {"a", "1", "a-b", "0a"}) EXPECT_TRUE(dns1123_label(good).empty()) << good;
  for (const char* bad : {"", "-a", "a-", "A", "a_b"})
    EXPECT_EQ(dns1123_label(bad).size(), 1u) << bad;
  EXPECT_EQ(dns1123_label("a.b"), Complaints{"must not contain dots"});
  for (const char* good : {"a.b", "a-1.b"}) EXPECT_TRUE(dns1123_subdomain(good).empty()) << good;
  for (const char* bad : {".", "a.", ".a", "a..b", "a.-b"})
    EXPECT_EQ(dns1123_subdomain(bad).size(), 1u) << bad;
  EXPECT_EQ(dns1123_subdomain(std::string(254, 'a')),
            Complaints{"must be no more than 253 characters"});
  EXPECT_TRUE(dns1035_label("a1").empty());
  EXPECT_FALSE(dns1035_label("1a").empty());
}

TEST(Names, APrefixMayEndInADash) {
  EXPECT_TRUE(name_is_dns_subdomain("web-", true).empty());
  EXPECT_FALSE(name_is_dns_subdomain("web-", false).empty());
  EXPECT_FALSE(name_is_dns_subdomain("-", true).empty());
}

TEST(Names, QualifiedNamesNameThePartThatIsWrong) {
  EXPECT_TRUE(qualified_name("example.com/My_Name").empty());
  EXPECT_EQ(qualified_name("/x"), Complaints{"prefix part must be non-empty"});
  EXPECT_EQ(qualified_name("a/").front(), "name part must be non-empty");
  EXPECT_TRUE(qualified_name("a/b/c").front().starts_with("a valid label key must consist"));
}

TEST(Names, PortNamesReportEachRule) {
  EXPECT_TRUE(port_name("http-1").empty());
  EXPECT_EQ(port_name("-1").size(), 2u);
  EXPECT_EQ(port_name("way-too-long-port-name"), Complaints{"must be no more than 15 characters"});
}

TEST(Ip, ReadsAndPrintsBothFamilies) {
  EXPECT_EQ(parse_ip("010.0.0.1")->text(), "10.0.0.1");
  EXPECT_EQ(parse_ip("2001:DB8:0:0::1")->text(), "2001:db8::1");
  EXPECT_EQ(parse_ip("::")->text(), "::");
  EXPECT_EQ(parse_ip("1:0:0:2:0:0:0:3")->text(), "1:0:0:2::3");
  EXPECT_EQ(parse_ip("::ffff:1.2.3.4")->text(), "1.2.3.4");
  for (const char* bad : {"", "1.2.3", "256.1.1.1", "1::2::3", ":1", "1.2.3.4.5", "g::"})
    EXPECT_FALSE(parse_ip(bad)) << bad;
  EXPECT_TRUE(parse_cidr("10.0.0.0/24")->contains(*parse_ip("10.0.0.9")));
  EXPECT_FALSE(parse_cidr("10.0.0.0/24")->contains(*parse_ip("10.0.1.9")));
  EXPECT_FALSE(parse_cidr("10.0.0.0/33"));
}

TEST(ObjectMeta, NamesEveryBadPart) {
  json::FieldErrors errors;
  validate_kind_meta(
      doc(R"({"metadata":{"generateName":"A_-","namespace":"n","labels":{"ok":"not ok!"},
          "finalizers":["short"],"ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"e",
            "uid":"x"}]}})"),
      true, name_is_dns_subdomain, errors);
  std::vector<std::string> fields;
  for (const auto& e : errors) fields.push_back(e.field);
  EXPECT_EQ(fields,
            (std::vector<std::string>{"metadata.generateName", "metadata.name", "metadata.labels",
                                      "metadata.ownerReferences", "metadata.finalizers[0]"}));
  EXPECT_EQ(errors[3].body(),
            R"(Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"x"}: )"
            R"(/v1, Kind=Event is disallowed from being an owner)");
}

TEST(ObjectMeta, AnObjectBeingDeletedTakesNoNewFinalizers) {
  json::FieldErrors errors;
  validate_object_meta_update(doc(R"({"deletionTimestamp":"t","finalizers":["a/b","a/c"]})"),
                              doc(R"({"deletionTimestamp":"t","finalizers":["a/b"]})"), "metadata",
                              errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message(),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
            "deleted, "
            "found new "
            "finalizers []string{\"a/c\"}");
}

TEST(LabelSelector, MatchesAsWritten) {
  auto labels = doc(R"({"app":"a","tier":"web"})");
  EXPECT_TRUE(selector_matches(doc(R"({"matchLabels":{"app":"a"}})"), labels));
  EXPECT_TRUE(
      selector_matches(doc(R"({"matchExpressions":[{"key":"app","operator":"In","values":["b","a"]},
          {"key":"x","operator":"NotIn","values":["1"]},{"key":"tier","operator":"Exists"}]})"),
                       labels));
  EXPECT_FALSE(selector_matches(
      doc(R"({"matchExpressions":[{"key":"tier","operator":"DoesNotExist"}]})"), labels));
  EXPECT_TRUE(selector_matches(doc("{}"), labels));
  EXPECT_FALSE(selector_matches(json::Value(), labels));
}

TEST(Validate, ReportsTheKindsMetadataAfterWhatHoldsForEveryKind) {
  Strategy strategy;
  StrategyContext context;
  auto old = doc(R"({"metadata":{"name":"a","namespace":"n"}})");
  auto now = doc(R"({"metadata":{"name":"b","namespace":"n"}})");
  auto errors = validate_update(strategy, now, old, true, context);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].message(), "metadata.name: Invalid value: \"b\": field is immutable");
  EXPECT_EQ(validate_create(strategy, doc(R"({"metadata":{"namespace":"n"}})"), true, context)[0]
                .message(),
            "metadata.name: Required value: name or generateName is required");
}

}  // namespace
}  // namespace cardea::catalog

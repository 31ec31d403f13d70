#include "json/json_path.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::json {
namespace {

std::string found(std::string_view path, std::string_view text) {
  auto parsed = JsonPath::parse(path);
  if (!parsed) return "error";
  Value document = parse(text).value();
  std::string out;
  for (const Value* value : parsed->find(document)) out += print(*value) + ";";
  return out;
}

constexpr std::string_view kObject =
    R"({"metadata":{"labels":{"a.b/c":"lab","x":"1"}},"spec":{"size":3,"tags":["x","y","z"]},
  "status":{"conditions":[{"type":"A","status":"True","n":1},
    {"type":"B","status":"False","n":2}]}})";

TEST(JsonPath, FollowsFields) {
  EXPECT_EQ(found(".spec.size", kObject), "3;");
  EXPECT_EQ(found("{.spec.size}", kObject), "3;");
  EXPECT_EQ(found("$.spec.size", kObject), "3;");
  EXPECT_EQ(found(".spec.nothing.below", kObject), "");
  EXPECT_EQ(found(".spec.size.below", kObject), "");
}

TEST(JsonPath, ReadsNamesWithDotsAndSlashes) {
  EXPECT_EQ(found(R"(.metadata.labels.a\.b/c)", kObject), R"("lab";)");
  EXPECT_EQ(found(R"(.metadata.labels['a\.b/c'])", kObject), R"("lab";)");
  EXPECT_EQ(found(R"(.metadata.labels["a.b/c"])", kObject), R"("lab";)");
}

TEST(JsonPath, PicksItemsOfLists) {
  EXPECT_EQ(found(".spec.tags[0]", kObject), R"("x";)");
  EXPECT_EQ(found(".spec.tags[-1]", kObject), R"("z";)");
  EXPECT_EQ(found(".spec.tags[5]", kObject), "");
  EXPECT_EQ(found(".spec.tags[1:]", kObject), R"("y";"z";)");
  EXPECT_EQ(found(".spec.tags[0:3:2]", kObject), R"("x";"z";)");
  EXPECT_EQ(found(".spec.tags[*]", kObject), R"("x";"y";"z";)");
  EXPECT_EQ(found(".spec.tags[0,2]", kObject), R"("x";"z";)");
  EXPECT_EQ(found(".spec.size[0]", kObject), "");
}

TEST(JsonPath, FiltersByComparison) {
  EXPECT_EQ(found(R"(.status.conditions[?(@.type=="B")].status)", kObject), R"("False";)");
  EXPECT_EQ(found(R"(.status.conditions[?(@.n > 1)].type)", kObject), R"("B";)");
  EXPECT_EQ(found(R"(.status.conditions[?(@.n)].type)", kObject), R"("A";"B";)");
  EXPECT_EQ(found(R"(.status.conditions[?(@.type!='A')].n)", kObject), "2;");
  EXPECT_EQ(found(R"(.status.conditions[?(@.missing=="A")].n)", kObject), "");
}

TEST(JsonPath, DescendsAtAnyDepth) {
  EXPECT_EQ(found("..type", kObject), R"("A";"B";)");
  EXPECT_EQ(found(".metadata.labels.*", kObject), R"("lab";"1";)");
}

TEST(JsonPath, RefusesWhatItCannotRead) {
  for (std::string_view bad : {".a[", ".a['b", ".a[b]", ".a[?(@.b==]", ".a[?(@.b==1]", ".a b", "..",
                               ".a[::0]", ".a[99999999999999999999]"})
    EXPECT_EQ(found(bad, "{}"), "error") << bad;
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "[?(@";
  EXPECT_EQ(found(deep, "{}"), "error");
}

TEST(JsonPath, NamesTheFieldsOfAPlainPath) {
  EXPECT_EQ(JsonPath::parse(".spec.replicas")->plain_fields(),
            (std::vector<std::string>{"spec", "replicas"}));
  EXPECT_TRUE(JsonPath::parse(".spec[0]")->plain_fields().empty());
}

}  // namespace
}  // namespace cardea::json

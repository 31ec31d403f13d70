#include "authz/user_info.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/print.h"

namespace cardea::authz {
namespace {

using json::Value;

const User kAlice{.name = "alice",
                  .uid = "7",
                  .groups = {"dev", "ops"},
                  .extra = {{"none", {}}, {"scopes", {"a", "b"}}}};

Value parsed(std::string_view text) {
  return json::parse(text).value();
}

std::vector<std::string> wrong_in(std::string_view text) {
  std::vector<std::string> out;
  for (const UserInfoMisfit& m : misfits(parsed(text)))
    out.push_back(std::string(m.member) + "/" + m.key + " " + std::string(m.wanted));
  return out;
}

TEST(UserInfo, ShowsEveryMember) {
  constexpr auto
      kShown = R"({"extra":{"none":[],"scopes":["a","b"]},"groups":["dev","ops"],"uid":"7",)"
               R"("username":"alice"})";
  EXPECT_EQ(json::print(user_info(kAlice)), kShown);
  EXPECT_EQ(json::print(user_info(kAlice, EmptyMembers::kShown)), kShown);
}

TEST(UserInfo, OmitsOrShowsEmptyMembers) {
  EXPECT_EQ(json::print(user_info({})), "{}");
  EXPECT_EQ(json::print(user_info({}, EmptyMembers::kShown)),
            R"({"extra":{},"groups":[],"uid":"","username":""})");
}

TEST(UserInfo, CallsTheNameUserInASpec) {
  Value spec = Value::object({{"resourceAttributes", Value::object()}});
  add_subject(spec, {.name = "bob"});
  EXPECT_EQ(json::print(spec), R"({"resourceAttributes":{},"user":"bob"})");
  EXPECT_EQ(read_subject(spec).name, "bob");
  EXPECT_EQ(read_user_info(spec).name, "");
}

TEST(UserInfo, ReadsWhatItWrote) {
  User read = read_user_info(user_info(kAlice));
  EXPECT_EQ(read.name, kAlice.name);
  EXPECT_EQ(read.uid, kAlice.uid);
  EXPECT_EQ(read.groups, kAlice.groups);
  EXPECT_EQ(read.extra, kAlice.extra);
}

TEST(UserInfo, FindsEveryMemberOfAnotherType) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(misfits(user_info(kAlice)).size(), 0);
  EXPECT_EQ(wrong_in("null"), Texts{});
  EXPECT_EQ(wrong_in(R"({"username":null,"groups":null,"extra":{"a":null}})"), Texts{});
  EXPECT_EQ(wrong_in("[]"), Texts{"/ an object"});
  EXPECT_EQ(
      wrong_in(R"({"username":1,"uid":true,"groups":["a",null],"extra":{"a":["b"],"c":"d"}})"),
      (Texts{"username/ a string", "uid/ a string", "groups/ a list of strings",
             "extra/c a list of strings"}));
  EXPECT_EQ(wrong_in(R"({"groups":"a","extra":[]})"),
            (Texts{"groups/ a list of strings", "extra/ an object"}));
}

}  // namespace
}  // namespace cardea::authz

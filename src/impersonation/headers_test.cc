#include "impersonation/headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::impersonation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const http::Headers& headers, bool is_constrained = true) {
  auto user = requested_user(headers, is_constrained);
  return user ? "none" : user.error().message;
}

TEST(ImpersonationHeaders, AskForNobodyWhenThereAreNone) {
  auto user = requested_user({{"Accept", "*/*"},
                              {"Connection", "keep-alive"},
                              {"X-Impersonate-User", "a"},
                              {"Impersonate_User", "a"}});
  ASSERT_TRUE(user);
  EXPECT_FALSE(*user);
}

TEST(ImpersonationHeaders, AreReadAsTheyAreSpelled) {
  auto user = requested_user({{"Impersonate-User", "jane"},
                              {"impersonate-group", "b"},
                              {"Impersonate-Group", "a"},
                              {"Impersonate-Group", ""},
                              {"Impersonate-Uid", "7"},
                              {"Impersonate-Uid", "8"},
                              {"Impersonate-Extra-Acme.com%2FProject", "x"},
                              {"Impersonate-Extra-acme.com%2fproject", "y"},
                              {"Impersonate-Extra-a%41+b", "z"},
                              {"Impersonate-Extra-bad%zz", "z"},
                              {"Impersonate-Extra-", "nothing"}});
  ASSERT_TRUE(user && *user);
  EXPECT_EQ((*user)->name, "jane");
  EXPECT_EQ((*user)->uid, "7");
  EXPECT_THAT((*user)->groups, ElementsAre("b", "a", ""));
  EXPECT_THAT((*user)->extra["acme.com/project"], ElementsAre("x", "y"));
  EXPECT_THAT((*user)->extra["aA+b"], ElementsAre("z"));
  EXPECT_THAT((*user)->extra["bad%zz"], ElementsAre("z"));
  EXPECT_THAT((*user)->extra[""], ElementsAre("nothing"));
}

TEST(ImpersonationHeaders, WithPartsOfAUserNeedAName) {
  EXPECT_EQ(refusal({{"Impersonate-Uid", "1234"}}),
            "requested &user.DefaultInfo{Name:\"\", UID:\"1234\", Groups:[]string(nil), "
            "Extra:map[string][]string(nil)} without impersonating a user name");
  EXPECT_THAT(refusal({{"Impersonate-Group", ""}}), HasSubstr("without impersonating a user name"));
  EXPECT_THAT(refusal({{"Impersonate-Extra-scopes", "a"}}),
              HasSubstr("Extra:map[string][]string{\"scopes\":[]string{\"a\"}}}"));
  EXPECT_EQ(refusal({{"Impersonate-Group", "team"}}, false),
            "requested [{Group  team    }] without impersonating a user");
}

TEST(ImpersonationHeaders, MayNotRepeatTheNameOrLeaveItEmpty) {
  EXPECT_THAT(refusal({{"Impersonate-User", "a"}, {"Impersonate-User", "b"}}), HasSubstr("once"));
  EXPECT_THAT(refusal({{"Impersonate-User", "a"}, {"IMPERSONATE-USER", "a"}}), HasSubstr("once"));
  EXPECT_THAT(refusal({{"Impersonate-User", ""}}), HasSubstr("is empty"));
  EXPECT_THAT(refusal({{"Impersonate-User", ""}, {"Impersonate-User", "b"}}),
              HasSubstr("is empty"));
}

TEST(ImpersonationHeaders, AreNotNamedByConnection) {
  for (std::string_view value :
       {"Impersonate-User", "impersonate-user", "close, Impersonate-User",
        "keep-alive,\timpersonate-GROUP ,x", "IMPERSONATE-EXTRA-a", ",,impersonate-uid"}) {
    EXPECT_THAT(refusal({{"Connection", value}, {"Impersonate-User", "a"}}),
                HasSubstr("Connection"))
        << value;
    EXPECT_THAT(refusal({{"connection", value}}), HasSubstr("Connection")) << value;
    EXPECT_THAT(refusal({{"Connection", "close"}, {"CONNECTION", value}}), HasSubstr("Connection"))
        << value;
  }
}

TEST(ImpersonationHeaders, AreText) {
  EXPECT_THAT(refusal({{"Impersonate-User", "a\xff"}}), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal({{"Impersonate-User", "a"}, {"Impersonate-Group", "\xc0\x80"}}),
              HasSubstr("UTF-8"));
  EXPECT_THAT(refusal({{"Impersonate-User", "a"}, {"Impersonate-Extra-k%ff", "v"}}),
              HasSubstr("UTF-8"));
}

TEST(ImpersonationHeaders, LeaveNothingBehind) {
  http::Headers headers{{"Impersonate-User", "a"},
                        {"IMPERSONATE-EXTRA-x", "b"},
                        {"Accept", "*/*"},
                        {"Impersonate-Group", "g"},
                        {"Impersonate-Else", "g"}};
  remove_headers(headers);
  EXPECT_EQ(headers.count(), 1u);
  EXPECT_EQ(headers.get("accept"), "*/*");
}

TEST(ImpersonationHeaders, AreRemovedInOnePassHoweverManyThereAre) {
  http::Headers headers;
  for (int i = 0; i < 10'000; ++i) headers.add(cat("Impersonate-Extra-k", i), "v");
  remove_headers(headers);
  EXPECT_TRUE(headers.empty());
}

}  // namespace
}  // namespace cardea::impersonation

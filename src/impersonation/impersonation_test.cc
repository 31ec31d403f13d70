#include "impersonation/impersonation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cardea::impersonation {
namespace {

using authz::User;
using ::testing::ElementsAre;

// Allows `impersonate` on what is listed as `resource/name`.
class Listed : public authz::Authorizer {
 public:
  explicit Listed(std::vector<std::string> allowed) : allowed_(std::move(allowed)) {}
  std::string_view name() const override { return "listed"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    std::string key = std::string(a.resource) + "/" + std::string(a.name);
    bool is_listed = a.verb == "impersonate" && std::ranges::find(allowed_, key) != allowed_.end();
    if (is_listed) return authz::Decision::allow();
    return authz::Decision::no_opinion({}, a.name == "broken" ? "out of order" : "");
  }

 private:
  std::vector<std::string> allowed_;
};

Result<User> attempt(std::vector<std::string> allowed, User asked) {
  std::vector<std::shared_ptr<const authz::Authorizer>> list{std::make_shared<Listed>(std::move(allowed))};
  authz::CurrentChain chain(std::make_shared<authz::Chain>(std::move(list)));
  User sender{.name = "bob", .groups = {"system:authenticated"}};
  std::optional<Result<User>> out;
  spawn(impersonate(chain, sender, std::move(asked)), [&](Result<User> r) { out = std::move(r); });
  return std::move(*out);
}

TEST(Impersonation, IsNotAskedForWithoutHeaders) {
  auto user = requested_user({{"Accept", "*/*"}});
  ASSERT_TRUE(user);
  EXPECT_FALSE(*user);
}

TEST(Impersonation, ReadsWhatTheHeadersAskFor) {
  auto user = requested_user({{"Impersonate-User", "jane"},
                              {"impersonate-group", "b"},
                              {"Impersonate-Group", "a"},
                              {"Impersonate-Uid", "7"},
                              {"Impersonate-Extra-Acme.com%2FProject", "x"},
                              {"Impersonate-Extra-acme.com%2fproject", "y"},
                              {"Impersonate-Extra-bad%zz", "z"}});
  ASSERT_TRUE(user && *user);
  EXPECT_EQ((*user)->name, "jane");
  EXPECT_EQ((*user)->uid, "7");
  EXPECT_THAT((*user)->groups, ElementsAre("b", "a"));
  EXPECT_THAT((*user)->extra["acme.com/project"], ElementsAre("x", "y"));
  EXPECT_THAT((*user)->extra["bad%zz"], ElementsAre("z"));
}

TEST(Impersonation, RefusesPartsOfAUserWithoutAName) {
  auto user = requested_user({{"Impersonate-Uid", "1234"}});
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().message,
            "requested &user.DefaultInfo{Name:\"\", UID:\"1234\", Groups:[]string(nil), Extra:map[string][]string(nil)} "
            "without impersonating a user name");
}

TEST(Impersonation, RefusesANameThatIsRepeatedOrEmpty) {
  EXPECT_FALSE(requested_user({{"Impersonate-User", "a"}, {"Impersonate-User", "b"}}));
  EXPECT_FALSE(requested_user({{"Impersonate-User", ""}}));
}

TEST(Impersonation, LeavesNoHeaderBehind) {
  http::Headers headers{{"Impersonate-User", "a"}, {"IMPERSONATE-EXTRA-x", "b"}, {"Accept", "*/*"}, {"Impersonate-Group", "g"}};
  remove_headers(headers);
  EXPECT_EQ(headers.count(), 1u);
  EXPECT_TRUE(headers.has("accept"));
}

TEST(Impersonation, NeedsThePermissionForEveryPart) {
  User asked{.name = "jane", .uid = "7", .groups = {"team"}, .extra = {{"scopes", {"view"}}}};
  std::vector<std::string> all{"users/jane", "uids/7", "groups/team", "userextras/view"};
  ASSERT_TRUE(attempt(all, asked));
  for (const std::string& left_out : all) {
    std::vector<std::string> rest = all;
    std::erase(rest, left_out);
    EXPECT_FALSE(attempt(rest, asked)) << left_out;
  }
}

TEST(Impersonation, SaysWhichPermissionIsMissing) {
  auto user = attempt({}, {.name = "jane"});
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().message,
            "users \"jane\" is forbidden: User \"bob\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope");
}

TEST(Impersonation, AnErrorIsNeverAnAllow) { EXPECT_FALSE(attempt({}, {.name = "broken"})); }

TEST(Impersonation, GivesTheGroupsThatANameBringsAlong) {
  EXPECT_THAT(resulting_user({.name = "jane"}).groups, ElementsAre("system:authenticated"));
  EXPECT_THAT(resulting_user({.name = "system:anonymous"}).groups, ElementsAre("system:unauthenticated"));
  EXPECT_THAT(resulting_user({.name = "jane", .groups = {"system:unauthenticated"}}).groups, ElementsAre("system:unauthenticated"));
  EXPECT_THAT(resulting_user({.name = "system:serviceaccount:ns:sa"}).groups,
              ElementsAre("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"));
  EXPECT_THAT(resulting_user({.name = "system:serviceaccount:ns:sa", .groups = {"g"}}).groups, ElementsAre("g", "system:authenticated"));
  EXPECT_THAT(resulting_user({.name = "system:serviceaccount:bad"}).groups, ElementsAre("system:authenticated"));
}

}  // namespace
}  // namespace cardea::impersonation

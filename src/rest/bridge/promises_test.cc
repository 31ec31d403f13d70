#include "rest/bridge/promises.h"

#include <gtest/gtest.h>

namespace cardea::rest::bridge {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const authz::User kAlice{.name = "alice", .groups = {"dev"}};
const authz::User kBob{.name = "bob"};
const Promises::Time kStart = Promises::Time() + std::chrono::hours(1);

authz::Attributes question(const authz::User& user, std::string_view name,
                           std::string_view verb = "create") {
  authz::Attributes a(user);
  a.is_resource_request = true;
  a.verb = verb;
  a.api_version = "v1";
  a.resource = "pods";
  a.name = name;
  return a;
}

TEST(Promises, AreAboutOneQuestionOfOneUser) {
  Promises promises(minutes(2));
  EXPECT_TRUE(promises.give(question(kAlice, "a"), kStart));
  EXPECT_TRUE(promises.has(question(kAlice, "a"), kStart));
  EXPECT_FALSE(promises.has(question(kAlice, "b"), kStart));
  EXPECT_FALSE(promises.has(question(kAlice, "a", "update"), kStart));
  EXPECT_FALSE(promises.has(question(kBob, "a"), kStart));
  const authz::User other_groups{.name = "alice"};
  EXPECT_FALSE(promises.has(question(other_groups, "a"), kStart));
}

TEST(Promises, LiveAsLongAsARequestMayTake) {
  Promises promises(minutes(2));
  EXPECT_TRUE(promises.give(question(kAlice, "first"), kStart));
  EXPECT_TRUE(promises.give(question(kAlice, "second"), kStart + seconds(119)));
  EXPECT_TRUE(promises.has(question(kAlice, "second"), kStart + seconds(239)));
  EXPECT_TRUE(promises.give(question(kBob, "other"), kStart + seconds(121)));
  EXPECT_TRUE(promises.has(question(kAlice, "second"), kStart + seconds(239)));
  EXPECT_FALSE(promises.has(question(kAlice, "second"), kStart + seconds(241)));
  EXPECT_TRUE(promises.has(question(kBob, "other"), kStart + seconds(241)));
  EXPECT_FALSE(promises.has(question(kBob, "other"), kStart + minutes(7))) << "without any new one";
}

TEST(Promises, OfAUserWithVeryManyAreKeptAsAWhole) {
  Promises promises(minutes(2), {.per_user = 3, .users = 2});
  for (const char* name : {"a", "b", "c", "d", "e"})
    EXPECT_TRUE(promises.give(question(kAlice, name), kStart));
  EXPECT_TRUE(promises.has(question(kAlice, "a"), kStart));
  EXPECT_TRUE(promises.has(question(kAlice, "never asked"), kStart));
  EXPECT_FALSE(promises.has(question(kBob, "a"), kStart));
}

TEST(Promises, ThatCannotBeKeptAreNotGiven) {
  Promises promises(minutes(2), {.per_user = 3, .users = 1});
  EXPECT_TRUE(promises.give(question(kAlice, "a"), kStart));
  EXPECT_FALSE(promises.give(question(kBob, "a"), kStart));
  EXPECT_TRUE(promises.give(question(kAlice, "b"), kStart));
  EXPECT_TRUE(promises.give(question(kBob, "a"), kStart + minutes(3))) << "others were forgotten";
}

}  // namespace
}  // namespace cardea::rest::bridge

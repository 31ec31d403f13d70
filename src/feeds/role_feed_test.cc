#include "feeds/role_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "authz/rbac/rbac_authorizer.h"
#include "authz/refusal.h"
#include "authz/testing/allocations.h"
#include "base/clock.h"
#include "store/testing/memory_store.h"

namespace cardea::feeds {
namespace {

using namespace authz;
using authz::rbac::RbacAuthorizer;
using ::testing::HasSubstr;

struct Ask {
  User who;
  std::string verb, namespace_name, resource = "pods";
  Attributes attributes() const {
    Attributes a(who);
    a.is_resource_request = true;
    a.verb = verb;
    a.namespace_name = namespace_name;
    a.resource = resource;
    return a;
  }
};

// A store with roles and bindings, its feed and a chain.
class RoleFeedTest : public ::testing::Test {
 protected:
  void put(std::string key, std::string value) {
    ASSERT_TRUE(store::commit_sync(*store_, {{}, {store::Put{std::move(key), std::move(value)}}}));
  }
  void erase(std::string key) {
    ASSERT_TRUE(store::commit_sync(*store_, {{}, {store::Delete{std::move(key)}}}));
  }
  bool allowed(const RoleFeed& feed, const Ask& ask) {
    return RbacAuthorizer(feed.snapshot()).authorize(ask.attributes())->allowed();
  }

  SystemClock clock_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  Ask ask_{{.name = "jane"}, "get", "ns"};
  std::string role_ = R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})";
  std::string binding_ =
      R"({"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"jane"}]})";
};

TEST_F(RoleFeedTest, KnowsEverythingWhenItIsMade) {
  put("/registry/clusterroles/r", role_);
  put("/registry/rolebindings/ns/b", binding_);
  auto feed = RoleFeed::start(*store_);
  ASSERT_TRUE(feed);
  EXPECT_TRUE(allowed(**feed, ask_));
}

TEST_F(RoleFeedTest, ShowsEveryWriteToTheNextRequest) {
  auto feed = RoleFeed::start(*store_);
  ASSERT_TRUE(feed);
  EXPECT_FALSE(allowed(**feed, ask_));
  for (int i = 0; i < 50; ++i) {
    put("/registry/rolebindings/ns/b", binding_);
    EXPECT_FALSE(allowed(**feed, ask_));
    put("/registry/clusterroles/r", role_);
    EXPECT_TRUE(allowed(**feed, ask_));
    put("/registry/rolebindings/ns/b", R"({"roleRef":{"kind":"ClusterRole","name":"r"}})");
    EXPECT_FALSE(allowed(**feed, ask_));
    put("/registry/rolebindings/ns/b", binding_);
    EXPECT_TRUE(allowed(**feed, ask_));
    erase("/registry/clusterroles/r");
    EXPECT_FALSE(allowed(**feed, ask_));
    erase("/registry/rolebindings/ns/b");
  }
  EXPECT_EQ((*feed)->current()->bindings_in("ns"), 0u);
}

TEST_F(RoleFeedTest, IsAskedByAChainWithoutAllocating) {
  put("/registry/clusterroles/r", role_);
  put("/registry/rolebindings/ns/b", binding_);
  auto feed = RoleFeed::start(*store_);
  ASSERT_TRUE(feed);
  Chain chain({masters_authorizer(), std::make_shared<RbacAuthorizer>((*feed)->snapshot())});
  Ask stranger{{.name = "joe", .groups = {"system:authenticated"}}, "get", "ns"};
  Attributes attributes = ask_.attributes(), others = stranger.attributes();
  chain.decide(attributes);  // this thread takes its reference to the table
  if (counted_allocations() < 0)
    GTEST_SKIP() << "the thread sanitizer has an allocator of its own, so nothing counts here";
  long before = counted_allocations();
  bool permitted = chain.decide(attributes)->permit.has_value();
  bool refused = !chain.decide(others)->permit.has_value();
  EXPECT_EQ(counted_allocations(), before);
  EXPECT_TRUE(permitted);
  EXPECT_TRUE(refused);
}

TEST_F(RoleFeedTest, AnErrorIsNeverAnAllow) {
  put("/registry/clusterroles/r", "{");
  put("/registry/clusterroles/odd", R"({"rules":[{"verbs":"get","apiGroups":{},"resources":7}]})");
  put("/registry/rolebindings/ns/b", binding_);
  put("/registry/rolebindings/ns/odd",
      R"({"roleRef":[],"subjects":{"kind":"User","name":"jane"}})");
  put("/registry/rolebindings/ns/bytes", "\xff\xfe");
  auto feed = RoleFeed::start(*store_);
  ASSERT_TRUE(feed);
  EXPECT_FALSE(allowed(**feed, ask_));
}

TEST_F(RoleFeedTest, TeachesOnlyThoseWhoMayReadTheRole) {
  auto feed = RoleFeed::start(*store_);
  ASSERT_TRUE(feed);
  put("/registry/clusterroles/r", role_);
  put("/registry/rolebindings/ns/b", binding_);
  Chain chain({masters_authorizer(), std::make_shared<RbacAuthorizer>((*feed)->snapshot())});
  Ask ask = ask_;
  ask.verb = "delete";
  Attributes attributes = ask.attributes();
  Decision refused = chain.decide(attributes)->decision;
  Error plain = forbidden(attributes, refused.reason.text());
  Error before = refusal(chain, attributes, refused);
  EXPECT_TRUE(before.details->causes.empty());
  put("/registry/clusterroles/see",
      R"({"rules": [{"verbs": ["get"], "apiGroups": ["rbac.authorization.k8s.io"],
              "resources": ["clusterroles"]}]})");
  put("/registry/clusterrolebindings/see",
      R"({"roleRef": {"kind": "ClusterRole", "name": "see"},
          "subjects": [{"kind": "User", "name": "jane"}]})");
  Error after = refusal(chain, attributes, refused);
  ASSERT_EQ(after.details->causes.size(), 1u);
  EXPECT_EQ(after.details->causes[0].reason, "RuleAlmostMatches");
  EXPECT_THAT(after.details->causes[0].message, HasSubstr(R"(it lacks verb "delete")"));
  EXPECT_EQ(after.message, plain.message);
  EXPECT_EQ(after.details->kind, plain.details->kind);
}

}  // namespace
}  // namespace cardea::feeds

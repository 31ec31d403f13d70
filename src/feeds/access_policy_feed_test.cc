#include "feeds/access_policy_feed.h"

#include <gtest/gtest.h>

#include "authz/access/access_authorizer.h"
#include "base/clock.h"
#include "store/testing/memory_store.h"

namespace cardea::feeds {
namespace {

using Kind = authz::Decision::Kind;

class AccessPolicyFeedTest : public testing::Test {
 protected:
  void put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(store::commit_sync(
        *store_, {{}, {store::Put{"/registry/access.cardea.dev/" + key, value}}}));
  }
  Kind decision_about(std::string_view space) {
    authz::Attributes asked(user_);
    asked.is_resource_request = true;
    asked.verb = "get";
    asked.resource = "pods";
    asked.api_version = "v1";
    asked.namespace_name = space;
    const authz::access::AccessAuthorizer authorizer(feed_->snapshot());
    return authorizer.authorize(asked)->kind;
  }

  SystemClock clock_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  std::unique_ptr<AccessPolicyFeed> feed_ = AccessPolicyFeed::start(*store_).value();
  const authz::User user_{"bob", "", {}, {}};
};

TEST_F(AccessPolicyFeedTest, APolicyThatCannotBeReadDenies) {
  EXPECT_EQ(decision_about("shop"), Kind::kNoOpinion);
  for (const char* damaged : {"junk", "", "{}", R"({"metadata":{"name":"a"}})"}) {
    put("accesspolicies/shop/a", damaged);
    EXPECT_EQ(decision_about("shop"), Kind::kDeny) << damaged;
    EXPECT_EQ(decision_about("other"), Kind::kNoOpinion) << damaged;
  }
  put("clusteraccesspolicies/all", "junk");
  EXPECT_EQ(decision_about("other"), Kind::kDeny);
  ASSERT_TRUE(store::commit_sync(
      *store_, {{},
                {store::Delete{"/registry/access.cardea.dev/clusteraccesspolicies/all"},
                 store::Delete{"/registry/access.cardea.dev/accesspolicies/shop/a"}}}));
  EXPECT_EQ(decision_about("shop"), Kind::kNoOpinion);
}

}  // namespace
}  // namespace cardea::feeds

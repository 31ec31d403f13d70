#include "admission/webhook/webhook_feed.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "http/client.h"
#include "json/parse.h"
#include "store/testing/memory_store.h"

namespace cardea::admission {
namespace {

constexpr const char* kPrefix = "/registry/validatingwebhookconfigurations/";

class Configurations {
 public:
  Configurations()
      : store(store::make_memory_store(clock)),
        feed(std::move(*WebhookFeed::start(*store, false))) {}
  void put(const std::string& name, const std::string& webhooks) {
    ASSERT_TRUE(store::commit_sync(
        *store, {{}, {store::Put{kPrefix + name, R"({"webhooks":)" + webhooks + "}"}}}));
  }
  void remove(const std::string& name) {
    ASSERT_TRUE(store::commit_sync(*store, {{}, {store::Delete{kPrefix + name}}}));
  }
  std::string about(const std::string& resource) {
    std::string out;
    for (const auto& entry : feed->current()->about(resource))
      out += entry.hook->name + std::to_string(entry.ordinal) + " ";
    return out;
  }

  SystemClock clock;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<WebhookFeed> feed;
};

std::string hook(const std::string& name, const std::string& resource) {
  return R"({"name":")" + name + R"(","rules":[{"resources":[")" + resource + R"("]}]})";
}

TEST(WebhookFeed, FindsOnlyThoseThatNameTheResource) {
  Configurations c;
  EXPECT_EQ(c.about("pods"), "");
  c.put("b", "[" + hook("x", "pods/status") + "," + hook("y", "secrets") + "]");
  c.put("a", "[" + hook("z", "*") + "]");
  EXPECT_EQ(c.about("pods"), "z0 x1 ");
  EXPECT_EQ(c.about("secrets"), "z0 y2 ");
  EXPECT_EQ(c.about("others"), "z0 ");
  c.remove("a");
  EXPECT_EQ(c.about("others"), "");
  EXPECT_EQ(c.about("pods"), "x0 ");
}

TEST(WebhookFeed, AConfigurationThatCannotBeReadStillStands) {
  Configurations c;
  c.put("a", "[" + hook("x", "pods") + "]");
  const auto damage = [&](const std::string& name) {
    ASSERT_TRUE(store::commit_sync(*c.store, {{}, {store::Put{kPrefix + name, "junk"}}}));
  };
  damage("a");
  EXPECT_EQ(c.about("pods"), "x0 ") << "it says what it said";
  EXPECT_EQ(c.about("secrets"), "");
  damage("b");
  EXPECT_EQ(c.about("secrets"), "this.configuration.cannot.be.read1 ") << "nobody knows of what";
  c.remove("b");
  EXPECT_EQ(c.about("secrets"), "");
}

TEST(WebhookFeed, KeepsWhatDidNotChange) {
  Configurations c;
  c.put("a", "[" + hook("x", "pods") + "]");
  const auto before = c.feed->current()->about("pods")[0].hook;
  c.put("b", "[" + hook("y", "pods") + "]");
  c.put("a", "[" + hook("x", "pods") + "]");
  EXPECT_EQ(c.feed->current()->about("pods")[0].hook, before);
  c.put("a", "[" + hook("x", "pods") + "," + hook("w", "pods") + "]");
  EXPECT_NE(c.feed->current()->about("pods")[0].hook, before);
}

}  // namespace
}  // namespace cardea::admission

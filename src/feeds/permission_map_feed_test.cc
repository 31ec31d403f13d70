#include "feeds/permission_map_feed.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/strings.h"
#include "catalog/catalog.h"
#include "store/testing/memory_store.h"

namespace cardea::feeds {
namespace {

// A store with maps, and what they make of the built-in catalogue.
class PermissionMapFeedTest : public ::testing::Test {
 protected:
  void put(std::string_view name, std::string value) {
    ASSERT_TRUE(store::commit_sync(
        *store_, {{}, {store::Put{cat(kPermissionMapPrefix, name), std::move(value)}}}));
  }
  void erase(std::string_view name) {
    ASSERT_TRUE(
        store::commit_sync(*store_, {{}, {store::Delete{cat(kPermissionMapPrefix, name)}}}));
  }
  static std::string map(std::string_view name, std::string_view field, std::string_view verb) {
    return cat(R"({"metadata":{"name":")", name, R"("},"spec":{"resource":"nodes","permissions":[)",
               R"({"field":")", field, R"(","verb":")", verb, R"("}]}})");
  }
  auto follow() {
    auto feed = PermissionMapFeed::start(
        *store_, [this](std::shared_ptr<const catalog::PermissionMaps> now) {
          catalog_ = catalog_->with_permission_maps(std::move(now));
          ++published_;
        });
    EXPECT_TRUE(feed);
    return std::move(*feed);
  }
  std::string at(const std::vector<std::string>& steps) const {
    const schema::Permission* p = catalog_->find("", "v1", "nodes")->permissions->at(steps);
    return p ? p->name : "";
  }

  SystemClock clock_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  std::shared_ptr<const catalog::Catalog> catalog_ = catalog::Catalog::builtin();
  int published_ = 0;
};

TEST_F(PermissionMapFeedTest, AMapCountsBeforeItsWriteIsAcknowledged) {
  put("before", map("before", "spec.unschedulable", "cordon"));
  auto feed = follow();
  EXPECT_EQ(at({"spec", "unschedulable"}), "cordon");
  put("later", map("later", "spec.podCIDR", "example.com/range"));
  EXPECT_EQ(at({"spec", "podCIDR"}), "example.com/range");
  put("later", map("later", "spec.providerID", "example.com/range"));
  EXPECT_EQ(at({"spec", "podCIDR"}), "");
  EXPECT_EQ(at({"spec", "providerID"}), "example.com/range");
  erase("before");
  EXPECT_EQ(at({"spec", "unschedulable"}), "");
}

TEST_F(PermissionMapFeedTest, AnErrorIsNeverAnAllow) {
  put("damaged", "{\"spec\":");
  put("empty", "{}");
  put("odd", map("odd", "spec.podCIDR", "granular:x"));
  auto feed = follow();
  EXPECT_EQ(feed->unreadable(), 2u);
  EXPECT_TRUE(catalog_->permission_maps()->empty());
  // What nobody ever understood may guard any field: it is named until it is gone or mended.
  EXPECT_EQ(catalog_->permission_maps()->unread(), cat(kPermissionMapPrefix, "empty"));
  erase("empty");
  EXPECT_EQ(catalog_->permission_maps()->unread(), cat(kPermissionMapPrefix, "damaged"));
  put("damaged", map("damaged", "spec.taints", "example.com/taint"));
  EXPECT_EQ(catalog_->permission_maps()->unread(), "");
  EXPECT_EQ(at({"spec", "podCIDR"}), "");
  // What was understood stays: a set may keep the field shut by this permission.
  put("good", map("good", "spec.unschedulable", "cordon"));
  put("good", "not JSON");
  EXPECT_EQ(at({"spec", "unschedulable"}), "cordon");
  EXPECT_EQ(catalog_->permission_maps()->unread(), "");
  erase("good");
  EXPECT_EQ(at({"spec", "unschedulable"}), "");
}

TEST_F(PermissionMapFeedTest, TheFirstNameKeepsAFieldWhateverTheOrderOfWrites) {
  auto feed = follow();
  put("b", map("b", "spec.podCIDR", "example.com/second"));
  put("a", map("a", "spec.podCIDR", "example.com/first"));
  EXPECT_EQ(at({"spec", "podCIDR"}), "example.com/first");
  erase("a");
  EXPECT_EQ(at({"spec", "podCIDR"}), "example.com/second");
}

TEST_F(PermissionMapFeedTest, WhatMapsDoNotChangeIsShared) {
  auto feed = follow();
  put("nodes", map("nodes", "spec.podCIDR", "example.com/range"));
  const catalog::Resource* pods = catalog_->find("", "v1", "pods");
  const catalog::Resource* nodes = catalog_->find("", "v1", "nodes");
  put("other", R"({"metadata":{"name":"other"},"spec":{"resource":"pods","permissions":[)"
               R"({"field":"spec.hostNetwork","verb":"example.com/hostNetwork"}]}})");
  EXPECT_NE(catalog_->find("", "v1", "pods"), pods);
  EXPECT_EQ(catalog_->find("", "v1", "nodes"), nodes);
  const int before = published_;
  put("nodes", map("nodes", "spec.podCIDR", "example.com/range"));
  EXPECT_EQ(published_, before) << "a write that changes nothing makes no new catalogue";
}

}  // namespace
}  // namespace cardea::feeds

#include <gtest/gtest.h>

#include "rest/testing/test_controllers.h"

namespace cardea::rest {
namespace {

constexpr char kEvents[] = "/api/v1/namespaces/a/events";

class EventExpiryTest : public ::testing::Test {
 protected:
  EventExpiryTest() { make_namespace(server_, "a"); }
  ~EventExpiryTest() override { controllers_->stop(); }

  // By the clock of the machine: the clock of a TestServer stands still, in January of 2026.
  void start(std::chrono::nanoseconds ttl) {
    controllers_ = event_expiry({.store = server_.store(),
                                 .catalog = server_.catalog(),
                                 .gateway = server_.gateway(),
                                 .loop = server_.loop(),
                                 .clock = clock_,
                                 .log = {}},
                                ttl);
    ASSERT_TRUE(controllers_->start().has_value());
  }
  void make(std::string_view name, std::string_view more = "") {
    auto reply = server_.send("POST", kEvents,
                              cat(R"({"metadata":{"name":")", name, R"(","namespace":"a"},)",
                                  R"("involvedObject":{"namespace":"a"})", more, "}"));
    ASSERT_TRUE(reply.ok()) << reply.body["message"].as_string();
  }
  bool goes(std::string_view name) { return server_.eventually_gone(cat(kEvents, "/", name)); }
  bool is_there(std::string_view name) { return server_.send("GET", cat(kEvents, "/", name)).ok(); }

  TestServer server_;
  SystemClock clock_;
  std::unique_ptr<Controller> controllers_;
};

TEST_F(EventExpiryTest, EventsOfAnEarlierStartEndByTheirOwnTimes) {
  make("created");
  make("seen", R"(,"lastTimestamp":"2100-01-01T00:00:00Z")");
  make("observed", R"(,"series":{"count":2,"lastObservedTime":"2100-01-01T00:00:00.000000Z"})");
  start(std::chrono::hours(1));
  EXPECT_TRUE(goes("created"));
  EXPECT_TRUE(is_there("seen"));
  EXPECT_TRUE(is_there("observed"));
}

TEST_F(EventExpiryTest, AnEventThatIsWrittenEndsAfterItsTime) {
  start(std::chrono::milliseconds(1));
  make("e", R"(,"lastTimestamp":"2100-01-01T00:00:00Z")");
  EXPECT_TRUE(goes("e"));
}

TEST_F(EventExpiryTest, AnEventThatIsWrittenStaysUntilThen) {
  make("old");
  start(std::chrono::hours(1));
  make("new", R"(,"lastTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_TRUE(goes("old")) << "by then the other one has been looked at";
  EXPECT_TRUE(is_there("new"));
}

}  // namespace
}  // namespace cardea::rest

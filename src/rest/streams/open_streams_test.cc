#include "rest/streams/open_streams.h"

#include <gtest/gtest.h>

#include <deque>
#include <future>

namespace cardea::rest {
namespace {

using Kind = Standing::Kind;

// Answers what it was told to; the last one for ever.
class Scripted : public Reconsiders {
 public:
  explicit Scripted(std::deque<Kind> answers) : answers_(std::move(answers)) {}

  Task<Standing> reconsider(net::Loop&, const StreamQuestion&) const override {
    Standing out{answers_.front(), Error::of(Reason::kForbidden, "no more")};
    if (answers_.size() > 1) answers_.pop_front();
    ++asked;
    co_return out;
  }
  mutable std::atomic<int> asked = 0;

 private:
  mutable std::deque<Kind> answers_;  // on the loop
};

class OpenStreamsTest : public ::testing::Test {
 protected:
  ~OpenStreamsTest() override { streams_.stop(); }

  // Adds a stream on the loop, and waits for its end: how often was it asked about?
  int rounds_until_cut(std::deque<Kind> answers) {
    Scripted by(std::move(answers));
    std::promise<std::string> cut;
    std::shared_ptr<void> stream;
    loops_.at(0).post([&] {
      stream = streams_.add(loops_.at(0), by, {std::make_shared<pipeline::Sent>()},
                            [&](const Error& why) { cut.set_value(why.message); });
    });
    EXPECT_EQ(cut.get_future().get(), "no more");
    return by.asked;
  }

  net::Loops loops_{1};
  MetricRegistry metrics_;
  OpenStreams streams_{loops_, std::chrono::milliseconds(1), metrics_};
};

TEST_F(OpenStreamsTest, AStreamEndsWhenItsPermissionHasGone) {
  EXPECT_EQ(rounds_until_cut({Kind::kGood, Kind::kGood, Kind::kGone}), 3);
}

TEST_F(OpenStreamsTest, WithoutADecisionItEndsAfterThreeRounds) {
  EXPECT_EQ(rounds_until_cut({Kind::kUnknown}), 3);
  EXPECT_EQ(rounds_until_cut({Kind::kUnknown, Kind::kUnknown, Kind::kGood, Kind::kUnknown}), 6)
      << "in a row";
}

TEST_F(OpenStreamsTest, AStreamThatHasEndedIsNotAskedAbout) {
  Scripted gone({Kind::kGone}), other({Kind::kGood, Kind::kGone});
  std::promise<void> cut;
  std::shared_ptr<void> stream;
  loops_.at(0).post([&] {
    auto left = streams_.add(loops_.at(0), gone, {std::make_shared<pipeline::Sent>()},
                             [](const Error&) { ADD_FAILURE() << "it was left"; });
    stream = streams_.add(loops_.at(0), other, {std::make_shared<pipeline::Sent>()},
                          [&](const Error&) { cut.set_value(); });
  });
  cut.get_future().wait();
  EXPECT_EQ(gone.asked, 0);
}

TEST(Sent, KeepsWhatTheStationsTook) {
  http::Request request;
  request.method = "GET";
  request.path = "/api/v1/pods";
  request.query = "watch=1";
  request.headers = {{"Accept", "a"},
                     {"Authorization", "Bearer t"},
                     {"Accept", "a"},
                     {"Impersonate-User", "jane"},
                     {"User-Agent", "u"}};
  auto sent = pipeline::Sent::of(request);
  sent->drop({{"Accept", "a"}, {"Accept", "a"}, {"User-Agent", "u"}});
  const http::Request again = sent->again();
  EXPECT_EQ(again.target, "/api/v1/pods?watch=1");
  EXPECT_EQ(again.headers.count(), 2u);
  EXPECT_EQ(again.headers.get("authorization"), "Bearer t");
  EXPECT_EQ(again.headers.get("impersonate-user"), "jane");
}

}  // namespace
}  // namespace cardea::rest

#include "audit/webhook_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "http/server.h"
#include "json/parse.h"
#include "net/file_watch.h"

namespace cardea::audit {
namespace {

// Refuses the first posts, then keeps the events that it receives.
class Receiver : public http::Handler {
 public:
  explicit Receiver(int refusals) : refusals_(refusals) {}
  void handle(std::shared_ptr<http::Exchange> exchange) override {
    if (refusals_.fetch_sub(1) > 0)
      return exchange->respond({.status = 503, .headers = {}, .body = {}});
    auto list = json::parse(exchange->request().body);
    if (list && (*list)["kind"].as_string() == "EventList")
      received_ += static_cast<int>((*list)["items"].size());
    exchange->respond({.status = 200, .headers = {}, .body = {}});
  }
  int received() const { return received_; }

 private:
  std::atomic<int> refusals_;
  std::atomic<int> received_{0};
};

struct Scene {
  net::Loops loops{1};
  net::Dialer dialer;
  net::FileWatch files;
  SystemRandom random;
  std::string file = (std::filesystem::path(testing::TempDir()) /
                      cat("hook-", testing::UnitTest::GetInstance()->current_test_info()->name()))
                         .string();

  std::unique_ptr<Sink> sink(int port, std::chrono::nanoseconds backoff) {
    std::ofstream(file) << "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:" << port
                        << "/events'}}]\nusers: []\ncontexts: [{name: x, context: {cluster: "
                           "c}}]\ncurrent-context: x\n";
    auto made = make_webhook_sink({.config_file = file, .initial_backoff = backoff}, loops.at(0),
                                  dialer, random, files);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return std::move(*made);
  }
};

const std::string kEvents[] = {R"({"auditID":"a"})", R"({"auditID":"b"})"};

TEST(WebhookSink, TriesAgainUntilTheReceiverTakesTheBatch) {
  Scene s;
  Receiver receiver(3);
  net::Loops loops(1);
  http::Server server(loops, receiver);
  auto port = server.listen("127.0.0.1", 0);
  ASSERT_TRUE(port.has_value());
  auto sink = s.sink(*port, std::chrono::milliseconds(1));
  EXPECT_TRUE(sink->write(kEvents).has_value());
  EXPECT_EQ(receiver.received(), 2);
  sink.reset();
  server.stop(std::chrono::seconds(5));
}

TEST(WebhookSink, GivesUpOnOneThatIsNotThere) {
  Scene s;
  int port;
  {
    Receiver receiver(0);
    net::Loops loops(1);
    http::Server server(loops, receiver);
    port = *server.listen("127.0.0.1", 0);
    server.stop(std::chrono::seconds(5));
  }
  auto sink = s.sink(port, std::chrono::milliseconds(1));
  EXPECT_FALSE(sink->write(kEvents).has_value());
}

TEST(WebhookSink, TheEndOfTheServerEndsAWait) {
  Scene s;
  Receiver receiver(1000);
  net::Loops loops(1);
  http::Server server(loops, receiver);
  auto port = server.listen("127.0.0.1", 0);
  auto sink = s.sink(*port, std::chrono::hours(1));
  std::jthread ends([&] { sink->cancel(); });
  EXPECT_FALSE(sink->write(kEvents).has_value());
  ends.join();
  sink.reset();
  server.stop(std::chrono::seconds(5));
}

TEST(WebhookSink, AFileThatIsNoKubeconfigIsAnError) {
  Scene s;
  std::ofstream(s.file) << "nonsense";
  EXPECT_FALSE(
      make_webhook_sink({.config_file = s.file}, s.loops.at(0), s.dialer, s.random, s.files)
          .has_value());
  EXPECT_FALSE(make_webhook_sink({.config_file = s.file + ".none"}, s.loops.at(0), s.dialer,
                                 s.random, s.files)
                   .has_value());
}

}  // namespace
}  // namespace cardea::audit

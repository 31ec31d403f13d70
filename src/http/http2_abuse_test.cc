// Clients that attack a server over HTTP/2. Each attack sends raw bytes; the server stays polite,
// small and quick, and serves others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "http/server.h"
#include "http/testing/http2_client.h"
#include "http/testing/http2_server.h"

namespace cardea::http {
namespace {

using std::chrono::milliseconds;
using testing::frame;
using testing::Http2Client;
using testing::kGet;
using testing::kPreface;
using testing::number32;
using testing::TestClient;

enum Type : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoaway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr std::uint8_t kEndStream = 1;
constexpr std::uint8_t kEndHeaders = 4;
constexpr std::uint32_t kEnhanceYourCalm = 11;
const std::string kOpen = std::string(kPreface) + frame(kSettings, 0, 0);

std::string repeated(std::string_view text, int times) {
  std::string all;
  all.reserve(text.size() * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) all += text;
  return all;
}
std::string setting(std::uint16_t id, std::uint32_t value) {
  return std::string{static_cast<char>(id >> 8), static_cast<char>(id)} + number32(value);
}
// A header field as HPACK spells it out, not indexed.
std::string literal(std::string_view name, std::string_view value) {
  return cat(std::string(1, '\0'), static_cast<char>(name.size()), name,
             static_cast<char>(value.size()), value);
}

class Http2AbuseTest : public testing::Http2Server {
 protected:
  struct Frame {
    std::uint8_t type;
    std::uint32_t stream;
    std::string payload;
  };

  void start(ServerOptions options = {}) { Http2Server::start(options, false); }

  // What the server sends until it ends the connection.
  static std::vector<Frame> frames(const std::string& bytes) {
    std::vector<Frame> all;
    auto number = [&](std::size_t at, std::size_t size) {
      std::uint32_t value = 0;
      for (std::size_t i = 0; i < size; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
      return value;
    };
    for (std::size_t at = 0; at + 9 <= bytes.size();) {
      const std::size_t size = number(at, 3);
      all.push_back({static_cast<std::uint8_t>(number(at + 3, 1)), number(at + 5, 4),
                     bytes.substr(at + 9, size)});
      at += 9 + size;
    }
    return all;
  }
  static std::optional<std::uint32_t> goaway_of(const std::vector<Frame>& all) {
    for (const Frame& one : all)
      if (one.type == kGoaway) return static_cast<unsigned char>(one.payload[7]);
    return std::nullopt;
  }

  // Sends an attack on a connection of its own while reading, and returns what came back until the
  // server closed.
  std::vector<Frame> attack(const std::string& bytes) {
    TestClient client(port_);
    std::string received;
    std::thread reader([&] { received = client.read_all(); });
    client.send(kOpen + bytes);
    client.half_close();
    reader.join();
    return frames(received);
  }

  // The code of the GOAWAY that an attack earns, and a look whether others are served.
  std::optional<std::uint32_t> outcome(const std::string& bytes) {
    const auto code = goaway_of(attack(bytes));
    EXPECT_EQ(Http2Client(port_).get("/others").status, 200);
    return code;
  }

  // A handler that answers only when told, and counts.
  void hold_everything() {
    handler_.answer = [this](std::shared_ptr<Exchange> exchange) {
      if (exchange->request().path == "/others") return exchange->respond({});
      std::lock_guard lock(mutex_);
      ++handled_;
      held_.push_back(std::move(exchange));
    };
  }
  std::size_t handled() {
    std::lock_guard lock(mutex_);
    return handled_;
  }
  void let_go() {
    std::vector<std::shared_ptr<Exchange>> held;
    {
      std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (auto& exchange : held) exchange->respond({.body = "done"});
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> held_;
  std::size_t handled_ = 0;
};

TEST_F(Http2AbuseTest, RapidResetStartsNoHandlersAndEndsTheConnection) {
  hold_everything();
  start();
  std::string flood;
  for (std::uint32_t id = 1; id < 20'001; id += 2)
    flood += frame(kHeaders, kEndHeaders | kEndStream, id, kGet) +
             frame(kRstStream, 0, id, number32(8));
  EXPECT_EQ(outcome(flood), kEnhanceYourCalm);
  EXPECT_LE(handled(), 100u);
}

TEST_F(Http2AbuseTest, AResetStreamCountsAsLongAsItsHandlerRuns) {
  hold_everything();
  start({.max_concurrent_streams = 10});
  Http2Client client(port_);
  for (std::size_t i = 1; i <= 10; ++i) {
    const auto id = client.request("GET", "/");
    while (handled() < i) std::this_thread::yield();
    client.reset(id);
  }
  const auto refused = client.request("GET", "/");
  EXPECT_EQ(client.closed(refused).closed_by, NGHTTP2_REFUSED_STREAM);
  EXPECT_EQ(handled(), 10u);
  let_go();
  while (client.get("/others").status != 200) {
  }
}

TEST_F(Http2AbuseTest, NothingAfterAGoawayIsHandled) {
  start();
  std::atomic<int> after{0};
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/others") return exchange->respond({});
    ++after;
    exchange->respond({.status = 401, .headers = {{"Connection", "close"}}});
  };
  TestClient client(port_);
  client.send(kOpen + frame(kHeaders, kEndHeaders | kEndStream, 1, kGet));
  const std::string first = client.read_until(frame(kGoaway, 0, 0, number32(1) + number32(0)));
  for (std::uint32_t id = 3; id < 101; id += 2)
    client.send(frame(kHeaders, kEndHeaders | kEndStream, id, kGet));
  client.read_all();
  EXPECT_EQ(after, 1);
}

TEST_F(Http2AbuseTest, NothingIsHandledWhileAGoawayWaitsToBeSent) {
  std::atomic<int> strangers{0};
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/large")
      return exchange->respond({.body = std::string(2u << 20, 'x')});
    exchange->request().from_stranger = true;
    ++strangers;
    exchange->respond({.status = 401});
  };
  start();
  Http2Client client(port_, {.receive_buffer = 65'536,
                             .settings = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 30}}});
  nghttp2_session_set_local_window_size(client.session, 0, 0, 1 << 30);
  const auto large = client.request("GET", "/large");
  client.body(large, 1);  // the rest fills all buffers
  client.request("GET", "/");
  while (strangers == 0) std::this_thread::yield();
  for (int i = 0; i < 50; ++i) client.request("GET", "/");
  EXPECT_EQ(client.answer(large).body.size(), 2u << 20);
  while (client.read()) {
  }
  EXPECT_EQ(client.goaway, 0u);
  EXPECT_EQ(strangers, 1);
}

TEST_F(Http2AbuseTest, MoreStreamsThanAllowedAreRefused) {
  hold_everything();
  start();
  std::string flood;
  for (std::uint32_t id = 1; id < 1'001; id += 2)
    flood += frame(kHeaders, kEndHeaders | kEndStream, id, kGet);
  attack(flood);
  EXPECT_LE(handled(), 100u);
}

TEST_F(Http2AbuseTest, AFloodOfContinuationsEndsTheConnection) {
  start();
  for (const std::string& part : {std::string(), literal("x", "y")}) {
    std::string flood = frame(kHeaders, kEndStream, 1, kGet);
    flood += repeated(frame(kContinuation, 0, 1, part), 100'000);
    EXPECT_TRUE(outcome(flood));
  }
}

TEST_F(Http2AbuseTest, AHeadThatGrowsByUnpackingEndsTheConnection) {
  std::atomic<int> handled{0};
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path != "/others") ++handled;
    exchange->respond({});
  };
  start();
  // One field of almost 4 KiB goes into the table; each byte after it repeats the field.
  std::string bomb(kGet);
  std::string field = "\x40\x01x";  // literal with indexing, name "x"
  field += "\x7f";                  // a length of 127 + ...
  field += "\xa1\x1e";              // ... 3873 = 4000
  field += std::string(4000, 'b');
  bomb += field;
  bomb += std::string(200'000, '\xbe');  // index 62: the newest entry
  // Frames may be so large once our settings are acknowledged.
  EXPECT_EQ(outcome(frame(kSettings, 1, 0) + frame(kHeaders, kEndHeaders | kEndStream, 1, bomb)),
            kEnhanceYourCalm);
  EXPECT_EQ(handled, 0);
}

TEST_F(Http2AbuseTest, TheHeadsOfAllStreamsTogetherAreBounded) {
  hold_everything();
  start();
  const std::string get = "\x82\x87\x84\x01\x01t";  // adds nothing to the table
  std::string field = "\x40\x01x";                  // as above
  field += "\x7f";
  field += "\xa1\x1e";
  field += std::string(4000, 'b');
  // Each further stream repeats the field 200 times: 800 KB.
  std::string flood = frame(kHeaders, kEndHeaders | kEndStream, 1, get + field);
  for (std::uint32_t id = 3; id < 200; id += 2)
    flood += frame(kHeaders, kEndHeaders | kEndStream, id, get + std::string(200, '\xbe'));
  TestClient client(port_);
  client.send(kOpen + flood);
  client.read_until(std::string("\0\0\x08\x07", 4));  // the head of a GOAWAY
  EXPECT_EQ(Http2Client(port_).get("/others").status, 200);
  EXPECT_LE(handled(), 3u);
  let_go();
}

TEST_F(Http2AbuseTest, AFloodOfEmptyFramesEndsTheConnection) {
  start();
  const std::string open = frame(kHeaders, kEndHeaders, 1, "\x83\x87\x84\x41\x01t");
  EXPECT_EQ(outcome(open + repeated(frame(kData, 0, 1), 100'000)), kEnhanceYourCalm);
  EXPECT_EQ(outcome(repeated(frame(kPriority, 0, 1, number32(0) + "\x10"), 100'000)),
            kEnhanceYourCalm);
}

TEST_F(Http2AbuseTest, AFloodOfBrokenRequestsEndsTheConnection) {
  start();
  std::string flood;
  for (std::uint32_t id = 1; id < 40'001; id += 2)
    flood += frame(kHeaders, kEndHeaders | kEndStream, id, "\x82");
  EXPECT_EQ(outcome(flood), kEnhanceYourCalm);
}

// The server itself resets these streams: their windows overflow.
TEST_F(Http2AbuseTest, AClientThatMakesTheServerResetIsCountedToo) {
  hold_everything();
  start();
  std::string flood;
  for (std::uint32_t id = 1; id < 40'001; id += 2)
    flood += frame(kHeaders, kEndHeaders | kEndStream, id, kGet) +
             frame(kWindowUpdate, 0, id, number32(0x7fffffff));
  EXPECT_EQ(outcome(flood), kEnhanceYourCalm);
  EXPECT_LE(handled(), 100u);
}

TEST_F(Http2AbuseTest, FloodsOfPingsSettingsAndWindowUpdatesEndTheConnection) {
  start();
  EXPECT_EQ(outcome(repeated(frame(kPing, 0, 0, "12345678"), 100'000)), kEnhanceYourCalm);
  EXPECT_EQ(outcome(repeated(frame(kSettings, 0, 0), 100'000)), kEnhanceYourCalm);
  EXPECT_EQ(outcome(repeated(frame(kSettings, 0, 0, setting(4, 1)) +
                                 frame(kSettings, 0, 0, setting(4, 0x7fffffff)),
                             50'000)),
            kEnhanceYourCalm);
  EXPECT_EQ(outcome(repeated(frame(kWindowUpdate, 0, 0, number32(1)), 100'000)), kEnhanceYourCalm);
}

TEST_F(Http2AbuseTest, WindowsThatOverflowOrAreNotWindowsEndTheConnection) {
  start();
  EXPECT_EQ(outcome(repeated(frame(kWindowUpdate, 0, 0, number32(0x7fffffff)), 2)),
            NGHTTP2_FLOW_CONTROL_ERROR);
  EXPECT_EQ(outcome(frame(kWindowUpdate, 0, 0, number32(0))), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(outcome(frame(kSettings, 0, 0, setting(4, 0x80000000))), NGHTTP2_FLOW_CONTROL_ERROR);
}

TEST_F(Http2AbuseTest, BytesThatAreNoFramesEndTheConnection) {
  start();
  EXPECT_TRUE(outcome(std::string("GET / HTTP/1.1\r\nHost: t\r\n\r\n")));
  EXPECT_TRUE(outcome(std::string(100'000, '\xff')));
  EXPECT_TRUE(outcome(frame(kData, 0, 1, "x")));
  EXPECT_TRUE(outcome(frame(kHeaders, kEndHeaders | kEndStream, 2, kGet)));
  EXPECT_TRUE(outcome(frame(kHeaders, kEndHeaders | kEndStream, 1, "\xff\xff\xff\xff\xff\xff")));
}

TEST_F(Http2AbuseTest, UpperCaseNamesEndTheirStream) {
  start();
  TestClient client(port_);
  client.send(kOpen + frame(kHeaders, kEndHeaders | kEndStream, 1,
                            std::string(kGet) + literal("Impersonate-User", "a")));
  client.read_until(frame(kRstStream, 0, 1, number32(NGHTTP2_PROTOCOL_ERROR)));
}

// It sends what has to be answered and never reads the answers.
TEST_F(Http2AbuseTest, AClientThatDoesNotReadCannotMakeTheServerPileUpAnswers) {
  std::atomic<int> handled{0};
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path != "/others") ++handled;
    exchange->respond({.headers = {{"X-Large", std::string(8'000, 'x')}}});
  };
  start({.write_timeout = milliseconds(300)});
  TestClient client(port_, false, 4096);
  client.send(kOpen);
  std::uint32_t id = 1;
  for (int asked = 50; asked < 5'000 && server_->connections() > 0; asked += 50) {
    std::string some;
    for (int i = 0; i < 50; ++i, id += 2)
      some += frame(kHeaders, kEndHeaders | kEndStream, id, kGet);
    client.send(some);
    while (handled < asked && server_->connections() > 0) std::this_thread::yield();
  }
  // The server stopped to read, and then gave up. Without that it would hold 40 MB for us now.
  EXPECT_LT(handled, 2'000);
  while (server_->connections() > 0) std::this_thread::yield();
  EXPECT_EQ(Http2Client(port_).get("/others").status, 200);
}

TEST_F(Http2AbuseTest, SlowReadersOfManyStreamsAreResetAndHoldNothing) {
  const auto large = std::make_shared<const std::string>(1u << 20, 'x');
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = Body(Piece::of(large))});
  };
  start({.write_timeout = milliseconds(100)});
  Http2Client client(
      port_, {.gives_windows = false, .settings = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1}}});
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(client.request("GET", "/"));
  for (const auto id : ids) EXPECT_EQ(client.closed(id).closed_by, NGHTTP2_CANCEL);
  while (large.use_count() > 1) std::this_thread::yield();
}

TEST_F(Http2AbuseTest, AnswersThatWaitToBeCompressedAreBounded) {
  const auto large = std::make_shared<const std::string>(8u << 20, 'x');
  std::atomic<int> handled{0};
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    ++handled;
    exchange->respond({.body = Body(Piece::of(large)), .gzip = true});
  };
  start();
  Http2Client client(
      port_, {.gives_windows = false, .settings = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1}}});
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(client.request("GET", "/"));
  for (int i = 0; i < 10; ++i) client.round_trip();
  EXPECT_EQ(handled, 8);  // 64 MiB
  // Those that wait have their turn when others end.
  for (int i = 0; i < 8; ++i) client.reset(ids[static_cast<std::size_t>(i)]);
  while (handled < 16) client.round_trip();
}

TEST_F(Http2AbuseTest, BodiesThatAreBeingReadAreBoundedForTheServer) {
  hold_everything();
  start({.max_bodies = 2u << 20});
  const std::string part(200u << 10, 'x');
  std::vector<std::unique_ptr<Http2Client>> clients;
  int refused = 0;
  for (int i = 0; i < 8; ++i) {
    auto& client = *clients.emplace_back(std::make_unique<Http2Client>(port_));
    std::vector<std::int32_t> ids;
    for (int k = 0; k < 4; ++k) ids.push_back(client.request("PUT", "/", {}, {}, false));
    client.round_trip();  // all of them have begun while there was room
    for (const auto id : ids) client.send_body(id, part, false);
    for (int trip = 0; trip < 5; ++trip) client.round_trip();
    for (const auto id : ids) refused += client.answers[id].status == 429;
  }
  EXPECT_GE(refused, 32 - 11);
  EXPECT_LT(refused, 32);
}

TEST_F(Http2AbuseTest, LargeBodiesAreReadAFewAtATime) {
  hold_everything();
  start();
  Http2Client client(port_);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(client.request("PUT", "/", {}, {}, false));
  const std::string body(1u << 20, 'x');
  for (const auto id : ids) client.send_body(id, body, false);
  for (const std::ptrdiff_t read : {4, 8, 12}) {
    // Each time the server hears of us, it lets four send 128 KiB more.
    for (int i = 0; i < 10; ++i) client.round_trip();
    std::vector<std::int32_t> whole;
    for (const auto id : ids)
      if (client.body_left(id) == 0)
        whole.push_back(id);
      else
        EXPECT_EQ(client.body_left(id), (1u << 20) - 256 * 1024);
    ASSERT_EQ(std::ssize(whole), read);
    for (const auto id : whole)
      if (!client.answers[id].closed_by) client.reset(id);
  }
  EXPECT_EQ(handled(), 0u);
}

TEST_F(Http2AbuseTest, BodiesThatHandlersHoldAreBoundedForAConnection) {
  hold_everything();
  start({.max_connection_bodies = 10u << 20});
  Http2Client client(port_);
  const std::string body(2u << 20, 'x');
  std::vector<std::int32_t> ids;
  // Reset streams do not help: their handlers still hold the bodies.
  for (int i = 0; i < 20; ++i) {
    ids.push_back(client.request("PUT", "/", {}, body));
    for (int trip = 0; trip < 20; ++trip) client.round_trip();
    if (client.body_left(ids.back()) == 0) client.reset(ids.back());
  }
  EXPECT_LE(handled(), 5u);
  EXPECT_GE(handled(), 3u);
  EXPECT_EQ(Http2Client(port_).get("/others").status, 200);
  // The others are read when there is room for them.
  std::atomic<bool> is_done = false;
  std::thread handlers([&] {
    while (!is_done) {
      let_go();
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  for (const auto id : ids)
    if (!client.answers[id].closed_by) EXPECT_EQ(client.answer(id).status, 200);
  is_done = true;
  handlers.join();
}

TEST_F(Http2AbuseTest, BodiesThatHandlersHoldAreBoundedForTheServer) {
  hold_everything();
  start({.max_bodies = 3u << 20});
  const std::string body(1u << 20, 'x');
  std::vector<std::unique_ptr<Http2Client>> clients;
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    auto& client = *clients.emplace_back(std::make_unique<Http2Client>(port_));
    const auto id = client.request("PUT", "/", {}, body);
    for (int trip = 0; trip < 10; ++trip) client.round_trip();
    if (client.answers[id].status == 429) ++refused;
  }
  EXPECT_LE(handled(), 4u);
  EXPECT_GE(refused, 1);
  TestClient old(port_);
  old.send(cat("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: ", body.size(), "\r\n\r\n",
               std::string(100'000, 'x')));
  EXPECT_THAT(old.read_until("\r\n\r\n"), ::testing::StartsWith("HTTP/1.1 429"));
  EXPECT_EQ(Http2Client(port_).get("/others").status, 200);
  let_go();
}

// nghttp2 tells nobody of these.
TEST_F(Http2AbuseTest, AFloodOfFramesThatNobodyKnowsEndsTheConnection) {
  start();
  EXPECT_EQ(outcome(repeated(frame(0x77, 0, 0, "unknown"), 100'000)), kEnhanceYourCalm);
  EXPECT_EQ(outcome(repeated(frame(0x77, 0, 0), 100'000)), kEnhanceYourCalm);
  // DATA of a stream that was answered and is closed.
  const std::string get = frame(kHeaders, kEndHeaders | kEndStream, 1, kGet);
  EXPECT_EQ(outcome(get + frame(kRstStream, 0, 1, number32(8)) +
                    repeated(frame(kData, 0, 1, "x"), 100'000)),
            kEnhanceYourCalm);
}

TEST_F(Http2AbuseTest, AHeadThatIsLeftUnfinishedByAResetOfOursDoesNotEndTheConnection) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->stream({})->abort();
  };
  start({.header_timeout = milliseconds(200), .linger_timeout = milliseconds(50)});
  handler_.wants = false;
  TestClient client(port_);
  // Trailers begin, and before they end the server resets the stream.
  client.send(kOpen + frame(kHeaders, kEndHeaders, 1, "\x83\x87\x84\x41\x01t") +
              frame(kHeaders, kEndStream, 1, literal("x", "y")));
  client.read_until(std::string("\0\0\4\3", 4));
  client.send(frame(kContinuation, kEndHeaders, 1));
  std::this_thread::sleep_for(milliseconds(400));
  client.send(frame(kPing, 0, 0, "12345678"));
  EXPECT_THAT(client.read_until("12345678"), ::testing::HasSubstr("12345678"));
}

}  // namespace
}  // namespace cardea::http

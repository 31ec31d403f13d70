#include "http/websocket.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>

#include "http/testing/http2_server.h"
#include "http/testing/test_client.h"

namespace cardea::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TestClient;
using Event = FrameReader::Event;

// A frame of a client. `first` is the first byte: what kind it is, and whether it is the last.
std::string client_frame(unsigned char first, std::string_view payload) {
  std::string out = frame_head(Opcode::kText, payload.size());
  out[0] = static_cast<char>(first);
  out[1] = static_cast<char>(out[1] | 0x80);
  constexpr std::string_view kMask = "mAsK";
  out += kMask;
  for (std::size_t i = 0; i < payload.size(); ++i)
    out += static_cast<char>(payload[i] ^ kMask[i % 4]);
  return out;
}
constexpr unsigned char kText = 0x81, kBinary = 0x82, kPing = 0x89, kPong = 0x8a, kClose = 0x88;
constexpr unsigned char kTextBegins = 0x01, kGoesOn = 0x00, kEnds = 0x80;

// What a reader tells, in short.
std::string told(std::string_view bytes, std::size_t portion = 1'000'000,
                 FrameReader::Peer peer = FrameReader::Peer::kClient) {
  FrameReader reader(peer, 1'000);
  std::string out;
  while (!bytes.empty()) {
    std::string_view input = bytes.substr(0, portion);
    bytes.remove_prefix(input.size());
    for (;;) {
      const Event event = reader.next(input);
      if (event == Event::kNeedMore) break;
      if (event == Event::kError)
        return out + "error " + std::to_string(static_cast<int>(reader.close_code()));
      if (event == Event::kPing) out += "ping ";
      if (event == Event::kPong) out += "pong ";
      if (event == Event::kClose) out += "close ";
      out += reader.payload();
      if (event != Event::kData || reader.is_last()) out += ";";
    }
  }
  return out;
}

TEST(FrameReader, TellsMessagesInOneFrameAndInMany) {
  const std::string all = client_frame(kText, "one") + client_frame(kTextBegins, "t") +
                          client_frame(kGoesOn, "w") + client_frame(kPing, "there?") +
                          client_frame(kEnds, "o") + client_frame(kBinary, "") +
                          client_frame(kPong, "") + client_frame(kText, std::string(200, 'x')) +
                          client_frame(kClose, "\x03\xe8");
  const std::string expected = "one;twping there?;o;;pong ;" + std::string(200, 'x') +
                               ";close \x03\xe8;";
  for (const std::size_t portion : {1, 2, 3, 7, 1'000'000})
    EXPECT_EQ(told(all, portion), expected) << portion;
}

TEST(FrameReader, RefusesWhatTheProtocolForbids) {
  const std::string unmasked = frame_head(Opcode::kText, 2) + "ab";
  EXPECT_EQ(told(unmasked), "error 1002");
  EXPECT_EQ(told(unmasked, 100, FrameReader::Peer::kServer), "ab;");
  EXPECT_EQ(told(client_frame(kText, "ab"), 100, FrameReader::Peer::kServer), "error 1002");
  for (const int reserved : {0x40, 0x20, 0x10})
    EXPECT_EQ(told(client_frame(static_cast<unsigned char>(kText | reserved), "a")), "error 1002");
  for (const unsigned char unknown : {0x83, 0x87, 0x8b, 0x8f})
    EXPECT_EQ(told(client_frame(unknown, "a")), "error 1002");
  EXPECT_EQ(told(client_frame(0x09, "a")), "error 1002") << "a ping in parts";
  EXPECT_EQ(told(client_frame(kPing, std::string(126, 'x'))), "error 1002") << "a long ping";
  EXPECT_EQ(told(client_frame(kGoesOn, "a")), "error 1002") << "a continuation of nothing";
  EXPECT_EQ(told(client_frame(kTextBegins, "a") + client_frame(kText, "b")), "aerror 1002")
      << "a message inside another";
  EXPECT_EQ(told(client_frame(kClose, "a")), "error 1002") << "half a code";
  const std::string mask(4, '\0');
  EXPECT_EQ(told(std::string("\x81\xfe\0\x05", 4) + mask + "hello"), "error 1002")
      << "a length that is not the shortest";
  EXPECT_EQ(told(std::string("\x81\xff\x80\0\0\0\0\0\0\0", 10) + mask), "error 1002")
      << "a negative length";
}

TEST(FrameReader, ALargeMessageIsRefusedByItsLengthInOneFrameAndInMany) {
  EXPECT_EQ(told(client_frame(kText, std::string(1'001, 'x')).substr(0, 8)), "error 1009");
  EXPECT_EQ(told(std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14)),
            "error 1009");
  std::string many = client_frame(kTextBegins, std::string(100, 'x'));
  for (int i = 0; i < 10; ++i) many += client_frame(kGoesOn, std::string(100, 'x'));
  EXPECT_EQ(told(many), std::string(1'000, 'x') + "error 1009");
  // An endless message of empty frames holds nothing.
  std::string empty = client_frame(kTextBegins, "");
  for (int i = 0; i < 1'000; ++i) empty += client_frame(kGoesOn, "");
  EXPECT_EQ(told(empty), "");
}

TEST(FrameReader, FrameHeadsHaveTheShortestLength) {
  EXPECT_EQ(frame_head(Opcode::kText, 125), std::string("\x81\x7d", 2));
  EXPECT_EQ(frame_head(Opcode::kText, 126), std::string("\x81\x7e\0\x7e", 4));
  EXPECT_EQ(frame_head(Opcode::kBinary, 65'535), std::string("\x82\x7e\xff\xff", 4));
  EXPECT_EQ(frame_head(Opcode::kBinary, 65'536), std::string("\x82\x7f\0\0\0\0\0\1\0\0", 10));
}

// --- the handshake ------------------------------------------------------------------------------

Request handshake(Headers more) {
  Request request;
  request.method = "GET";
  request.headers = {{"Connection", "keep-alive, Upgrade"},
                     {"Upgrade", "WebSocket"},
                     {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                     {"Sec-WebSocket-Version", "13"}};
  for (const auto& [name, value] : more) request.headers.set(name, value);
  return request;
}

TEST(WebSocketHandshake, AnswersTheChallengeOfTheStandard) {
  const auto offer = read_websocket_offer(handshake({{"Sec-WebSocket-Protocol", "a, b"}}));
  ASSERT_TRUE(offer.has_value());
  EXPECT_EQ(offer->accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(offer->protocols, (std::vector<std::string>{"a", "b"}));
}

TEST(WebSocketHandshake, IsAskedForByTwoHeaders) {
  EXPECT_TRUE(asks_for_websocket(handshake({}).headers));
  EXPECT_FALSE(asks_for_websocket(handshake({{"Connection", "keep-alive"}}).headers));
  EXPECT_FALSE(asks_for_websocket(handshake({{"Upgrade", "h2c"}}).headers));
}

TEST(WebSocketHandshake, IsRefusedWithoutKeyAndVersion) {
  const auto no_key = read_websocket_offer(handshake({{"Sec-WebSocket-Key", ""}}));
  ASSERT_FALSE(no_key.has_value());
  EXPECT_EQ(no_key.error().status, 400);
  const auto old = read_websocket_offer(handshake({{"Sec-WebSocket-Version", "8"}}));
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().status, 400);
  EXPECT_EQ(old.error().headers.get("sec-websocket-version"), "13");
  // It would be repeated in the answer.
  EXPECT_FALSE(read_websocket_offer(handshake({{"Sec-WebSocket-Protocol", "a b"}})).has_value());
}

TEST(WebSocketHandshake, AnOriginIsAUrl) {
  for (const std::string_view good :
       {"http://localhost", "https://10.0.0.1:6443", "https://[::1]:6443/x", "/a", "app:main"})
    EXPECT_TRUE(has_origin(handshake({{"Origin", good}}))) << good;
  for (const std::string_view bad : {"", "null", "localhost", "://x", "http://a b", "http://a\"b"})
    EXPECT_FALSE(has_origin(handshake({{"Origin", bad}}))) << bad;
}

// --- the socket ---------------------------------------------------------------------------------

constexpr std::string_view kHandshake =
    "GET /socket HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

class WebSockets : public testing::Http2Server {
 protected:
  void serve(WebSocket::Options options = {}, ServerOptions server = {}, bool is_tls = false) {
    auto held = std::make_shared<WebSocket::Options>(std::move(options));
    handler_.answer = [this, held](const std::shared_ptr<Exchange>& exchange) {
      const auto offer = read_websocket_offer(exchange->request());
      if (!offer) return exchange->respond(offer.error());
      exchange->on_close([this] { gone_.set_value(); });
      auto socket = WebSocket::open(*exchange, *offer, "", {}, std::move(*held));
      if (!socket) return exchange->respond({.status = 400, .body = "no"});
      opened_.set_value(socket);
    };
    start(server, is_tls);
  }
  void TearDown() override { server_.reset(); }  // it may still call what is below
  std::shared_ptr<WebSocket> opened() { return opened_.get_future().get(); }

  std::promise<std::shared_ptr<WebSocket>> opened_;
  std::promise<void> gone_;
};

TEST_F(WebSockets, CarryMessagesUntilTheServerCloses) {
  for (const bool is_tls : {false, true}) {
    opened_ = {};
    serve({}, {}, is_tls);
    TestClient client(port_, is_tls);
    client.send(kHandshake);
    const std::string head = client.read_until("\r\n\r\n");
    EXPECT_THAT(head, StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
    EXPECT_THAT(head, HasSubstr("Upgrade: websocket\r\n"));
    EXPECT_THAT(head, HasSubstr("Connection: Upgrade\r\n"));
    EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
    EXPECT_THAT(head, Not(HasSubstr("Transfer-Encoding")));
    const auto socket = opened();
    EXPECT_TRUE(socket->write(Piece::literal("hello")));
    EXPECT_EQ(client.read(7), "\x81\x05hello");
    const std::string large(100'000, 'x');
    EXPECT_TRUE(socket->write(Piece::of(large)));
    EXPECT_EQ(client.read(10 + large.size()), frame_head(Opcode::kText, large.size()) + large);
    socket->finish();
    EXPECT_EQ(client.read_all(), "\x88\x02\x03\xe8");
    EXPECT_FALSE(socket->write(Piece::literal("late")));
    server_.reset();
  }
}

TEST_F(WebSockets, AnswerPingsAlsoThoseThatCameWithTheHandshake) {
  serve();
  TestClient client(port_);
  client.send(std::string(kHandshake) + client_frame(kPing, "early"));
  client.read_until("\r\n\r\n");
  EXPECT_EQ(client.read(7),
            "\x8a\x05"
            "early");
  client.send(client_frame(kPing, "") + client_frame(kText, "dropped") + client_frame(kPing, "2"));
  EXPECT_EQ(client.read(5), std::string("\x8a\0\x8a\x01"
                                        "2",
                                        5));
}

TEST_F(WebSockets, EndWhenTheClientCloses) {
  std::promise<void> ended;
  serve({.on_end = [&] { ended.set_value(); }});
  TestClient client(port_);
  client.send(kHandshake);
  client.read_until("\r\n\r\n");
  client.send(client_frame(kClose, "\x03\xe9"));
  EXPECT_EQ(client.read_all(), "\x88\x02\x03\xe8");
  ended.get_future().wait();
  EXPECT_FALSE(opened()->write(Piece::literal("late")));
}

TEST_F(WebSockets, EndWhenTheClientSendsNoMore) {
  std::promise<void> ended;
  serve({.on_end = [&] { ended.set_value(); }});
  TestClient client(port_);
  client.send(kHandshake);
  client.read_until("\r\n\r\n");
  client.half_close();
  EXPECT_EQ(client.read_all(), "\x88\x02\x03\xe8");
  ended.get_future().wait();
}

TEST_F(WebSockets, EndWhenTheConnectionBreaks) {
  serve();
  TestClient client(port_);
  client.send(kHandshake);
  client.read_until("\r\n\r\n");
  client.reset();
  gone_.get_future().wait();
  EXPECT_FALSE(opened()->write(Piece::literal("late")));
}

TEST_F(WebSockets, SayWhyTheyEnd) {
  for (const auto& [bytes, code] :
       {std::pair<std::string, std::string>{frame_head(Opcode::kText, 1) + "a", "\x03\xea"},
        {client_frame(kText, std::string(2'000'000, 'x')), "\x03\xf1"}}) {
    opened_ = {};
    serve();
    TestClient client(port_);
    client.send(kHandshake);
    client.read_until("\r\n\r\n");
    client.send(bytes);
    EXPECT_EQ(client.read_all(), "\x88\x02" + code);
    server_.reset();
  }
}

TEST_F(WebSockets, GiveMessagesToTheirReaderAtItsPace) {
  std::atomic<int> parts = 0;
  std::string seen;
  std::promise<void> all;
  serve({.on_data = [&](std::string_view part, bool is_text, bool is_last) {
    EXPECT_TRUE(is_text);
    seen += part;
    if (is_last) seen += ';';
    if (seen.ends_with("end;")) all.set_value();
    ++parts;
    return false;
  }});
  TestClient client(port_);
  client.send(kHandshake);
  client.read_until("\r\n\r\n");
  client.send(client_frame(kText, "one") + client_frame(kTextBegins, "t") +
              client_frame(kEnds, "wo"));
  client.send(client_frame(kText, "end"));
  const auto socket = opened();
  const auto done = all.get_future();
  for (int before = 0; done.wait_for(std::chrono::milliseconds(0)) != std::future_status::ready;) {
    while (parts == before) std::this_thread::yield();
    EXPECT_EQ(parts, before + 1) << "it did not wait";
    before = parts;
    socket->read_on();
  }
  EXPECT_EQ(seen, "one;two;end;");
}

TEST_F(WebSockets, AFloodOfPingsFromAClientThatDoesNotReadIsBounded) {
  serve({}, {.max_stream_pending = 1u << 20});
  TestClient client(port_, false, 4096);
  client.send(kHandshake);
  const auto socket = opened();
  std::string pings;
  for (int i = 0; i < 1'000; ++i) pings += client_frame(kPing, std::string(125, 'p'));
  // The server stops to read: what it cannot send it does not make.
  std::atomic<bool> stuck = true;
  std::thread flood([&] {
    for (int i = 0; i < 400; ++i)
      if (!client.send(pings)) break;
    stuck = false;
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(socket->pending_bytes(), 2u << 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  server_->stop(std::chrono::milliseconds(0));
  flood.join();
}

TEST_F(WebSockets, AClientThatDoesNotReadIsCut) {
  serve({}, {.max_stream_pending = 100'000});
  TestClient client(port_, false, 4096);
  client.send(kHandshake);
  const auto socket = opened();
  const auto event = std::make_shared<const std::string>(std::string(50'000, 'e'));
  while (socket->write(Piece::of(event))) std::this_thread::yield();
  gone_.get_future().wait();
}

TEST_F(WebSockets, AreNotForHttp10) {
  serve();
  TestClient client(port_);
  std::string old(kHandshake);
  old.replace(old.find("HTTP/1.1"), 8, "HTTP/1.0");
  client.send(old);
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 400"));
}

// --- tunnels ------------------------------------------------------------------------------------

class EchoReceiver final : public Receiver {
 public:
  bool receive(std::string_view bytes) override {
    return tunnel->write(Piece::of(std::string(bytes)));
  }
  void end() override { tunnel->finish(); }
  std::shared_ptr<Tunnel> tunnel;
};

class Tunnels : public testing::Http2Server {};

TEST_F(Tunnels, CarryBytesInBothDirectionsAndAreHalfClosed) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    auto receiver = std::make_shared<EchoReceiver>();
    receiver->tunnel = exchange->upgrade({.status = 101, .headers = {{"Upgrade", "echo"}}},
                                         receiver);
  };
  start({}, false);
  TestClient client(port_);
  client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nbodyearly");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Upgrade: echo\r\n"));
  EXPECT_EQ(client.read(5), "early");
  std::string all;
  std::thread reader([&] { all = client.read_all(); });
  std::string sent;
  for (int i = 0; i < 300; ++i) {
    const std::string part(1 + static_cast<std::size_t>(i) * 37 % 20'000,
                           static_cast<char>('a' + i % 26));
    client.send(part);
    sent += part;
  }
  client.half_close();
  reader.join();
  EXPECT_TRUE(all == sent) << all.size() << " of " << sent.size();
}

TEST_F(Tunnels, DoNotExistOverHttp2) {
  std::promise<bool> refused;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    refused.set_value(!exchange->upgrade({.status = 101}, std::make_shared<EchoReceiver>()));
    exchange->respond({});
  };
  start({}, false);
  testing::TestClient client(port_);
  // A preface, settings, and a GET in HPACK's static table.
  client.send(std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33));
  client.send(std::string("\0\0\6\1\5\0\0\0\1\x82\x87\x84\x41\1t", 15));
  EXPECT_TRUE(refused.get_future().get());
}

}  // namespace
}  // namespace cardea::http

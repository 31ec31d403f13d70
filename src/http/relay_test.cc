#include "http/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "http/server.h"
#include "http/testing/test_client.h"
#include "net/testing/test_certificates.h"

namespace cardea::http {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TestClient;

// A server that a test plays by hand.
class ByHand {
 public:
  ByHand() {
    listening_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listening_, 16), 0);
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  ~ByHand() {
    close();
    stop_listening();
  }
  void stop_listening() {
    if (listening_ >= 0) ::close(std::exchange(listening_, -1));
  }
  void accept() { fd_ = ::accept(listening_, nullptr, nullptr); }
  std::string read_until(std::string_view mark) {
    while (received_.find(mark) == std::string::npos)
      if (!receive()) break;
    const auto at = received_.find(mark);
    std::string out = received_.substr(0, at == std::string::npos ? at : at + mark.size());
    received_.erase(0, out.size());
    return out;
  }
  std::string read_all() {
    while (receive()) {
    }
    return std::exchange(received_, {});
  }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  std::uint16_t port = 0;

 private:
  bool receive() {
    char buffer[65536];
    const auto got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }
  int listening_ = -1;
  int fd_ = -1;
  std::string received_;
};

constexpr std::string_view
    kUpgrade = "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
constexpr std::string_view kSwitches =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-A: b\r\n\r\n";

class RelayTest : public ::testing::Test, public Handler {
 protected:
  RelayTest() { port_ = *server_.listen("127.0.0.1", 0); }

  // Hands everything on.
  void handle(std::shared_ptr<Exchange> exchange) override {
    Call call{.method = exchange->request().method,
              .url = cat(tls_ ? "https" : "http", "://127.0.0.1:", backend_.port,
                         exchange->request().target),
              .body = exchange->request().body,
              .timeout = head_timeout_};
    const bool is_upgrade = exchange->request().has_upgrade;
    if (is_upgrade) call.headers = {{"Connection", "Upgrade"}, {"Upgrade", "echo"}};
    auto relay = Relay::make(
        exchange, {.quiet_after_end = quiet_, .max_unread = 64 * 1024, .longest = longest_});
    auto done = answered(relay, exchange);
    if (client_) return relay->call(*client_, std::move(call), std::move(done));
    relay->call(dialer_, tls_, std::move(call),
                {.connect_timeout = milliseconds(60'000), .admits = admits_}, std::move(done));
  }
  std::function<void(Result<Relay::Head>)> answered(const std::shared_ptr<Relay>& relay,
                                                    const std::shared_ptr<Exchange>& exchange) {
    return [this, relay, exchange](Result<Relay::Head> head) {
      if (!head) {
        exchange->respond({.status = 502, .body = head.error().message});
        return report({.why = head.error().message});
      }
      auto over = [this](const Relay::Report& r) { report(r); };
      if (head->status >= 400)
        return relay->collect(
            10, [exchange](std::string text) { exchange->respond({.status = 418, .body = text}); });
      Response answer{
          .status = head->status, .headers = {{"X-A", head->headers.get("X-A")}}, .body = {}};
      if (head->status != 101) return relay->pass_on(std::move(answer), over);
      if (!relay->upgrade(std::move(answer), over))
        exchange->respond({.status = 400, .body = "no upgrade"});
    };
  }
  void report(const Relay::Report& r) {
    std::lock_guard lock(mutex_);
    reports_.push_back(r);
    changed_.notify_all();
  }
  Relay::Report reported() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !reports_.empty(); });
    return reports_.back();
  }

  net::Dialer dialer_;
  net::Loops loops_{1};
  ByHand backend_;
  std::shared_ptr<const net::TlsClient> tls_;
  net::Dialer::Admits admits_;
  milliseconds head_timeout_{0};
  milliseconds quiet_{60'000};
  milliseconds longest_{0};
  std::unique_ptr<Client> client_;  // null: each call has a connection of its own
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Relay::Report> reports_;
  Server server_{loops_, *this};
  std::uint16_t port_ = 0;
};

TEST_F(RelayTest, AnAnswerGoesBackAsItComes) {
  TestClient client(port_);
  client.send("POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
  backend_.accept();
  const std::string asked = backend_.read_until("hi");
  EXPECT_THAT(asked, StartsWith("POST /a?b=c HTTP/1.1\r\n"));
  EXPECT_THAT(asked, HasSubstr("Content-Length: 2\r\n"));
  backend_.send("HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  EXPECT_THAT(client.read_until("one\r\n"), HasSubstr("X-A: b\r\n")) << "before it is complete";
  backend_.send("3\r\ntwo\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
  const Relay::Report r = reported();
  EXPECT_EQ(r.to_client, 6u);
  EXPECT_EQ(r.to_server, 2u);
  EXPECT_EQ(backend_.read_all(), "") << "the connection is not kept";
}

TEST_F(RelayTest, OnSharedConnectionsAnswersGoBackAsTheyCome) {
  client_ = std::make_unique<Client>(loops_.at(0), dialer_, nullptr);
  TestClient client(port_);
  client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  backend_.accept();
  EXPECT_THAT(backend_.read_until("\r\n\r\n"), StartsWith("GET /a HTTP/1.1\r\n"));
  backend_.send("HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  EXPECT_THAT(client.read_until("one\r\n"), HasSubstr("X-A: b\r\n")) << "before it is complete";
  backend_.send("3\r\ntwo\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
  // The same connection, and an answer that is there at once.
  client.send("GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(backend_.read_until("\r\n\r\n"), StartsWith("GET /b HTTP/1.1\r\n"));
  backend_.send("HTTP/1.1 200 OK\r\nX-A: c\r\nContent-Length: 4\r\n\r\nfour");
  const std::string answer = client.read_until("four");
  EXPECT_THAT(answer, HasSubstr("X-A: c\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 4\r\n"));
  client_.reset();
}

TEST_F(RelayTest, AnAnswerThatTakesTooLongIsCut) {
  longest_ = milliseconds(1);
  TestClient client(port_);
  client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart");
  EXPECT_THAT(client.read_all(), ::testing::Not(HasSubstr("0\r\n\r\n"))) << "it looks complete";
  EXPECT_EQ(reported().why, "it took too long");
  EXPECT_EQ(backend_.read_all(), "");
}

TEST_F(RelayTest, AnUpgradeMakesATunnelForBothSides) {
  TestClient client(port_);
  client.send(kUpgrade);
  backend_.accept();
  EXPECT_THAT(backend_.read_until("\r\n\r\n"), HasSubstr("Upgrade: echo\r\n"));
  backend_.send(cat(kSwitches, "first"));
  const std::string head = client.read_until("first");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(head, HasSubstr("X-A: b\r\n"));
  client.send("ping");
  EXPECT_EQ(backend_.read_until("ping"), "ping");
  backend_.send("pong");
  EXPECT_EQ(client.read_until("pong"), "pong");
  backend_.close();
  EXPECT_TRUE(client.closed_by_peer()) << "an end of one side is the end of the other";
  const Relay::Report r = reported();
  EXPECT_EQ(r.to_server, 4u);
  EXPECT_EQ(r.to_client, 9u);
  EXPECT_EQ(r.why, "the server ended");
}

TEST_F(RelayTest, AClientThatSendsNoMoreStillReads) {
  TestClient client(port_);
  client.send(kUpgrade);
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send(kSwitches);
  client.read_until("\r\n\r\n");
  client.send("last words");
  client.half_close();
  EXPECT_EQ(backend_.read_all(), "last words") << "the half-close goes through";
  backend_.send("an answer");
  backend_.close();
  EXPECT_EQ(client.read_all(), "an answer");
  EXPECT_EQ(reported().why, "the server ended");
}

TEST_F(RelayTest, AServerThatHangsAfterTheClientsEndIsLeft) {
  quiet_ = milliseconds(1);
  TestClient client(port_);
  client.send(kUpgrade);
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send(kSwitches);
  client.read_until("\r\n\r\n");
  client.half_close();
  EXPECT_EQ(reported().why, "the client ended");
  EXPECT_EQ(backend_.read_all(), "");
  EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(RelayTest, AClientThatLeavesEndsTheOtherConnection) {
  TestClient client(port_);
  client.send(kUpgrade);
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send(kSwitches);
  client.read_until("\r\n\r\n");
  client.reset();
  EXPECT_EQ(reported().why, "the client left");
  EXPECT_EQ(backend_.read_all(), "");
}

TEST_F(RelayTest, AClientThatLeavesBeforeTheAnswerIsNotWaitedFor) {
  TestClient client(port_);
  client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  client.reset();
  EXPECT_EQ(reported().why, "the client left");
  EXPECT_EQ(backend_.read_all(), "");
}

TEST_F(RelayTest, AServerThatResetsCutsTheClientOff) {
  TestClient client(port_);
  client.send(kUpgrade);
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send(kSwitches);
  client.read_until("\r\n\r\n");
  backend_.reset();
  EXPECT_TRUE(client.closed_by_peer());
  EXPECT_THAT(reported().why, StartsWith("the server failed"));
}

TEST_F(RelayTest, AnAnswerThatBreaksOffIsNotTakenForAWholeOne) {
  TestClient client(port_);
  client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  client.read_until("half");
  backend_.close();
  EXPECT_THAT(client.read_all(), ::testing::Not(HasSubstr("0\r\n\r\n")));
  EXPECT_EQ(reported().why, "the server failed: unexpected EOF");
}

TEST_F(RelayTest, NeitherSideCanFillTheServersMemory) {
  TestClient client(port_, false, 4096);
  client.send(kUpgrade);
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send(kSwitches);
  client.read_until("\r\n\r\n");
  // Neither reads until the other has sent much more than any buffer holds.
  constexpr std::size_t kMuch = 24u << 20;
  const std::string much(kMuch, 'x');
  std::thread backend([&] {
    backend_.send(much);
    backend_.half_close();
  });
  std::string got;
  while (got.size() < kMuch) {
    const std::string some = client.read_some();
    if (some.empty()) break;
    got += some;
  }
  EXPECT_EQ(got.size(), kMuch);
  backend.join();
  EXPECT_EQ(reported().to_client, kMuch);
}

TEST_F(RelayTest, ASlowServerSlowsTheClientDown) {
  TestClient client(port_);
  client.send(kUpgrade);
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send(kSwitches);
  client.read_until("\r\n\r\n");
  constexpr std::size_t kMuch = 24u << 20;
  std::thread sender([&] {
    client.send(std::string(kMuch, 'y'));
    client.half_close();
  });
  EXPECT_EQ(backend_.read_all().size(), kMuch);
  sender.join();
  backend_.close();
  EXPECT_EQ(reported().to_server, kMuch);
}

TEST_F(RelayTest, AnErrorsBodyIsReadUpToALimit) {
  TestClient client(port_);
  client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send("HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\n0123456789abcdef");
  EXPECT_THAT(client.read_answer(), ::testing::EndsWith("\r\n\r\n0123456789"));
}

TEST_F(RelayTest, GarbageIsNoAnswer) {
  for (std::string_view bytes : {"SSH-2.0-x\r\n\r\n", "HTTP/1.1 101 Switching\r\nno colon\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"}) {
    TestClient client(port_);
    client.send(kUpgrade);
    backend_.accept();
    backend_.read_until("\r\n\r\n");
    backend_.send(bytes);
    EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 502 ")) << bytes;
    backend_.close();
  }
}

TEST_F(RelayTest, ProtocolsAreNotChangedUnasked) {
  TestClient client(port_);
  client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send(kSwitches);
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 502 "));
}

TEST_F(RelayTest, AServerThatNeverAnswersIsGivenUp) {
  head_timeout_ = milliseconds(1);
  TestClient client(port_);
  client.send(kUpgrade);
  EXPECT_THAT(client.read_answer(), HasSubstr("timeout awaiting response headers"));
}

TEST_F(RelayTest, SaysWhoDoesNotListen) {
  backend_.stop_listening();
  TestClient client(port_);
  client.send(kUpgrade);
  EXPECT_THAT(client.read_answer(), HasSubstr(cat("dial tcp 127.0.0.1:", backend_.port,
                                                  ": connect: connection refused")));
}

TEST_F(RelayTest, AnAddressThatIsNotAdmittedIsNotCalled) {
  std::string asked;
  admits_ = [&asked](const std::string& address) {
    asked = address;
    return false;
  };
  TestClient client(port_);
  client.send(kUpgrade);
  EXPECT_THAT(client.read_answer(), HasSubstr("address not allowed"));
  EXPECT_EQ(asked, "127.0.0.1");
}

TEST_F(RelayTest, AnOldClientCannotUpgrade) {
  TestClient client(port_);
  client.send("GET /x HTTP/1.0\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  backend_.accept();
  backend_.read_until("\r\n\r\n");
  backend_.send(kSwitches);
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(backend_.read_all(), "");
}

}  // namespace
}  // namespace cardea::http

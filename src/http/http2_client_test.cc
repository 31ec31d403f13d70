// The client over HTTP/2: with the real server, and with servers that are made up.
#include "http/testing/http2_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "base/strings.h"
#include "http/client.h"
#include "http/server.h"
#include "net/testing/test_certificates.h"

namespace cardea::http {
namespace {

using std::chrono::milliseconds;
using testing::frame;
using ::testing::HasSubstr;
using testing::number32;

class FunctionHandler final : public Handler {
 public:
  std::function<void(std::shared_ptr<Exchange>)> answer;
  void handle(std::shared_ptr<Exchange> exchange) override { answer(std::move(exchange)); }
};

Result<Answer> wait_for(Client& client, Call what) {
  std::promise<Result<Answer>> answer;
  client.send(std::move(what), [&](Result<Answer> got) { answer.set_value(std::move(got)); });
  return answer.get_future().get();
}

// Reads an answer into memory.
class Collector final : public AnswerReader {
 public:
  void on_head(int got, const Headers& headers) override {
    std::lock_guard lock(mutex_);
    status = got;
    kind = headers.get("content-type");
    changed_.notify_all();
  }
  bool on_data(std::string_view bytes) override {
    std::lock_guard lock(mutex_);
    body += bytes;
    changed_.notify_all();
    return !pauses;
  }
  void on_drained() override {
    std::lock_guard lock(mutex_);
    ++drained;
    changed_.notify_all();
  }
  void on_end(const Headers& got) override {
    std::lock_guard lock(mutex_);
    trailers = got;
    is_over = true;
    changed_.notify_all();
  }
  void on_failure(const Error& error) override {
    std::lock_guard lock(mutex_);
    failure = error.message;
    is_over = true;
    changed_.notify_all();
  }
  void wait(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, done);
  }
  void wait_for_end() {
    wait([this] { return is_over; });
  }

  int status = 0;
  std::string kind;
  std::string body;
  Headers trailers;
  std::string failure;
  int drained = 0;
  bool is_over = false;
  std::atomic<bool> pauses = false;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class Http2ClientTest : public ::testing::Test {
 protected:
  Http2ClientTest() {
    handler_.answer = [this](const std::shared_ptr<Exchange>& exchange) {
      const Request& request = exchange->request();
      note(request);
      exchange->respond(
          {.status = request.path == "/missing" ? 404 : 200,
           .headers = {{"X-Host", request.headers.get("Host")}},
           .body = cat(request.method, " ", request.target, " ", request.body.substr(0, 100))});
    };
  }
  void TearDown() override {  // they may still call what is below
    client_.reset();
    server_.reset();
  }
  void note(const Request& request) {
    std::lock_guard lock(mutex_);
    ports_.insert(request.peer->port);
  }
  std::size_t connections() {
    std::lock_guard lock(mutex_);
    return ports_.size();
  }

  void start(ServerOptions options = {}, std::vector<std::string> protocols = {"h2", "http/1.1"}) {
    server_ = std::make_unique<Server>(loops_, handler_, options);
    const auto identity = net::testing::issue(
        {.subject = {{"CN", "server"}}, .alternative_names = "DNS:hook.example,IP:127.0.0.1"},
        &authority_);
    port_ = *server_->listen("127.0.0.1", 0,
                             *net::TlsServer::make({.certificates = identity.certificate_pem(),
                                                    .key = identity.key_pem(),
                                                    .protocols = std::move(protocols)}));
    plain_port_ = *server_->listen("127.0.0.1", 0, nullptr, Plain::kHttp1OrHttp2);
  }
  std::string url(std::string_view path) { return cat("https://127.0.0.1:", port_, path); }
  Client& client(ClientOptions options = {}) {
    if (!client_)
      client_ = std::make_unique<Client>(
          loops_.at(0), dialer_,
          *net::TlsClient::make({.server_cas = authority_.certificate_pem()}), options);
    return *client_;
  }
  Result<Answer> call(Call what) { return wait_for(client(), std::move(what)); }

  net::Loops loops_{2};
  net::testing::Identity authority_ = net::testing::issue(
      {.subject = {{"CN", "authority"}}, .authority = true});
  FunctionHandler handler_;
  std::unique_ptr<Server> server_;
  net::Dialer dialer_;
  std::unique_ptr<Client> client_;
  std::uint16_t port_ = 0;
  std::uint16_t plain_port_ = 0;
  std::mutex mutex_;
  std::set<int> ports_;
};

TEST_F(Http2ClientTest, CallsByTheProtocolThatTheServerTakes) {
  for (const bool takes_http2 : {true, false}) {
    start({}, takes_http2 ? std::vector<std::string>{"h2", "http/1.1"}
                          : std::vector<std::string>{"http/1.1"});
    handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
      // Over HTTP/1.1 names are as the client wrote them.
      bool is_lower = false;
      for (const auto& [name, value] : exchange->request().headers) is_lower |= name == "x-name";
      exchange->respond({.body = is_lower ? "2" : "1"});
    };
    const auto answer = call({.url = url("/"), .headers = {{"X-Name", "v"}}});
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->body, takes_http2 ? "2" : "1");
    client_.reset();
    server_.reset();
  }
}

TEST_F(Http2ClientTest, ManyCallsShareAConnection) {
  start();
  std::vector<std::promise<Result<Answer>>> answers(80);
  for (std::size_t i = 0; i < answers.size(); ++i)
    client().send({.method = "POST", .url = url(cat("/", i)), .body = "hello"},
                  [&answers, i](Result<Answer> got) { answers[i].set_value(std::move(got)); });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto answer = answers[i].get_future().get();
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->body, cat("POST /", i, " hello"));
    EXPECT_EQ(answer->headers.get("x-host"), cat("127.0.0.1:", port_));
  }
  // Calls that come before the server's greeting may dial a second one.
  const auto dialled = connections();
  EXPECT_LE(dialled, 2u);
  EXPECT_EQ(call({.url = url("/missing")})->status, 404);
  EXPECT_EQ(call({.method = "HEAD", .url = url("/")})->body, "");
  EXPECT_EQ(connections(), dialled);
}

TEST_F(Http2ClientTest, SeveralConnectionsWhenStreamsRunOut) {
  std::vector<std::shared_ptr<Exchange>> held;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    note(exchange->request());
    std::lock_guard lock(mutex_);
    held.push_back(exchange);
  };
  start({.max_concurrent_streams = 10});
  std::vector<std::promise<Result<Answer>>> answers(45);
  client({.max_shared = 4});
  for (std::size_t i = 0; i < answers.size(); ++i)
    client().send({.url = url("/")},
                  [&answers, i](Result<Answer> got) { answers[i].set_value(std::move(got)); });
  const auto count = [&] {
    std::lock_guard lock(mutex_);
    return held.size();
  };
  while (count() < 40) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_EQ(count(), 40u) << "five wait";
  EXPECT_EQ(connections(), 4u);
  std::thread answering([&] {
    for (std::size_t done = 0; done < answers.size();) {
      std::vector<std::shared_ptr<Exchange>> some;
      {
        std::lock_guard lock(mutex_);
        some.swap(held);
      }
      for (auto& exchange : some) exchange->respond({.body = "late"});
      done += some.size();
    }
  });
  for (auto& answer : answers) {
    const auto got = answer.get_future().get();
    EXPECT_TRUE(got.has_value()) << (got ? "" : got.error().message);
  }
  answering.join();
}

TEST_F(Http2ClientTest, LargeBodiesPassInBothDirections) {
  start();
  std::string sent;
  for (int i = 0; sent.size() < 2'900'000; ++i) sent += cat(i, ",");
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = exchange->request().body});
  };
  const auto answer = call({.method = "PUT", .url = url("/"), .body = sent});
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_TRUE(answer->body == sent);
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = std::string(10u << 20, 'x')});
  };
  EXPECT_EQ(call({.url = url("/")})->body.size(), 10u << 20);
}

TEST_F(Http2ClientTest, AnAnswerOverTheLimitFailsItsCallAlone) {
  start();
  client({.max_body = 1'000'000});
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond(
        {.body = std::string(exchange->request().path == "/large" ? 2u << 20 : 2, 'x')});
  };
  const auto large = call({.url = url("/large")});
  ASSERT_FALSE(large.has_value());
  EXPECT_THAT(large.error().message, HasSubstr("larger than 1000000 bytes"));
  EXPECT_EQ(call({.url = url("/")})->body, "xx");
}

TEST_F(Http2ClientTest, ARefusalBeforeTheBodyIsSentIsAnAnswer) {
  class Refuses final : public Handler {
   public:
    void handle(std::shared_ptr<Exchange> exchange) override {
      exchange->respond({.status = 403, .body = "no"});
    }
    bool wants_body(const std::shared_ptr<Exchange>&) const override { return false; }
  } refuses;
  start();
  Server other(loops_, refuses);
  const auto port = *other.listen("127.0.0.1", 0, nullptr, Plain::kHttp1OrHttp2);
  Client plain(loops_.at(0), dialer_, nullptr, {.plain_http2 = true});
  const auto answer = wait_for(plain, {.method = "PUT",
                                       .url = cat("http://127.0.0.1:", port, "/"),
                                       .body = std::string(2'000'000, 'x')});
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->status, 403);
  EXPECT_EQ(answer->body, "no");
}

TEST_F(Http2ClientTest, ACallThatTakesTooLongLeavesTheOthersAlone) {
  std::promise<std::shared_ptr<Exchange>> slow;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    note(exchange->request());
    if (exchange->request().path == "/slow") return slow.set_value(exchange);
    exchange->respond({.body = "quick"});
  };
  start();
  const auto late = call({.url = url("/slow"), .timeout = milliseconds(100)});
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().reason, Reason::kTimeout);
  EXPECT_EQ(call({.url = url("/")})->body, "quick");
  EXPECT_EQ(connections(), 1u);
  slow.get_future().get()->respond({});
}

TEST_F(Http2ClientTest, AServerThatStopsLetsTheNextCallDialAgain) {
  start();
  EXPECT_EQ(call({.url = url("/")})->status, 200);
  server_->stop(milliseconds(1'000));
  server_.reset();
  EXPECT_FALSE(call({.url = url("/")}).has_value());
  start();
  EXPECT_EQ(call({.url = url("/")})->status, 200);
}

TEST_F(Http2ClientTest, DestroyingTheClientFailsWhatIsUnderWay) {
  std::promise<std::shared_ptr<Exchange>> held;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) { held.set_value(exchange); };
  start();
  std::promise<Result<Answer>> answer;
  client().send({.url = url("/")}, [&](Result<Answer> got) { answer.set_value(std::move(got)); });
  const auto exchange = held.get_future().get();
  const auto collector = std::make_shared<Collector>();
  const auto open = client().open({.method = "POST", .url = url("/")}, collector);
  client_.reset();
  EXPECT_THAT(answer.get_future().get().error().message, HasSubstr("closed"));
  collector->wait_for_end();
  EXPECT_FALSE(open->write(Piece::literal("late")));
  exchange->respond({});
}

TEST_F(Http2ClientTest, AWrongNameIsNotCalled) {
  start();
  const auto answer = call(
      {.url = cat("https://other.example:", port_, "/"), .connect_host = "127.0.0.1"});
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("cannot call `other.example"));
  EXPECT_EQ(
      call({.url = cat("https://hook.example:", port_, "/"), .connect_host = "127.0.0.1"})->status,
      200);
}

// --- open calls ---------------------------------------------------------------------------------

TEST_F(Http2ClientTest, AnOpenCallWritesAndReadsAsItGoes) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    auto stream = exchange->stream({.headers = {{"Content-Type", "application/grpc"}}});
    stream->write(Piece::of(cat("got ", exchange->request().body.size())));
    stream->finish();
  };
  start();
  const auto collector = std::make_shared<Collector>();
  const auto open = client().open(
      {.method = "POST", .url = url("/"), .headers = {{"TE", "trailers"}}, .body = "first"},
      collector);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(open->write(Piece::of(std::string(10'000, 'x'))));
  collector->wait([&] { return collector->drained > 0; });
  open->finish();
  EXPECT_FALSE(open->write(Piece::literal("late")));
  collector->wait_for_end();
  EXPECT_EQ(collector->failure, "");
  EXPECT_EQ(collector->status, 200);
  EXPECT_EQ(collector->kind, "application/grpc");
  EXPECT_EQ(collector->body, "got 1000005");
}

TEST_F(Http2ClientTest, AnOpenCallReadsAtItsOwnPace) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = std::string(3u << 20, 'x')});
  };
  start();
  const auto collector = std::make_shared<Collector>();
  collector->pauses = true;
  const auto open = client().open({.url = url("/"), .timeout = milliseconds(0)}, collector);
  open->finish();
  collector->wait([&] { return collector->body.size() >= 100'000; });
  std::this_thread::sleep_for(milliseconds(50));
  collector->wait([&] {
    EXPECT_LE(collector->body.size(), 256u * 1024);
    return true;
  });
  // Others on the same connection are not held up.
  EXPECT_EQ(call({.url = url("/")})->body.size(), 3u << 20);
  collector->pauses = false;
  open->read_on();
  collector->wait_for_end();
  EXPECT_EQ(collector->body.size(), 3u << 20);
}

TEST_F(Http2ClientTest, ACancelledCallEndsTheStream) {
  std::promise<void> gone;
  std::promise<std::shared_ptr<Stream>> begun;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    exchange->on_close([&] { gone.set_value(); });
    begun.set_value(exchange->stream({.body = "watching"}));
  };
  start();
  const auto collector = std::make_shared<Collector>();
  const auto open = client().open({.url = url("/")}, collector);
  open->finish();
  collector->wait([&] { return !collector->body.empty(); });
  open->cancel();
  gone.get_future().wait();
  EXPECT_FALSE(open->write(Piece::literal("late")));
  EXPECT_FALSE(collector->is_over) << "who cancels is not told";
}

TEST_F(Http2ClientTest, AnOpenCallNeedsHttp2) {
  start({}, {"http/1.1"});
  const auto collector = std::make_shared<Collector>();
  client().open({.method = "POST", .url = url("/")}, collector);
  collector->wait_for_end();
  EXPECT_THAT(collector->failure, HasSubstr("does not speak HTTP/2"));
}

// With all of the request at hand either protocol will do.
TEST_F(Http2ClientTest, AWholeOpenCallGoesByTheProtocolThatTheServerTakes) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    const Request& request = exchange->request();
    exchange->respond({.body = cat(request.method, " ", request.body, " ",
                                   request.headers.get("content-length"))});
  };
  for (const std::vector<std::string>& protocols :
       {std::vector<std::string>{"h2", "http/1.1"}, {"http/1.1"}}) {
    start({}, protocols);
    for (int i = 0; i < 3; ++i) {
      const auto collector = std::make_shared<Collector>();
      client().open({.method = "POST", .url = url("/"), .body = "all of it", .is_whole = true},
                    collector);
      collector->wait_for_end();
      EXPECT_EQ(collector->failure, "");
      EXPECT_EQ(collector->body, "POST all of it 9");
    }
  }
}

TEST_F(Http2ClientTest, AWholeOpenCallOverHttp1ReadsAtItsOwnPace) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = std::string(3u << 20, 'x')});
  };
  start({}, {"http/1.1"});
  const auto collector = std::make_shared<Collector>();
  collector->pauses = true;
  const auto open = client().open({.url = url("/"), .timeout = milliseconds(0), .is_whole = true},
                                  collector);
  collector->wait([&] { return !collector->body.empty(); });
  // Others have connections of their own meanwhile.
  EXPECT_EQ(call({.url = url("/")})->body.size(), 3u << 20);
  collector->wait([&] {
    EXPECT_LE(collector->body.size(), 256u * 1024);
    return true;
  });
  collector->pauses = false;
  open->read_on();
  collector->wait_for_end();
  EXPECT_EQ(collector->body.size(), 3u << 20);
  EXPECT_EQ(collector->failure, "");
}

TEST_F(Http2ClientTest, ACancelledCallOverHttp1ClosesItsConnection) {
  std::promise<void> gone;
  std::promise<std::shared_ptr<Stream>> begun;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    exchange->on_close([&] { gone.set_value(); });
    begun.set_value(exchange->stream({.body = "watching"}));
  };
  start({}, {"http/1.1"});
  const auto collector = std::make_shared<Collector>();
  const auto open = client().open({.url = url("/"), .is_whole = true}, collector);
  collector->wait([&] { return !collector->body.empty(); });
  open->cancel();
  gone.get_future().wait();
  EXPECT_FALSE(collector->is_over) << "who cancels is not told";
}

// --- servers that are made up -------------------------------------------------------------------

// Accepts connections one after the other, reads a little of each, and sends what it was told.
class ScriptedServer {
 public:
  // One script for each connection. It is sent when a request has come; the last one again and
  // again.
  explicit ScriptedServer(std::vector<std::string> scripts) : scripts_(std::move(scripts)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return cat("http://127.0.0.1:", port_, "/"); }
  int connections() const { return connections_; }

 private:
  void run() {
    for (;;) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const std::size_t index = std::min<std::size_t>(static_cast<std::size_t>(connections_++),
                                                      scripts_.size() - 1);
      serve(fd, scripts_[index]);
      ::close(fd);
    }
  }
  static void serve(int fd, std::string_view script) {
    std::string got;
    char buffer[65'536];
    // Until the head of a HEADERS frame is there: its type follows three bytes of length.
    auto has_request = [&] {
      for (std::size_t at = 24; at + 9 <= got.size();) {
        const auto byte = [&](std::size_t i) {
          return std::size_t{static_cast<unsigned char>(got[at + i])};
        };
        if (byte(3) == 1) return true;
        at += 9 + (byte(0) << 16 | byte(1) << 8 | byte(2));
      }
      return false;
    };
    while (!has_request()) {
      const auto size = ::recv(fd, buffer, sizeof buffer, 0);
      if (size <= 0) return;
      got.append(buffer, static_cast<std::size_t>(size));
    }
    while (!script.empty()) {
      const auto sent = ::send(fd, script.data(), script.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      script.remove_prefix(static_cast<std::size_t>(sent));
    }
    while (::recv(fd, buffer, sizeof buffer, 0) > 0) {
    }
  }

  std::vector<std::string> scripts_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

enum Type : std::uint8_t { kData = 0, kHeaders = 1, kRst = 3, kSettings = 4, kPush = 5, kPing = 6 };
constexpr std::uint8_t kEndStream = 1, kEndHeaders = 4;
const std::string kHello = frame(kSettings, 0, 0);
const std::string kOk = "\x88";  // :status 200
std::string literal(std::string_view name, std::string_view value) {
  return cat(std::string(1, '\0'), static_cast<char>(name.size()), name,
             static_cast<char>(value.size()), value);
}
const std::string kGood = kHello + frame(kHeaders, kEndHeaders, 1, kOk) +
                          frame(kData, kEndStream, 1, "good");

class HostileServers : public ::testing::Test {
 protected:
  Result<Answer> ask(ScriptedServer& server, Call call = {}, ClientOptions options = {}) {
    options.plain_http2 = true;
    Client client(loops_.at(0), dialer_, nullptr, options);
    call.url = server.url();
    return wait_for(client, std::move(call));
  }
  std::string failure(const std::string& script, ClientOptions options = {}) {
    ScriptedServer server({script});
    const auto answer = ask(server, {.timeout = milliseconds(10'000)}, options);
    return answer ? "an answer" : answer.error().message;
  }
  net::Loops loops_{1};
  net::Dialer dialer_;
};

TEST_F(HostileServers, AGoodAnswerPasses) {
  ScriptedServer server({kGood});
  const auto answer = ask(server);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->body, "good");
}

TEST_F(HostileServers, TrailersAreTold) {
  ScriptedServer server(
      {kHello + frame(kHeaders, kEndHeaders, 1, kOk) + frame(kData, 0, 1, "part") +
       frame(kHeaders, kEndHeaders | kEndStream, 1, literal("grpc-status", "0"))});
  Client client(loops_.at(0), dialer_, nullptr, {.plain_http2 = true});
  const auto collector = std::make_shared<Collector>();
  const auto open = client.open({.method = "POST", .url = server.url()}, collector);
  collector->wait_for_end();
  EXPECT_EQ(collector->failure, "");
  EXPECT_EQ(collector->body, "part");
  EXPECT_EQ(collector->trailers.get("grpc-status"), "0");
}

TEST_F(HostileServers, ACallThatWasRefusedIsRepeatedWhateverItIs) {
  const std::string refused = kHello + frame(kRst, 0, 1, number32(7)) +
                              frame(7, 0, 0, number32(0) + number32(0));
  const std::string gone = kHello + frame(7, 0, 0, number32(0) + number32(0));
  for (const std::string& script : {refused, gone}) {
    ScriptedServer server({script, kGood});
    const auto answer = ask(server, {.method = "POST", .body = "once"});
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->body, "good");
    EXPECT_EQ(server.connections(), 2);
  }
  ScriptedServer never({gone});
  EXPECT_FALSE(ask(never, {.method = "POST"}).has_value());
  EXPECT_LE(never.connections(), 5);
}

TEST_F(HostileServers, ACallThatMayHaveBegunIsNotRepeated) {
  const std::string begun = kHello + frame(7, 0, 0, number32(1) + number32(0)) +
                            frame(kRst, 0, 1, number32(2));
  ScriptedServer server({begun, kGood});
  const auto answer = ask(server, {.method = "POST"});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HostileServers, PushesAreRefused) {
  const std::string pushed = frame(kPush, kEndHeaders, 1, number32(2) + "\x82\x87\x84\x41\x01t") +
                             frame(kHeaders, kEndHeaders, 2, kOk) +
                             frame(kData, kEndStream, 2, "pushed");
  ScriptedServer server({kHello + pushed + kGood.substr(kHello.size())});
  const auto answer = ask(server);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->body, "good");
  EXPECT_TRUE(answer->headers.empty());
  std::string flood = kHello;
  for (std::uint32_t i = 2; i < 40'000; i += 2)
    flood += frame(kPush, kEndHeaders, 1, number32(i) + "\x82\x87\x84\x41\x01t");
  EXPECT_THAT(failure(flood), HasSubstr("ended"));
}

TEST_F(HostileServers, HeadsAreBounded) {
  std::string large = kOk;
  for (int i = 0; i < 100; ++i) large += literal("x", std::string(100, 'y'));
  std::string flood = kHello + frame(kHeaders, 0, 1, large);
  for (int i = 0; i < 2'000; ++i) flood += frame(9, 0, 1, large.substr(1));
  EXPECT_NE(failure(flood), "an answer");
  // One field of 4 KB in the table, named again and again.
  std::string bomb = kOk + "\x40\x01x" + "\x7f\xa1\x1e" + std::string(4'000, 'b') +
                     std::string(2'000, '\xbe');
  EXPECT_NE(failure(kHello + frame(kHeaders, kEndHeaders | kEndStream, 1, bomb)), "an answer");
}

TEST_F(HostileServers, InterimAnswersAreBounded) {
  std::string flood = kHello;
  const std::string interim = std::string("\x08\x03") + "103";
  for (int i = 0; i < 10'000; ++i) flood += frame(kHeaders, kEndHeaders, 1, interim);
  EXPECT_THAT(failure(flood), HasSubstr("interim"));
}

TEST_F(HostileServers, FloodsEndTheConnection) {
  const auto repeated = [](const std::string& one) {
    std::string all = kHello;
    for (int i = 0; i < 50'000; ++i) all += one;
    return all;
  };
  const std::string begun = frame(kHeaders, kEndHeaders, 1, kOk);
  EXPECT_THAT(failure(repeated(frame(kPing, 0, 0, "12345678"))), HasSubstr("ended"));
  EXPECT_THAT(failure(repeated(frame(kSettings, 0, 0))), HasSubstr("ended"));
  EXPECT_THAT(failure(repeated(frame(0x99, 0, 0, "what"))), HasSubstr("ended"));
  EXPECT_THAT(failure(kHello + begun + repeated(frame(kData, 0, 1)).substr(kHello.size())),
              HasSubstr("ended"));
}

TEST_F(HostileServers, AnEndlessBodyIsCut) {
  std::string endless = kHello + frame(kHeaders, kEndHeaders, 1, kOk);
  for (int i = 0; i < 4; ++i) endless += frame(kData, 0, 1, std::string(16'000, 'x'));
  EXPECT_THAT(failure(endless, {.max_body = 30'000}), HasSubstr("larger than 30000"));
}

TEST_F(HostileServers, BytesThatAreNoFramesAreNoAnswer) {
  EXPECT_NE(failure("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno"), "an answer");
  EXPECT_NE(
      failure(kHello + frame(kHeaders, kEndHeaders | kEndStream, 1, literal("x", "no status"))),
      "an answer");
  EXPECT_NE(
      failure(kHello + frame(kHeaders, kEndHeaders | kEndStream, 1, literal(":status", "2x0"))),
      "an answer");
}

TEST_F(HostileServers, ASilentConnectionIsGivenUp) {
  ScriptedServer server({kHello});
  const auto answer = ask(server, {.timeout = milliseconds(10'000)},
                          {.ping_after = milliseconds(100), .ping_timeout = milliseconds(100)});
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("ping"));
}

TEST_F(HostileServers, NoStreamsAtAllIsATimeout) {
  const std::string none = frame(kSettings, 0, 0, std::string("\0\3", 2) + number32(0));
  ScriptedServer server({none + frame(kRst, 0, 1, number32(7))});
  const auto answer = ask(server, {.timeout = milliseconds(300)}, {.max_shared = 2});
  ASSERT_FALSE(answer.has_value());
  EXPECT_LE(server.connections(), 2);
}

// --- a server of another project ----------------------------------------------------------------

// nginx, if it is installed, with few streams and few requests on a connection.
class Nginx {
 public:
  static constexpr const char* kProgram = "/usr/sbin/nginx";
  explicit Nginx(const net::testing::Identity& identity) {
    char name[] = "/tmp/cardea-nginx-XXXXXX";
    folder_ = ::mkdtemp(name);
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(probe, reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(probe);
    port_ = ntohs(address.sin_port);
    write("crt", identity.certificate_pem());
    write("key", identity.key_pem());
    write("large", std::string(5'000'000, 'n'));
    write("conf", cat("daemon off; master_process off; pid ", folder_, "/pid; error_log ", folder_,
                      "/log; events {} http { access_log off; client_body_temp_path ", folder_,
                      "/body; proxy_temp_path ", folder_, "/proxy; fastcgi_temp_path ", folder_,
                      "/fcgi; uwsgi_temp_path ", folder_, "/uwsgi; scgi_temp_path ", folder_,
                      "/scgi; server { listen 127.0.0.1:", port_, " ssl http2; ssl_certificate ",
                      folder_, "/crt; ssl_certificate_key ", folder_,
                      "/key; http2_max_concurrent_streams 8; keepalive_requests 30; root ", folder_,
                      "; location /echo { return 200 $request_uri; } } }"));
    const std::string log = cat(folder_, "/log"), conf = cat(folder_, "/conf");
    process_ = ::fork();
    if (process_ == 0) {
      ::execl(kProgram, kProgram, "-e", log.c_str(), "-c", conf.c_str(), nullptr);
      ::_exit(1);
    }
  }
  ~Nginx() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  std::string url(std::string_view path) const { return cat("https://127.0.0.1:", port_, path); }

 private:
  void write(std::string_view name, std::string_view text) const {
    std::ofstream(cat(folder_, "/", name)) << text;
  }
  std::string folder_;
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

TEST_F(Http2ClientTest, NginxIsCalledThroughItsGoaways) {
  if (::access(Nginx::kProgram, X_OK) != 0) GTEST_SKIP() << "nginx is not installed";
  const Nginx nginx(net::testing::issue(
      {.subject = {{"CN", "server"}}, .alternative_names = "IP:127.0.0.1"}, &authority_));
  for (int tries = 0; tries < 500 && !call({.url = nginx.url("/echo")}); ++tries)
    std::this_thread::sleep_for(milliseconds(10));
  std::vector<std::promise<Result<Answer>>> answers(300);
  for (std::size_t i = 0; i < answers.size(); ++i)
    client().send({.method = i % 3 ? "GET" : "POST",
                   .url = nginx.url(cat("/echo/", i)),
                   .body = i % 3 ? "" : std::string(1'000, 'b')},
                  [&answers, i](Result<Answer> got) { answers[i].set_value(std::move(got)); });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto answer = answers[i].get_future().get();
    ASSERT_TRUE(answer.has_value()) << i << ": " << answer.error().message;
    EXPECT_EQ(answer->body, cat("/echo/", i));
  }
  const auto large = call({.url = nginx.url("/large")});
  ASSERT_TRUE(large.has_value()) << large.error().message;
  EXPECT_EQ(large->body, std::string(5'000'000, 'n'));
}

}  // namespace
}  // namespace cardea::http

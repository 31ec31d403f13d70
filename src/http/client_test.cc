#include "http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "base/strings.h"
#include "http/response_parser.h"
#include "http/server.h"
#include "http/url.h"
#include "net/listener.h"
#include "net/testing/test_certificates.h"

namespace cardea::http {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FunctionHandler final : public Handler {
 public:
  std::function<void(std::shared_ptr<Exchange>)> answer;
  void handle(std::shared_ptr<Exchange> exchange) override { answer(std::move(exchange)); }
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    handler_.answer = [this](const std::shared_ptr<Exchange>& exchange) {
      const Request& request = exchange->request();
      {
        std::lock_guard lock(mutex_);
        ports_.insert(request.peer->port);
        if (request.peer->certificate && request.peer->certificate->verified)
          caller_ = request.peer->certificate->common_name;
      }
      exchange->respond({.status = request.path == "/missing" ? 404 : 200,
                         .headers = {{"X-Host", request.headers.get("Host")}},
                         .body = cat(request.method, " ", request.target, " ", request.body)});
    };
    plain_port_ = *server_.listen("127.0.0.1", 0);
    const auto identity = net::testing::issue(
        {.subject = {{"CN", "server"}}, .alternative_names = "DNS:hook.example,IP:127.0.0.1"},
        &authority_);
    tls_port_ = *server_.listen(
        "127.0.0.1", 0,
        *net::TlsServer::make({.certificates = identity.certificate_pem(),
                               .key = identity.key_pem(),
                               .client_cas = authority_.certificate_pem()}));
  }

  std::shared_ptr<net::TlsClient> trusting(const net::testing::Identity& authority) {
    return *net::TlsClient::make({.server_cas = authority.certificate_pem()});
  }
  std::string plain(std::string_view path) { return cat("http://127.0.0.1:", plain_port_, path); }

  static Result<Answer> call(Client& client, Call what) {
    std::promise<Result<Answer>> answer;
    client.send(std::move(what), [&](Result<Answer> got) { answer.set_value(std::move(got)); });
    return answer.get_future().get();
  }

  net::Loops loops_{2};
  net::testing::Identity authority_ = net::testing::issue(
      {.subject = {{"CN", "authority"}}, .authority = true});
  FunctionHandler handler_;
  Server server_{loops_, handler_};
  net::Dialer dialer_;
  std::uint16_t plain_port_ = 0;
  std::uint16_t tls_port_ = 0;
  std::mutex mutex_;
  std::set<int> ports_;
  std::string caller_;
};

TEST_F(ClientTest, CallsAndKeepsTheConnectionForTheNextCall) {
  Client client(loops_.at(0), dialer_, nullptr);
  for (int i = 0; i < 3; ++i) {
    const auto answer = call(client, {.method = "POST", .url = plain("/a?b"), .body = "hello"});
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "POST /a?b hello");
    EXPECT_EQ(answer->headers.get("x-host"), cat("127.0.0.1:", plain_port_));
  }
  EXPECT_EQ(ports_.size(), 1u);
}

TEST_F(ClientTest, AnAnswerThatIsNotGoodIsStillAnAnswer) {
  Client client(loops_.at(0), dialer_, nullptr);
  EXPECT_EQ(call(client, {.url = plain("/missing")})->status, 404);
}

TEST_F(ClientTest, ReadsStreamsAndBodilessAnswers) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/none") return exchange->respond({.status = 204});
    auto stream = exchange->stream({.body = "a"});
    stream->write(Piece::of(std::string(100'000, 'x')));
    stream->finish();
  };
  Client client(loops_.at(0), dialer_, nullptr);
  EXPECT_EQ(call(client, {.url = plain("/stream")})->body.size(), 100'001u);
  EXPECT_EQ(call(client, {.method = "HEAD", .url = plain("/stream")})->body, "");
  EXPECT_EQ(call(client, {.url = plain("/none")})->status, 204);
}

TEST_F(ClientTest, CallsOverTlsAndShowsItsCertificate) {
  const auto jane = net::testing::issue({.subject = {{"CN", "jane"}}}, &authority_);
  Client client(loops_.at(0), dialer_,
                *net::TlsClient::make({.server_cas = authority_.certificate_pem(),
                                       .certificates = jane.certificate_pem(),
                                       .key = jane.key_pem()}));
  const auto answer = call(client, {.url = cat("https://127.0.0.1:", tls_port_, "/")});
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(caller_, "jane");
}

TEST_F(ClientTest, ConnectsElsewhereButWantsTheNameOfTheUrl) {
  Client client(loops_.at(0), dialer_, trusting(authority_));
  const auto right = call(
      client,
      {.url = "https://hook.example/x", .connect_host = "127.0.0.1", .connect_port = tls_port_});
  ASSERT_TRUE(right.has_value()) << right.error().message;
  EXPECT_EQ(right->headers.get("X-Host"), "hook.example");
  const auto wrong = call(
      client,
      {.url = "https://other.example/x", .connect_host = "127.0.0.1", .connect_port = tls_port_});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message, HasSubstr("hostname mismatch"));
}

TEST_F(ClientTest, AnErrorIsNeverAnAnswerWhenTheServerIsNotTrusted) {
  const auto stranger = net::testing::issue({.subject = {{"CN", "stranger"}}, .authority = true});
  Client client(loops_.at(0), dialer_, trusting(stranger));
  const auto answer = call(client, {.url = cat("https://127.0.0.1:", tls_port_, "/")});
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("certificate"));
}

TEST_F(ClientTest, FindsHostsByName) {
  Client client(loops_.at(0), dialer_, nullptr);
  const auto answer = call(client, {.url = cat("http://localhost:", plain_port_, "/")});
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  const auto unknown = call(client, {.url = "http://no-such-host.invalid/"});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, HasSubstr("`no-such-host.invalid`"));
}

TEST_F(ClientTest, SaysThatNobodyListens) {
  std::uint16_t unused = 0;
  {
    auto listener = net::Listener::open(loops_.at(0), "127.0.0.1", 0, [](net::Socket) {});
    unused = (*listener)->port();
  }
  Client client(loops_.at(0), dialer_, nullptr);
  const auto answer = call(client, {.url = cat("http://127.0.0.1:", unused, "/")});
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("refused"));
}

TEST_F(ClientTest, GivesUpWhenTheTimeIsOver) {
  std::promise<std::shared_ptr<Exchange>> asked;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    asked.set_value(std::move(exchange));
  };
  Client client(loops_.at(0), dialer_, nullptr);
  const auto answer = call(client, {.url = plain("/"), .timeout = milliseconds(30)});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().reason, Reason::kTimeout);
}

TEST_F(ClientTest, FailsOnAnAnswerThatIsTooLarge) {
  Client client(loops_.at(0), dialer_, nullptr, {.max_body = 10});
  const auto answer = call(client,
                           {.method = "PUT", .url = plain("/"), .body = std::string(100, 'x')});
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().message, HasSubstr("larger than 10 bytes"));
}

// A server that answers one request on each connection and closes it when a second one arrives.
class Forgetful {
 public:
  Forgetful() {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(fd_, 8);
    port = net::local_of(fd_).port;
    thread_ = std::thread([this] {
      for (int connection; (connection = ::accept(fd_, nullptr, nullptr)) >= 0;
           ::close(connection)) {
        ++connections;
        if (!read_head(connection)) continue;
        constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        ::send(connection, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
        read_head(connection);
      }
    });
  }
  ~Forgetful() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  std::uint16_t port = 0;
  std::atomic<int> connections{0};

 private:
  static bool read_head(int connection) {
    std::string seen;
    char c = 0;
    while (!seen.ends_with("\r\n\r\n")) {
      if (::recv(connection, &c, 1, 0) != 1) return false;
      seen.push_back(c);
    }
    return true;
  }
  int fd_ = -1;
  std::thread thread_;
};

TEST_F(ClientTest, TriesAGetAgainWhenTheServerHasClosedAKeptConnectionButNotAPost) {
  Forgetful server;
  const std::string url = cat("http://127.0.0.1:", server.port, "/");
  {
    Client client(loops_.at(0), dialer_, nullptr);
    EXPECT_EQ(call(client, {.url = url})->body, "ok");
    const auto again = call(client, {.url = url});
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(again->body, "ok");
    EXPECT_EQ(server.connections, 2);
    EXPECT_FALSE(call(client, {.method = "POST", .url = url}).has_value());
  }
}

TEST_F(ClientTest, DestroyingItFailsWhatIsUnderWay) {
  std::promise<void> asked;
  std::vector<std::shared_ptr<Exchange>> held;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    held.push_back(std::move(exchange));
    asked.set_value();
  };
  std::promise<Result<Answer>> answer;
  {
    Client client(loops_.at(0), dialer_, nullptr);
    client.send({.url = plain("/")}, [&](Result<Answer> got) { answer.set_value(std::move(got)); });
    asked.get_future().wait();
  }
  EXPECT_FALSE(answer.get_future().get().has_value());
}

TEST_F(ClientTest, ManyCallsAtOnceGetTheirOwnAnswers) {
  Client client(loops_.at(0), dialer_, nullptr);
  std::vector<std::promise<Result<Answer>>> answers(100);
  for (int i = 0; i < 100; ++i)
    client.send({.url = plain(cat("/", i))},
                [&answer = answers[static_cast<std::size_t>(i)]](Result<Answer> got) {
                  answer.set_value(std::move(got));
                });
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].get_future().get()->body, cat("GET /", i, " "));
}

TEST(Url, KnowsItsParts) {
  const auto full = parse_url("https://example.com:8443/a/b?c=d");
  ASSERT_TRUE(full.has_value());
  EXPECT_TRUE(full->tls);
  EXPECT_EQ(full->host, "example.com");
  EXPECT_EQ(full->port, 8443);
  EXPECT_EQ(full->authority, "example.com:8443");
  EXPECT_EQ(full->target, "/a/b?c=d");
  const auto bare = parse_url("http://[::1]?q");
  ASSERT_TRUE(bare.has_value());
  EXPECT_EQ(bare->host, "::1");
  EXPECT_EQ(bare->port, 80);
  EXPECT_EQ(bare->target, "/?q");
  for (const std::string_view wrong :
       {"", "example.com", "ftp://a", "https://", "https://:1/", "https://a:0/", "https://a:x/",
        "https://u@a/", "https://a/#f", "https://a/ b", "https://[::1/"})
    EXPECT_FALSE(parse_url(wrong).has_value()) << wrong;
}

std::string parsed(std::string_view bytes, std::size_t portion, bool head = false) {
  ResponseParser parser(head ? ResponseParser::To::kHead : ResponseParser::To::kOther);
  std::string body;
  for (std::size_t at = 0; at < bytes.size(); at += portion) {
    std::string_view input = bytes.substr(at, portion);
    for (bool more = true; more;) switch (parser.next(input)) {
        case ResponseParser::Event::kNeedMore:
          more = false;
          break;
        case ResponseParser::Event::kHead:
          break;
        case ResponseParser::Event::kBody:
          body += parser.body();
          break;
        case ResponseParser::Event::kEnd:
          return cat(parser.status(), " ", body);
        case ResponseParser::Event::kError:
          return cat("error: ", parser.error());
      }
  }
  return parser.end_of_input() ? cat(parser.status(), " ", body) : "incomplete";
}

TEST(ResponseParser, ReadsEveryKindOfBody) {
  for (const std::size_t portion : {1u, 3u, 1000u}) {
    EXPECT_EQ(parsed("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcX", portion), "200 abc");
    EXPECT_EQ(
        parsed("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", portion),
        "200 abc");
    EXPECT_EQ(parsed("HTTP/1.0 500 Oh no\r\n\r\nabc", portion), "500 abc");
    EXPECT_EQ(parsed("HTTP/1.1 204 No Content\r\n\r\n", portion), "204 ");
    EXPECT_EQ(
        parsed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
               portion),
        "201 x");
    EXPECT_EQ(parsed("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", portion, true), "200 ");
    EXPECT_EQ(parsed("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", portion), "incomplete");
  }
}

TEST(ResponseParser, RefusesWhatIsNotAResponse) {
  for (const std::string_view wrong :
       {"hello\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n"})
    EXPECT_THAT(parsed(wrong, 1000), StartsWith("error: ")) << wrong;
}

}  // namespace
}  // namespace cardea::http

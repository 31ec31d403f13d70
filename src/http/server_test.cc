#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/strings.h"
#include "http/testing/test_client.h"
#include "net/testing/test_certificates.h"

namespace cardea::http {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TestClient;

// Gives the answers that the test has set; by default it answers with the request.
class TestHandler final : public Handler {
 public:
  std::function<void(std::shared_ptr<Exchange>)> answer =
      [](const std::shared_ptr<Exchange>& exchange) {
        const Request& request = exchange->request();
        Response response;
        if (request.body_too_large) response.status = 413;
        response.body = cat(request.method, " ", request.path, " ",
                            request.body.size() > 100 ? "" : request.body);
        exchange->respond(std::move(response));
      };
  void handle(std::shared_ptr<Exchange> exchange) override { answer(std::move(exchange)); }
};

// Every test runs over plain TCP and over TLS.
class ServerTest : public ::testing::TestWithParam<bool> {
 protected:
  void start(ServerOptions options = {}) {
    server_ = std::make_unique<Server>(loops_, handler_, options);
    std::shared_ptr<net::TlsServer> tls;
    if (GetParam()) {
      const auto identity = net::testing::issue({.subject = {{"CN", "server"}}});
      tls = *net::TlsServer::make(
          {.certificates = identity.certificate_pem(), .key = identity.key_pem()});
    }
    const auto port = server_->listen("127.0.0.1", 0, tls);
    ASSERT_TRUE(port.has_value());
    port_ = *port;
  }
  std::unique_ptr<TestClient> connect(int receive_buffer = 0) {
    return std::make_unique<TestClient>(port_, GetParam(), receive_buffer);
  }
  static std::string get(std::string_view path) {
    return cat("GET ", path, " HTTP/1.1\r\nHost: t\r\n\r\n");
  }

  net::Loops loops_{2};
  TestHandler handler_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Transport, ServerTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Tls" : "Plain"; });

TEST_P(ServerTest, AnswersSeveralRequestsOnOneConnection) {
  start();
  auto client = connect();
  for (const std::string path : {"/a", "/b", "/c"}) {
    client->send(get(path));
    const std::string answer = client->read_answer();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nDate: "));
    EXPECT_THAT(answer, HasSubstr(" GMT\r\n"));
    EXPECT_THAT(answer, Not(HasSubstr("Connection:")));
    EXPECT_THAT(answer, EndsWith(cat("\r\n\r\nGET ", path, " ")));
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_P(ServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  auto client = connect();
  std::string all;
  for (int i = 0; i < 200; ++i) all += get(cat("/", i));
  client->send(all);
  for (int i = 0; i < 200; ++i) EXPECT_THAT(client->read_answer(), EndsWith(cat("GET /", i, " ")));
}

TEST_P(ServerTest, GoesOnReadingAfterAPileOfLargeAnswersHasLeft) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = exchange->request().path + std::string(30'000, 'x')});
  };
  start();
  auto client = connect();
  std::thread sender([&] {
    std::string all;
    for (int i = 0; i < 3000; ++i) all += get(cat("/", i));
    client->send(all);
  });
  if (GetParam()) sender.join();  // two threads may not use one SSL object
  for (int i = 0; i < 3000; ++i)
    if (const std::string answer = client->read_answer();
        !answer.ends_with(cat(i, std::string(30'000, 'x'))))
      FAIL() << i;
  if (sender.joinable()) sender.join();
}

TEST_P(ServerTest, AnswersPipelinedRequestsInOrderWhenTheHandlerAnswersLater) {
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    std::thread([exchange] {
      Response response;
      response.body = cat("late ", exchange->request().path);
      exchange->respond(std::move(response));
    }).detach();
  };
  start();
  auto client = connect();
  std::string all;
  for (int i = 0; i < 50; ++i) all += get(cat("/", i));
  client->send(all);
  for (int i = 0; i < 50; ++i) EXPECT_THAT(client->read_answer(), EndsWith(cat("late /", i)));
}

TEST_P(ServerTest, AnswersARequestThatComesByteByByte) {
  start();
  auto client = connect();
  for (const char c : std::string("POST /slow HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc"))
    client->send({&c, 1});
  EXPECT_THAT(client->read_answer(), EndsWith("POST /slow abc"));
}

TEST_P(ServerTest, TakesLargeBodiesAndSendsLargeAnswersUnharmed) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    Response response;
    response.body = Body(Piece::of(std::move(exchange->request().body)));
    response.body.add(Piece::literal("tail"));
    exchange->respond(std::move(response));
  };
  start();
  auto client = connect();
  std::string body(3u << 20, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 2654435761u >> 13);
  std::thread sender([&] {
    client->send(cat("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: ", body.size(), "\r\n\r\n"));
    client->send(body);
  });
  sender.join();
  client->read_until("\r\n\r\n");
  EXPECT_TRUE(client->read(body.size() + 4) == body + "tail");
}

TEST_P(ServerTest, TellsTheHandlerThatABodyIsTooLargeAndClosesAfterTheAnswer) {
  start({.max_body = 1000});
  auto client = connect();
  client->send(cat("POST /big HTTP/1.1\r\nHost: t\r\nContent-Length: 300000\r\n\r\n",
                   std::string(300000, 'x')));
  const std::string answer = client->read_answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 Request Entity Too Large\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client->closed_by_peer());

  auto chunked = connect();
  chunked->send("POST /big HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) chunked->send(cat("200\r\n", std::string(512, 'x'), "\r\n"));
  EXPECT_THAT(chunked->read_answer(), StartsWith("HTTP/1.1 413 "));
}

TEST_P(ServerTest, AsksForTheBodyWhenTheClientWaitsToBeAsked) {
  start({.max_body = 1000});
  auto client = connect();
  client->send("PUT / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client->read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client->send("abc");
  EXPECT_THAT(client->read_answer(), EndsWith("PUT / abc"));
  client->send("PUT / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 3000\r\n\r\n");
  EXPECT_THAT(client->read_answer(), StartsWith("HTTP/1.1 413 "));
}

TEST_P(ServerTest, AnswersHeadWithoutABody) {
  start();
  auto client = connect();
  client->send("HEAD /a HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_THAT(client->read_until("\r\n\r\n"), HasSubstr("Content-Length: 8\r\n"));
  client->send(get("/b"));
  EXPECT_THAT(client->read_answer(), StartsWith("HTTP/1.1 200 OK"));
}

TEST_P(ServerTest, SendsNoLengthWhereThereCanBeNoBody) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.status = 204});
  };
  start();
  auto client = connect();
  client->send(get("/"));
  const std::string answer = client->read_until("\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("Content-Length")));
}

TEST_P(ServerTest, AHeaderValueCannotEndItsLine) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.headers = {{"Warning", "a\r\nSet-Cookie: x"}}});
  };
  start();
  auto client = connect();
  client->send(get("/"));
  EXPECT_THAT(client->read_answer(), HasSubstr("\r\nWarning: a  Set-Cookie: x\r\n"));
}

TEST_P(ServerTest, ClosesWhenTheClientWantsItAndForHttpOneDotZero) {
  start();
  for (const std::string request :
       {"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    auto client = connect();
    client->send(request);
    EXPECT_THAT(client->read_answer(), HasSubstr("Connection: close\r\n"));
    EXPECT_TRUE(client->closed_by_peer());
  }
}

TEST_P(ServerTest, RefusesWhatIsNotHttpInPlainTextAndCloses) {
  start();
  auto client = connect();
  client->send("nonsense\r\n\r\n");
  const std::string answer = client->read_all();
  EXPECT_THAT(
      answer,
      StartsWith("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n400 Bad Request"));
}

TEST_P(ServerTest, AnswersWhatCameBeforeTheNonsense) {
  start();
  auto client = connect();
  client->send(get("/good") + "GET / HTTP/1.1\r\nHost : t\r\n\r\n" + get("/smuggled"));
  EXPECT_THAT(client->read_answer(), EndsWith("GET /good "));
  const std::string rest = client->read_all();
  EXPECT_THAT(rest, EndsWith("400 Bad Request: invalid header name"));
  EXPECT_THAT(rest, Not(HasSubstr("smuggled")));
}

TEST_P(ServerTest, RefusesAHeadOverTheLimit) {
  start();
  auto client = connect();
  std::thread sender(
      [&] { client->send(cat("GET / HTTP/1.1\r\nA: ", std::string(2u << 20, 'x'))); });
  sender.join();
  EXPECT_THAT(client->read_all(), StartsWith("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
}

TEST_P(ServerTest, AnswersAClientThatHalfClosesAfterItsRequest) {
  start();
  auto client = connect();
  client->send(get("/last"));
  client->half_close();
  EXPECT_THAT(client->read_answer(), EndsWith("GET /last "));
  EXPECT_TRUE(client->closed_by_peer());
}

TEST_P(ServerTest, AnswersAHalfClosedClientAlsoWhenTheAnswerTakesLonger) {
  std::promise<std::shared_ptr<Exchange>> asked;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    asked.set_value(std::move(exchange));
  };
  start();
  auto client = connect();
  client->send(get("/last"));
  client->half_close();
  asked.get_future().get()->respond({.body = "late"});
  EXPECT_THAT(client->read_answer(), EndsWith("late"));
  EXPECT_TRUE(client->closed_by_peer());
}

TEST_P(ServerTest, ClosesOnAClientThatIsSlowWithItsHead) {
  start({.header_timeout = milliseconds(30)});
  auto client = connect();
  client->send("GET / HTTP/1.1\r\nHost:");
  EXPECT_THAT(client->read_all(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
}

TEST_P(ServerTest, ClosesOnAClientThatIsSlowWithItsBody) {
  start({.body_timeout = milliseconds(30)});
  auto client = connect();
  client->send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_THAT(client->read_all(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
}

TEST_P(ServerTest, TheAnswerToALateBodyCanBeChosen) {
  start({.body_timeout = milliseconds(30), .late_body = "late"});
  auto client = connect();
  client->send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nabc");
  const std::string answer = client->read_all();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 504 Gateway Timeout\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\nlate")) << answer;
}

TEST_P(ServerTest, ClosesAnIdleConnectionWithoutAWord) {
  start({.idle_timeout = milliseconds(30)});
  auto client = connect();
  client->send(get("/"));
  client->read_answer();
  EXPECT_EQ(client->read_all(), "");
}

TEST_P(ServerTest, ClosesAConnectionThatNeverSaysAnything) {
  start({.header_timeout = milliseconds(30)});
  auto client = connect();
  EXPECT_EQ(client->read_all(), "");
}

TEST_P(ServerTest, CutsAClientThatDoesNotReadItsAnswer) {
  std::promise<void> gone;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    auto stream = exchange->stream({});
    exchange->on_close([&gone] { gone.set_value(); });
    stream->write(Piece::of(std::string(32u << 20, 'x')));
  };
  start({.write_timeout = milliseconds(50)});
  auto client = connect(4096);
  client->send(get("/"));
  gone.get_future().wait();
}

TEST_P(ServerTest, StreamsPiecesAsChunksUntilFinished) {
  std::promise<std::shared_ptr<Stream>> started;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path != "/watch") return exchange->respond({.body = "next"});
    Response head;
    head.headers.add("Content-Type", "application/json");
    started.set_value(exchange->stream(std::move(head)));
  };
  start();
  auto client = connect();
  client->send(get("/watch"));
  auto stream = started.get_future().get();
  EXPECT_THAT(client->read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(stream->write(Piece::of(std::string("first\n"))));
  EXPECT_EQ(client->read_until("first\n\r\n"), "6\r\nfirst\n\r\n");
  EXPECT_TRUE(stream->write(Piece::of(std::string(5000, 'x'))));
  EXPECT_EQ(client->read(5000 + 8), cat("1388\r\n", std::string(5000, 'x'), "\r\n"));
  stream->finish();
  EXPECT_EQ(client->read_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_FALSE(stream->write(Piece::literal("too late")));
  client->send(get("/next"));
  EXPECT_THAT(client->read_answer(), EndsWith("next"));
}

TEST_P(ServerTest, AStreamBegunAndFinishedByTheHandlerItselfArrivesWhole) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    auto stream = exchange->stream({.body = "a"});
    stream->write(Piece::literal("b"));
    stream->finish();
  };
  start();
  auto client = connect();
  client->send(get("/1") + get("/2"));
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(client->read_until("0\r\n\r\n"), EndsWith("\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"));
}

TEST_P(ServerTest, StreamsToHttpOneDotZeroUntilTheClose) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    auto stream = exchange->stream({});
    stream->write(Piece::literal("raw bytes"));
    stream->finish();
  };
  start();
  auto client = connect();
  client->send("GET / HTTP/1.0\r\n\r\n");
  const std::string answer = client->read_all();
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nraw bytes"));
}

TEST_P(ServerTest, OneEventReachesManyStreams) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Stream>> streams;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    std::lock_guard lock(mutex);
    streams.push_back(exchange->stream({}));
  };
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(connect());
    clients.back()->send(get("/watch"));
    clients.back()->read_until("\r\n\r\n");
  }
  const auto event = Piece::of(std::string(3000, 'e'));
  for (auto& stream : streams)
    for (int i = 0; i < 3; ++i) stream->write(event);
  for (auto& stream : streams) stream->finish();
  for (auto& client : clients) {
    const std::string body = client->read_until("0\r\n\r\n");
    EXPECT_EQ(std::count(body.begin(), body.end(), 'e'), 9000);
  }
}

TEST_P(ServerTest, TellsThatTheClientOfAStreamWentAway) {
  for (const bool reset : {false, true}) {
    std::promise<std::shared_ptr<Stream>> started;
    std::promise<void> gone;
    handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
      started.set_value(exchange->stream({}));
      exchange->on_close([&] { gone.set_value(); });
    };
    if (!server_) start();
    auto client = connect();
    client->send(get("/watch"));
    auto stream = started.get_future().get();
    client->read_until("\r\n\r\n");
    reset ? client->reset() : client->close();
    gone.get_future().wait();
    EXPECT_FALSE(stream->write(Piece::literal("nobody listens")));
  }
}

TEST_P(ServerTest, TellsThatTheClientOfAPendingRequestWentAway) {
  std::promise<std::shared_ptr<Exchange>> asked;
  std::promise<void> gone;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    exchange->on_close([&] { gone.set_value(); });
    asked.set_value(std::move(exchange));
  };
  start();
  auto client = connect();
  client->send(get("/"));
  auto exchange = asked.get_future().get();
  client->reset();
  gone.get_future().wait();
  exchange->respond({.body = "into the void"});
  std::promise<void> told_late;
  exchange->on_close([&] { told_late.set_value(); });
  told_late.get_future().wait();
}

TEST_P(ServerTest, CutsAStreamWhoseClientDoesNotKeepUp) {
  std::promise<std::shared_ptr<Stream>> started;
  std::promise<void> gone;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    started.set_value(exchange->stream({}));
    exchange->on_close([&] { gone.set_value(); });
  };
  constexpr std::size_t kLimit = 1u << 20;
  start({.max_stream_pending = kLimit});
  auto client = connect(4096);
  client->send(get("/watch"));
  auto stream = started.get_future().get();
  const auto piece = Piece::of(std::string(1000, 'x'));
  while (stream->write(piece)) EXPECT_LE(stream->pending_bytes(), kLimit + 1000 + 100'000);
  gone.get_future().wait();
  EXPECT_EQ(stream->pending_bytes(), 0u);
}

TEST_P(ServerTest, AnAbortedStreamIsNotMistakenForAWholeAnswer) {
  std::promise<std::shared_ptr<Stream>> started;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    started.set_value(exchange->stream({}));
  };
  start();
  auto client = connect();
  client->send(get("/"));
  auto stream = started.get_future().get();
  stream->write(Piece::literal("half"));
  client->read_until("half\r\n");
  stream->abort();
  EXPECT_EQ(client->read_all(), "");
}

TEST_P(ServerTest, ARequestBehindAStreamWaitsForItsTurn) {
  std::promise<std::shared_ptr<Stream>> started;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/second") return exchange->respond({.body = "second"});
    started.set_value(exchange->stream({}));
  };
  start();
  auto client = connect();
  client->send(get("/first") + get("/second"));
  auto stream = started.get_future().get();
  stream->write(Piece::literal("first"));
  client->read_until("first\r\n");
  stream->finish();
  EXPECT_EQ(client->read(5), "0\r\n\r\n");
  EXPECT_THAT(client->read_answer(), EndsWith("second"));
}

TEST_P(ServerTest, StopLetsARequestFinishAndClosesIdleConnections) {
  std::promise<std::shared_ptr<Exchange>> asked;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    if (exchange->request().path == "/idle") return exchange->respond({.body = "x"});
    asked.set_value(std::move(exchange));
  };
  start();
  // One idle connection on each of the two loops: when both are closed, both loops have received
  // the stop.
  std::unique_ptr<TestClient> idle[] = {connect(), connect()};
  for (auto& one : idle) {
    one->send(get("/idle"));
    one->read_answer();
  }
  auto busy = connect();
  busy->send(get("/busy"));
  auto exchange = asked.get_future().get();
  std::thread stopper([&] { server_->stop(std::chrono::minutes(10)); });
  for (auto& one : idle) EXPECT_TRUE(one->closed_by_peer());
  exchange->respond({.body = "finished"});
  const std::string answer = busy->read_answer();
  EXPECT_THAT(answer, EndsWith("finished"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(busy->closed_by_peer());
  busy->close();
  stopper.join();
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_P(ServerTest, StopCutsWhatIsLeftWhenTheGraceIsOver) {
  std::promise<std::shared_ptr<Stream>> started;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    started.set_value(exchange->stream({}));
  };
  start();
  auto client = connect();
  client->send(get("/watch"));
  auto stream = started.get_future().get();
  client->read_until("\r\n\r\n");
  server_->stop(milliseconds(0));
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_TRUE(client->closed_by_peer());
  EXPECT_FALSE(stream->write(Piece::literal("x")));
}

TEST_P(ServerTest, KnowsItsPeer) {
  std::promise<std::shared_ptr<const net::Peer>> met;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    met.set_value(exchange->request().peer);
    exchange->respond({});
  };
  start();
  auto client = connect();
  client->send(get("/"));
  const auto peer = met.get_future().get();
  EXPECT_EQ(peer->address, "127.0.0.1");
  EXPECT_NE(peer->port, 0);
  EXPECT_EQ(peer->tls, GetParam());
}

TEST_P(ServerTest, ManyClientsAtOnceGetTheirOwnAnswers) {
  start();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        auto client = connect();
        for (int i = 0; i < 20; ++i) {
          client->send(get(cat("/", t, "/", round, "/", i)));
          if (!client->read_answer().ends_with(cat("GET /", t, "/", round, "/", i, " "))) ++wrong;
        }
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(TlsServer, TellsAClientThatSpeaksPlainHttp) {
  net::Loops loops(1);
  TestHandler handler;
  Server server(loops, handler);
  const auto identity = net::testing::issue({.subject = {{"CN", "server"}}});
  const auto tls = *net::TlsServer::make(
      {.certificates = identity.certificate_pem(), .key = identity.key_pem()});
  const auto port = server.listen("127.0.0.1", 0, tls);
  TestClient client(*port);
  client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_THAT(client.read_all(), HasSubstr("Client sent an HTTP request to an HTTPS server.\n"));
}

}  // namespace
}  // namespace cardea::http

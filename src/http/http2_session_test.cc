// HTTP/2 as clients see it. The attacks on it are in http2_abuse_test.cc.
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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Http2Client;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TestClient;

// Every test runs over plain TCP and over TLS.
class Http2Test : public testing::Http2Server, public ::testing::WithParamInterface<bool> {
 protected:
  void start(ServerOptions options = {}) { Http2Server::start(options, GetParam()); }
  std::unique_ptr<Http2Client> connect(Http2Client::Options options = {}) {
    options.tls = GetParam();
    return std::make_unique<Http2Client>(port_, options);
  }
};

INSTANTIATE_TEST_SUITE_P(Transport, Http2Test, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Tls" : "Plain"; });

TEST_P(Http2Test, AnswersSeveralRequestsOnOneConnection) {
  start();
  auto client = connect();
  for (const std::string path : {"/a", "/b", "/c"}) {
    const auto answer = client->get(path);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, cat("GET ", path, " "));
    EXPECT_EQ(answer.headers.at("content-length"), std::to_string(answer.body.size()));
    EXPECT_THAT(answer.headers.at("date"), HasSubstr(" GMT"));
    EXPECT_EQ(answer.closed_by, 0u);
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_P(Http2Test, ServesHttp1OnTheSamePort) {
  start();
  TestClient client(port_, GetParam(), 0, "http/1.1");
  client.send("GET /old HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(client.protocol(), GetParam() ? "http/1.1" : "");
}

TEST_P(Http2Test, RecognisesAPrefaceThatComesByteByByte) {
  start();
  auto client = connect();
  const std::uint8_t* data = nullptr;
  const auto id = [&] {
    const nghttp2_nv fields[] = {{(std::uint8_t*)":method", (std::uint8_t*)"GET", 7, 3, 0},
                                 {(std::uint8_t*)":scheme", (std::uint8_t*)"https", 7, 5, 0},
                                 {(std::uint8_t*)":path", (std::uint8_t*)"/slow", 5, 5, 0},
                                 {(std::uint8_t*)":authority", (std::uint8_t*)"t", 10, 1, 0}};
    return nghttp2_submit_request(client->session, nullptr, fields, 4, nullptr, nullptr);
  }();
  while (const auto size = nghttp2_session_mem_send(client->session, &data))
    for (ssize_t i = 0; i < size; ++i)
      client->wire.send({reinterpret_cast<const char*>(data) + i, 1});
  EXPECT_EQ(client->answer(id).body, "GET /slow ");
}

TEST_P(Http2Test, TellsTheHandlerWhatWasAsked) {
  std::promise<Request> asked;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    asked.set_value(exchange->request());
    exchange->respond({});
  };
  start();
  auto client = connect();
  client->answer(client->request(
      "PATCH", "/a%20b?x=1&y", {{"cookie", "a=1"}, {"accept", "x/y"}, {"cookie", "b=2"}}, "body"));
  const Request request = asked.get_future().get();
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/a%20b?x=1&y");
  EXPECT_EQ(request.path, "/a%20b");
  EXPECT_EQ(request.query, "x=1&y");
  EXPECT_EQ(request.body, "body");
  EXPECT_THAT(request.headers.get_all("host"), ElementsAre("t"));
  EXPECT_THAT(request.headers.get_all("cookie"), ElementsAre("a=1; b=2"));
  EXPECT_EQ(request.headers.get("Accept"), "x/y");
  EXPECT_EQ(request.peer->address, "127.0.0.1");
  EXPECT_EQ(request.peer->tls, GetParam());
}

TEST_P(Http2Test, TakesLargeBodiesAndSendsLargeAnswersUnharmed) {
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
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 10; ++i)
    ids.push_back(
        client->request("PUT", "/", {{"content-length", std::to_string(body.size())}}, body));
  for (const auto id : ids) EXPECT_TRUE(client->answer(id).body == body + "tail") << id;
}

TEST_P(Http2Test, AnswersManyStreamsAtOnceFromOtherThreads) {
  handler_.answer = [](std::shared_ptr<Exchange> exchange) {
    std::thread([exchange] {
      exchange->respond({.body = cat("late ", exchange->request().path)});
    }).detach();
  };
  start();
  auto client = connect();
  for (int round = 0; round < 5; ++round) {
    std::map<std::int32_t, std::string> asked;
    for (int i = 0; i < 50; ++i) {
      const std::string path = cat("/", round, "/", i);
      asked[client->request("GET", path)] = path;
    }
    for (const auto& [id, path] : asked) EXPECT_EQ(client->answer(id).body, cat("late ", path));
  }
}

TEST_P(Http2Test, AnswersHeadWithoutABodyAndNoContentWithoutALength) {
  start();
  auto client = connect();
  const auto head = client->answer(client->request("HEAD", "/a"));
  EXPECT_EQ(head.headers.at("content-length"), "8");
  EXPECT_EQ(head.body, "");
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.status = 204});
  };
  EXPECT_EQ(client->get("/").headers.count("content-length"), 0u);
}

TEST_P(Http2Test, AHeaderValueIsCleanedAndItsNameInLowerCase) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.headers = {{"X-Warning", " a\r\nSet-Cookie: x "}, {"Upgrade", "x"}}});
  };
  start();
  auto client = connect();
  const auto answer = client->get("/");
  EXPECT_EQ(answer.headers.at("x-warning"), "a  Set-Cookie: x");
  EXPECT_EQ(answer.headers.count("upgrade"), 0u);
}

TEST_P(Http2Test, ConnectionCloseBecomesAGoawayAndLetsOpenStreamsEnd) {
  std::promise<std::shared_ptr<Exchange>> waiting;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    if (exchange->request().path == "/wait") return waiting.set_value(std::move(exchange));
    exchange->respond({.status = 401, .headers = {{"Connection", "close"}}, .body = "who?"});
  };
  start();
  auto client = connect();
  const auto open = client->request("GET", "/wait");
  auto exchange = waiting.get_future().get();
  const auto refused = client->answer(client->request("GET", "/"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.body, "who?");
  EXPECT_EQ(refused.headers.count("connection"), 0u);
  client->read_until([&] { return client->goaway.has_value(); });
  EXPECT_EQ(client->goaway, 0u);
  exchange->respond({.body = "still here"});
  EXPECT_EQ(client->answer(open).body, "still here");
  while (client->read()) {
  }
}

TEST_P(Http2Test, ByChanceARequestIsTheLastOfItsConnection) {
  start({.goaway_chance = 1});
  auto client = connect();
  const auto answer = client->get("/a");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /a ") << "its answer is whole";
  while (client->read()) {
  }
  EXPECT_EQ(client->goaway, 0u);
}

TEST_P(Http2Test, AnAnswerToAStrangerIsTheLastOfItsConnection) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->request().from_stranger = exchange->request().path == "/stranger";
    exchange->respond({.body = "hello"});
  };
  start();
  auto client = connect();
  EXPECT_EQ(client->get("/").body, "hello");
  EXPECT_FALSE(client->goaway);
  EXPECT_EQ(client->get("/stranger").body, "hello");
  while (client->read()) {
  }
  EXPECT_EQ(client->goaway, 0u);
}

TEST_P(Http2Test, ABodyThatIsTooLargeEndsItsStreamAndNotTheConnection) {
  start({.max_body = 1000, .linger_timeout = milliseconds(20)});
  auto client = connect();
  const auto announced = client->closed(
      client->request("POST", "/", {{"content-length", "300000"}}, "x", false));
  EXPECT_EQ(announced.status, 413);
  EXPECT_TRUE(announced.ended);
  EXPECT_EQ(announced.closed_by, 0u);
  const auto sent = client->closed(client->request("POST", "/", {}, std::string(3000, 'x'), false));
  EXPECT_EQ(sent.status, 413);
  EXPECT_EQ(client->get("/next").status, 200);
  EXPECT_FALSE(client->goaway);
}

TEST_P(Http2Test, ABodyThatNobodyWantsEndsItsStreamAndNotTheConnection) {
  handler_.wants = false;
  std::atomic<bool> withheld{false};
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    withheld = exchange->request().body_withheld;
    exchange->respond({.status = 403, .body = "no"});
  };
  start({.linger_timeout = milliseconds(20)});
  auto client = connect();
  const auto id = client->request("POST", "/", {{"content-length", "3000000"}}, {}, false);
  const auto answer = client->closed(id);
  EXPECT_EQ(answer.status, 403);
  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(answer.closed_by, 0u);
  EXPECT_TRUE(withheld);
  EXPECT_EQ(client->get("/next").status, 403);
}

TEST_P(Http2Test, ABodyThatIsWithheldLaterIsNotWaitedFor) {
  handler_.on_head = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->loop().post([exchange] { exchange->withhold_body(); });
  };
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.status = exchange->request().body_withheld ? 403 : 200, .body = "no"});
  };
  start({.linger_timeout = milliseconds(20)});
  auto client = connect();
  const auto id = client->request("POST", "/", {{"content-length", "3000000"}}, {}, false);
  EXPECT_EQ(client->closed(id).status, 403);
  EXPECT_EQ(client->get("/next").status, 200);
  // Over HTTP/1 the connection ends with the answer.
  TestClient old(port_, GetParam(), 0, "http/1.1");
  old.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3000000\r\n\r\nabc");
  EXPECT_THAT(old.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 403"));
}

TEST_P(Http2Test, ABodyThatIsWithheldAfterItsClientHasLeftHarmsNobody) {
  std::shared_ptr<Exchange> kept;
  std::promise<void> is_known;
  handler_.on_head = [&](const std::shared_ptr<Exchange>& exchange) {
    kept = exchange;
    is_known.set_value();
  };
  start();
  {
    TestClient old(port_, GetParam(), 0, "http/1.1");
    old.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\nabc");
    is_known.get_future().wait();
  }
  while (server_->connections() > 0) std::this_thread::yield();
  std::promise<void> is_done;
  kept->loop().post([&] {
    kept->withhold_body();
    kept.reset();
    is_done.set_value();
  });
  is_done.get_future().wait();
}

TEST_P(Http2Test, AClientThatEndsItsUnwantedBodyIsNotReset) {
  handler_.wants = false;
  start({.linger_timeout = std::chrono::minutes(10)});
  auto client = connect();
  const auto id = client->request("POST", "/", {}, {}, false);
  EXPECT_TRUE(client->answer(id).ended);
  EXPECT_FALSE(client->answers[id].closed_by);
  client->send_body(id, "late", true);
  EXPECT_EQ(client->closed(id).closed_by, 0u);
}

TEST_P(Http2Test, WhatIsSentOfAnUnwantedBodyDoesNotUseUpTheConnection) {
  handler_.wants = false;
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    std::lock_guard lock(mutex);
    exchanges.push_back(std::move(exchange));
  };
  start();
  auto client = connect();
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(client->request("POST", "/", {}, {}, false));
  // More than the connection's window in sum.
  for (const auto id : ids) client->send_body(id, std::string(256 * 1024, 'x'), false);
  client->read_until([&] {
    return std::all_of(ids.begin(), ids.end(), [&](auto id) { return client->body_left(id) == 0; });
  });
  for (auto& exchange : exchanges) exchange->respond({.body = "ok"});
  for (const auto id : ids) EXPECT_EQ(client->answer(id).body, "ok");
}

TEST_P(Http2Test, DoesNotAskAboutABodyThatIsHere) {
  handler_.wants = false;
  start();
  auto client = connect();
  client->get("/");
  // Head and body in one write.
  client->wire.send(testing::frame(1, 4, 3, "\x83\x87\x84\x41\x01t") +
                    testing::frame(0, 1, 3, "whole"));
  EXPECT_THAT(client->wire.read_until("whole"), HasSubstr("POST / whole"));
}

TEST_P(Http2Test, AsksForTheBodyWhenTheClientWaitsToBeAsked) {
  start();
  auto client = connect();
  const auto id = client->request("PUT", "/", {{"expect", "100-continue"}}, {}, false);
  client->read_until([&] { return !client->answers[id].interim.empty(); });
  EXPECT_THAT(client->answers[id].interim, ElementsAre(100));
  client->send_body(id, "abc", true);
  EXPECT_EQ(client->answer(id).body, "PUT / abc");
  EXPECT_EQ(client->answer(client->request("PUT", "/", {{"expect", "tea"}}, "x")).status, 417);
}

TEST_P(Http2Test, IgnoresTrailers) {
  std::promise<bool> has_trailer;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    has_trailer.set_value(exchange->request().headers.has("x-late"));
    exchange->respond({.body = exchange->request().body});
  };
  start();
  auto client = connect();
  const auto id = client->request("PUT", "/", {}, "abc", false);
  const nghttp2_nv late = {(std::uint8_t*)"x-late", (std::uint8_t*)"1", 6, 1, 0};
  nghttp2_submit_headers(client->session, NGHTTP2_FLAG_END_STREAM, id, nullptr, &late, 1, nullptr);
  EXPECT_EQ(client->answer(id).body, "abc");
  EXPECT_FALSE(has_trailer.get_future().get());
}

TEST_P(Http2Test, MalformedRequestsEndTheirStreamAlone) {
  start();
  auto client = connect();
  const Http2Client::Fields good = {
      {":method", "GET"}, {":scheme", "https"}, {":path", "/"}, {":authority", "t"}};
  auto with = [&](std::pair<std::string, std::string> more) {
    auto fields = good;
    fields.push_back(std::move(more));
    return fields;
  };
  const Http2Client::Fields bad[] = {
      with({"connection", "close"}),
      with({"transfer-encoding", "chunked"}),
      with({"upgrade", "websocket"}),
      with({"te", "gzip"}),
      with({":path", "/twice"}),
      with({"x-name", "a\nb"}),
      with({"impersonate user", "a"}),
      with({"x-space", " a"}),
      with({"content-length", "5"}),
      with({"content-length", "x"}),
      {{":method", "GET"}, {":scheme", "https"}, {":authority", "t"}},
      {{":method", "GET"}, {":scheme", "https"}, {":path", "/"}},
      {{":method", "GET"}, {":scheme", "https"}, {":path", "no-slash"}, {":authority", "t"}},
  };
  for (const auto& fields : bad)
    EXPECT_EQ(client->closed(client->send_fields(fields)).closed_by, NGHTTP2_PROTOCOL_ERROR)
        << fields.back().first << ": " << fields.back().second;
  const auto wrong_length = client->request("PUT", "/", {{"content-length", "5"}}, "four");
  EXPECT_EQ(client->closed(wrong_length).closed_by, NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(client->get("/next").body, "GET /next ");
}

TEST_P(Http2Test, RefusesWhatHttp1RefusesInPlainText) {
  start();
  auto client = connect();
  client->get("/");  // its sender is known from here on
  for (const std::string path : {"/%zz", "/a%2"}) {
    const auto answer = client->get(path);
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(answer.body, "400 Bad Request");
  }
  EXPECT_EQ(client->answer(client->request("GET", "/", {{"host", "other"}})).status, 400);
  EXPECT_EQ(client->answer(client->request("GET", "/", {{"host", "t"}})).status, 200);
  EXPECT_EQ(
      client->answer(client->send_fields({{":method", "CONNECT"}, {":authority", "t:1"}})).status,
      405);
}

TEST_P(Http2Test, AMalformedRequestOfAStrangerIsTheLastOfItsConnection) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->request().from_stranger = exchange->request().path == "/stranger";
    exchange->respond({});
  };
  start();
  for (const std::string first : {"", "/stranger", "/friend"}) {
    auto client = connect();
    if (!first.empty()) EXPECT_EQ(client->get(first).status, 200);
    if (first == "/stranger") {
      EXPECT_TRUE(client->goaway.has_value());
      continue;
    }
    EXPECT_EQ(client->get("/%zz").status, 400);
    client->round_trip();
    EXPECT_EQ(client->goaway.has_value(), first.empty()) << first;
  }
}

TEST_P(Http2Test, RefusesAHeadOverTheLimitAndGoesOn) {
  start();
  auto client = connect();
  client->get("/");
  Http2Client::Fields many;
  for (int i = 0; i < 70; ++i) many.push_back({cat("x-", i), std::string(15'500, 'x')});
  const auto answer = client->answer(client->request("GET", "/", many));
  EXPECT_EQ(answer.status, 431);
  EXPECT_EQ(answer.body, "431 Request Header Fields Too Large");
  EXPECT_EQ(client->get("/next").status, 200);
}

TEST_P(Http2Test, TakesAHeadUpToTheLimit) {
  std::promise<std::size_t> groups;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    groups.set_value(exchange->request().headers.get_all("impersonate-group").size());
    exchange->respond({});
  };
  start();
  auto client = connect();
  Http2Client::Fields many;
  for (int i = 0; i < 1'500; ++i) many.push_back({"impersonate-group", cat("group-", i)});
  EXPECT_EQ(client->answer(client->request("GET", "/", many)).status, 200);
  EXPECT_EQ(groups.get_future().get(), 1'500u);
}

TEST_P(Http2Test, StreamsPiecesUntilFinishedBesideOtherRequests) {
  std::promise<std::shared_ptr<Stream>> started;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path != "/watch") return exchange->respond({.body = "next"});
    started.set_value(
        exchange->stream({.headers = {{"Content-Type", "application/json"}}, .body = "zero\n"}));
  };
  start();
  auto client = connect();
  const auto id = client->request("GET", "/watch");
  auto stream = started.get_future().get();
  EXPECT_EQ(client->body(id, 5).body, "zero\n");
  EXPECT_EQ(client->answers[id].headers.count("content-length"), 0u);
  EXPECT_TRUE(stream->write(Piece::of(std::string("first\n"))));
  EXPECT_EQ(client->body(id, 11).body, "zero\nfirst\n");
  EXPECT_EQ(client->get("/next").body, "next");
  EXPECT_TRUE(stream->write(Piece::of(std::string(50'000, 'x'))));
  EXPECT_EQ(client->body(id, 50'011).body.size(), 50'011u);
  EXPECT_FALSE(client->answers[id].ended);
  stream->finish();
  EXPECT_TRUE(client->answer(id).ended);
  EXPECT_FALSE(stream->write(Piece::literal("too late")));
}

TEST_P(Http2Test, AStreamBegunAndFinishedByTheHandlerItselfArrivesWhole) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    auto stream = exchange->stream({.body = "a"});
    stream->write(Piece::literal("b"));
    stream->finish();
  };
  start();
  auto client = connect();
  EXPECT_EQ(client->get("/").body, "ab");
  const auto head = client->answer(client->request("HEAD", "/"));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.status, 200);
}

TEST_P(Http2Test, OneEventReachesManyStreams) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Stream>> streams;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    std::lock_guard lock(mutex);
    streams.push_back(exchange->stream({}));
  };
  start();
  auto client = connect();
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(client->request("GET", "/watch"));
  for (const auto id : ids) client->head(id);
  const auto event = Piece::of(std::string(3000, 'e'));
  for (auto& stream : streams)
    for (int i = 0; i < 3; ++i) stream->write(event);
  for (auto& stream : streams) stream->finish();
  for (const auto id : ids) EXPECT_EQ(client->answer(id).body, std::string(9000, 'e'));
}

TEST_P(Http2Test, TellsThatAStreamWasResetOrItsConnectionEnded) {
  for (const bool whole_connection : {false, true}) {
    std::promise<std::shared_ptr<Stream>> started;
    std::promise<void> gone;
    handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
      started.set_value(exchange->stream({}));
      exchange->on_close([&] { gone.set_value(); });
    };
    if (!server_) start();
    auto client = connect();
    const auto id = client->request("GET", "/watch");
    auto stream = started.get_future().get();
    client->head(id);
    whole_connection ? client->wire.close() : client->reset(id);
    gone.get_future().wait();
    EXPECT_FALSE(stream->write(Piece::literal("nobody listens")));
  }
}

TEST_P(Http2Test, TellsThatTheClientOfAPendingRequestWentAway) {
  std::promise<std::shared_ptr<Exchange>> asked;
  std::promise<void> gone;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    exchange->on_close([&] { gone.set_value(); });
    asked.set_value(std::move(exchange));
  };
  start();
  auto client = connect();
  const auto id = client->request("GET", "/");
  auto exchange = asked.get_future().get();
  client->reset(id);
  gone.get_future().wait();
  exchange->respond({.body = "into the void"});
  std::promise<void> told_late;
  exchange->on_close([&] { told_late.set_value(); });
  told_late.get_future().wait();
}

TEST_P(Http2Test, AWatcherThatDoesNotReadLosesItsStreamAndNotItsConnection) {
  std::promise<std::shared_ptr<Stream>> started;
  std::promise<void> gone;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path != "/watch") return exchange->respond({.body = "next"});
    started.set_value(exchange->stream({}));
    exchange->on_close([&] { gone.set_value(); });
  };
  constexpr std::size_t kLimit = 1u << 20;
  start({.max_stream_pending = kLimit});
  auto client = connect({.gives_windows = false});
  const auto id = client->request("GET", "/watch");
  auto stream = started.get_future().get();
  const auto piece = Piece::of(std::string(1000, 'x'));
  // What the loop takes over just now is not counted for a moment, and may come on top.
  while (stream->write(piece)) EXPECT_LE(stream->pending_bytes(), 2 * kLimit);
  gone.get_future().wait();
  EXPECT_EQ(stream->pending_bytes(), 0u);
  EXPECT_EQ(client->closed(id).closed_by, NGHTTP2_INTERNAL_ERROR);
  // The window of the connection is used up as well; a client that goes on opens it.
  nghttp2_session_consume_connection(client->session, 65'535);
  EXPECT_EQ(client->get("/next").body, "next");
}

TEST_P(Http2Test, OneSlowStreamHoldsUpNoOther) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path != "/large") return exchange->respond({.body = "small"});
    exchange->respond({.body = std::string(20u << 20, 'x')});
  };
  start();
  // It never lets a stream send more than this, and the connection all it likes.
  auto client = connect(
      {.gives_windows = false, .settings = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 20'000}}});
  nghttp2_session_set_local_window_size(client->session, 0, 0, 1 << 30);
  const auto large = client->request("GET", "/large");
  client->body(large, 20'000);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client->get("/").body, "small");
  EXPECT_EQ(client->answers[large].body.size(), 20'000u);
}

TEST_P(Http2Test, SmallAnswersDoNotWaitBehindLargeOnes) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path != "/large") return exchange->respond({.body = "small"});
    exchange->respond({.body = std::string(48u << 20, 'x')});
  };
  start();
  auto client = connect(
      {.receive_buffer = 65'536, .settings = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7fffffff}}});
  nghttp2_session_set_local_window_size(client->session, 0, 0, 0x7fffffff);
  const auto large = client->request("GET", "/large");
  client->body(large, 1);
  const auto small = client->request("GET", "/");
  client->answer(small);
  EXPECT_LT(client->answers[large].body.size(), 24u << 20);  // half of it: sockets hold some too
  client->reset(large);
}

TEST_P(Http2Test, AnAbortedStreamIsNotMistakenForAWholeAnswer) {
  std::promise<std::shared_ptr<Stream>> started;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/next") return exchange->respond({});
    started.set_value(exchange->stream({}));
  };
  start();
  auto client = connect();
  const auto id = client->request("GET", "/");
  auto stream = started.get_future().get();
  stream->write(Piece::literal("half"));
  client->body(id, 4);
  stream->abort();
  const auto& answer = client->closed(id);
  EXPECT_FALSE(answer.ended);
  EXPECT_EQ(answer.closed_by, NGHTTP2_INTERNAL_ERROR);
  EXPECT_EQ(client->get("/next").status, 200);
}

TEST_P(Http2Test, StopSendsGoawayLetsStreamsEndAndClosesIdleConnections) {
  std::promise<std::shared_ptr<Exchange>> asked;
  handler_.answer = [&](std::shared_ptr<Exchange> exchange) {
    if (exchange->request().path == "/idle") return exchange->respond({.body = "x"});
    asked.set_value(std::move(exchange));
  };
  start();
  std::unique_ptr<Http2Client> idle[] = {connect(), connect()};
  for (auto& one : idle) one->get("/idle");
  auto busy = connect();
  const auto id = busy->request("GET", "/busy");
  auto exchange = asked.get_future().get();
  std::thread stopper([&] { server_->stop(std::chrono::minutes(10)); });
  for (auto& one : idle) {
    while (one->read()) {
    }
    EXPECT_EQ(one->goaway, 0u);
  }
  busy->read_until([&] { return busy->goaway.has_value(); });
  EXPECT_EQ(busy->last_stream, id);
  exchange->respond({.body = "finished"});
  EXPECT_EQ(busy->answer(id).body, "finished");
  while (busy->read()) {
  }
  busy->wire.close();
  stopper.join();
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_P(Http2Test, StopCutsWhatIsLeftWhenTheGraceIsOver) {
  std::promise<std::shared_ptr<Stream>> started;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    started.set_value(exchange->stream({}));
  };
  start();
  auto client = connect();
  const auto id = client->request("GET", "/watch");
  auto stream = started.get_future().get();
  client->head(id);
  server_->stop(milliseconds(0));
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_FALSE(stream->write(Piece::literal("x")));
}

TEST_P(Http2Test, ClosesAnIdleConnectionWithAGoaway) {
  start({.idle_timeout = milliseconds(30)});
  auto client = connect();
  client->get("/");
  while (client->read()) {
  }
  EXPECT_EQ(client->goaway, 0u);
}

TEST_P(Http2Test, ClosesAConnectionThatNeverSaysAnything) {
  start({.header_timeout = milliseconds(30)});
  TestClient client(port_, GetParam(), 0, "h2");
  client.read_all();
}

TEST_P(Http2Test, ClosesOnAClientThatIsSlowWithItsHead) {
  start({.header_timeout = milliseconds(30)});
  auto client = connect();
  client->get("/");
  client->wire.send(testing::frame(1, 1, 3, testing::kGet));  // its end never comes
  while (client->read()) {
  }
  EXPECT_TRUE(client->goaway);
}

TEST_P(Http2Test, AnswersAClientThatIsSlowWithItsBody) {
  start({.body_timeout = milliseconds(30), .linger_timeout = milliseconds(20)});
  auto client = connect();
  const auto answer = client->closed(
      client->request("PUT", "/", {{"content-length", "10"}}, "abc", false));
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(client->get("/next").status, 200);
}

TEST_P(Http2Test, TheAnswerToALateBodyCanBeChosen) {
  start(
      {.body_timeout = milliseconds(30), .late_body = "late", .linger_timeout = milliseconds(20)});
  auto client = connect();
  const auto answer = client->closed(
      client->request("PUT", "/", {{"content-length", "10"}}, "abc", false));
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(answer.body, "late");
}

TEST_P(Http2Test, ResetsAStreamWhoseClientTakesNothingForTooLong) {
  handler_.answer = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = exchange->request().path});
  };
  start({.write_timeout = milliseconds(50)});
  auto client = connect({.settings = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}}});
  const auto id = client->request("GET", "/stuck");
  EXPECT_EQ(client->closed(id).closed_by, NGHTTP2_CANCEL);
  EXPECT_EQ(client->answers[id].body, "");
  const nghttp2_settings_entry open[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65'535}};
  nghttp2_submit_settings(client->session, 0, open, 1);
  EXPECT_EQ(client->get("/next").body, "/next");
}

TEST_P(Http2Test, ClosesOnAClientThatDoesNotReadAtAll) {
  std::promise<void> gone;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    auto stream = exchange->stream({});
    exchange->on_close([&gone] { gone.set_value(); });
    stream->write(Piece::of(std::string(32u << 20, 'x')));
  };
  start({.write_timeout = milliseconds(50)});
  auto client = connect(
      {.receive_buffer = 4096, .settings = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7fffffff}}});
  nghttp2_session_set_local_window_size(client->session, 0, 0, 0x7fffffff);
  client->request("GET", "/");
  gone.get_future().wait();
}

TEST_P(Http2Test, PingsASilentClientAndClosesWhenItDoesNotAnswer) {
  std::promise<void> gone;
  handler_.answer = [&](const std::shared_ptr<Exchange>& exchange) {
    exchange->stream({});
    exchange->on_close([&gone] { gone.set_value(); });
  };
  start({.write_timeout = milliseconds(500), .ping_after = milliseconds(20)});
  auto client = connect();
  client->request("GET", "/watch");
  client->read_until([&] { return client->pings >= 3; });  // answered each time
  gone.get_future().wait();                                // and now not any more
}

TEST_P(Http2Test, ManyClientsAtOnceGetTheirOwnAnswers) {
  start();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        auto client = connect();
        std::map<std::int32_t, std::string> asked;
        for (int i = 0; i < 30; ++i) {
          const std::string path = cat("/", t, "/", round, "/", i);
          asked[client->request("GET", path)] = path;
        }
        for (const auto& [id, path] : asked)
          if (client->answer(id).body != cat("GET ", path, " ")) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Http2, IsNotSpokenOnAPlainPortUnlessTold) {
  net::Loops loops(1);
  testing::EchoHandler handler;
  Server server(loops, handler);
  const auto port = server.listen("127.0.0.1", 0);
  TestClient client(*port);
  client.send(testing::kPreface);
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 505 "));
}

}  // namespace
}  // namespace cardea::http

#include "http/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Event = RequestParser::Event;

// The result of parsing some bytes: one line per request, and the refusal if there is one.
struct Outcome {
  std::vector<std::string> requests;  // "GET /x body=..."
  int status = 0;
  std::string text;
};

Outcome parse(std::string_view bytes, std::size_t portion) {
  RequestParser parser;
  Request request;
  Outcome outcome;
  std::string body;
  for (std::size_t at = 0; at < bytes.size(); at += portion) {
    std::string fresh(bytes.substr(at, portion));
    std::string_view input = fresh;
    for (;;) {
      const Event event = parser.next(input, request);
      if (event == Event::kNeedMore) break;
      if (event == Event::kHead) body.clear();
      if (event == Event::kBody) body += parser.body();
      if (event == Event::kEnd)
        outcome.requests.push_back(
            cat(request.method, " ", request.path, " ", request.query, " ", body));
      if (event == Event::kError) {
        outcome.status = parser.error().status;
        outcome.text = parser.error().text;
        return outcome;
      }
    }
    EXPECT_TRUE(input.empty());
  }
  return outcome;
}

// The result is the same for every way to cut the bytes into pieces.
Outcome parse(std::string_view bytes) {
  const Outcome whole = parse(bytes, bytes.size());
  for (const std::size_t portion : {1u, 2u, 3u, 7u}) {
    const Outcome cut = parse(bytes, portion);
    EXPECT_EQ(cut.requests, whole.requests) << "in portions of " << portion;
    EXPECT_EQ(cut.status, whole.status) << "in portions of " << portion;
    EXPECT_EQ(cut.text, whole.text) << "in portions of " << portion;
  }
  return whole;
}

int refusal(std::string_view bytes) {
  const Outcome outcome = parse(bytes);
  EXPECT_TRUE(outcome.requests.empty()) << outcome.requests[0];
  return outcome.status;
}

TEST(RequestParser, ReadsARequestWithoutABody) {
  EXPECT_THAT(parse("GET /api/v1/pods?watch=1&limit=2 HTTP/1.1\r\nHost: a\r\n\r\n").requests,
              ElementsAre("GET /api/v1/pods watch=1&limit=2 "));
}

TEST(RequestParser, KeepsHeadersInOrderAndFindsThemWithoutCase) {
  RequestParser parser;
  Request request;
  std::string_view
      input = "GET / HTTP/1.1\r\nHost: a\r\nAccept: x\r\naccept:y \t\r\nEmpty:\r\n\r\n";
  ASSERT_EQ(parser.next(input, request), Event::kHead);
  EXPECT_EQ(request.headers.get("HOST"), "a");
  EXPECT_THAT(request.headers.get_all("Accept"), ElementsAre("x", "y"));
  EXPECT_TRUE(request.headers.has("empty"));
  EXPECT_FALSE(request.headers.has("emptyy"));
  EXPECT_EQ(request.headers.count(), 4u);
  std::vector<std::string> names;
  for (const auto& field : request.headers) names.emplace_back(field.name);
  EXPECT_THAT(names, ElementsAre("Host", "Accept", "accept", "Empty"));
}

TEST(RequestParser, ReadsPipelinedRequestsWithBodies) {
  EXPECT_THAT(parse("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
                    "PUT /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
                    "A;ext=\"1\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
                    "\r\nGET /c HTTP/1.1\r\nHost: a\r\n\r\n")
                  .requests,
              ElementsAre("POST /a  hello", "PUT /b  abc0123456789", "GET /c  "));
}

TEST(RequestParser, ALineOfTheHeadMayEndInLfAlone) {
  EXPECT_THAT(parse("GET / HTTP/1.1\nHost: a\n\nGET /b HTTP/1.1\r\nHost: a\n\r\n").requests,
              ElementsAre("GET /  ", "GET /b  "));
}

TEST(RequestParser, KeepAliveIsOneDotOneWithoutClose) {
  const auto keeps = [](std::string_view bytes) {
    RequestParser parser;
    Request request;
    EXPECT_EQ(parser.next(bytes, request), Event::kHead);
    return parser.keep_alive();
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: a\r\nConnection: TE, Close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
}

TEST(RequestParser, UnderstandsTheFourFormsOfATarget) {
  EXPECT_THAT(parse("GET https://h:1/a?b HTTP/1.1\r\nHost: h\r\n\r\n").requests,
              ElementsAre("GET /a b "));
  EXPECT_THAT(parse("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n").requests, ElementsAre("GET /  "));
  EXPECT_THAT(parse("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").requests, ElementsAre("OPTIONS *  "));
  EXPECT_THAT(parse("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n").requests,
              ElementsAre("CONNECT   "));
  for (const std::string target :
       {"a", "*", "ftp://h/", "://", "http:///x", "/%zz", "/%4", "/a\tb", "/\x7f", ""})
    EXPECT_EQ(refusal(cat("GET ", target, " HTTP/1.1\r\nHost: h\r\n\r\n")), 400) << target;
}

TEST(RequestParser, RefusesAHeadThatIsNotHttp) {
  for (const std::string_view head :
       {"GET\r\n\r\n", "GET /\r\n\r\n", " / HTTP/1.1\r\n\r\n", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / http/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
        "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"})
    EXPECT_EQ(refusal(head), 400) << head;
  EXPECT_EQ(refusal("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(refusal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
}

TEST(RequestParser, RefusesHeadersTwoReadersCouldReadDifferently) {
  for (const std::string_view line :
       {"Name : x", " Folded: x", "\tFolded: x", "No colon", ": x", "A\rB: x", "A: x\ry",
        "Na me: x", "N\xc3\xa4: x", "A: \x01", "A: \x7f"})
    EXPECT_EQ(refusal(cat("GET / HTTP/1.1\r\nHost: a\r\n", line, "\r\n\r\n")), 400) << line;
  using namespace std::string_view_literals;
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: a\r\nA: \0\r\n\r\n"sv), 400);
}

TEST(RequestParser, WantsExactlyOneHost) {
  EXPECT_EQ(parse("GET / HTTP/1.1\r\n\r\n").text, "missing required Host header");
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").text, "too many Host headers");
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n").text, "malformed Host header");
  EXPECT_EQ(parse("GET / HTTP/1.0\r\n\r\n").requests.size(), 1u);
}

TEST(RequestParser, RefusesSmuggledBodies) {
  for (const std::string_view lines :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3, 3", "Content-Length: +3", "Content-Length: -1", "Content-Length: 0x3",
        "Content-Length: ", "Content-Length: 99999999999999999999",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"})
    EXPECT_EQ(refusal(cat("POST / HTTP/1.1\r\nHost: a\r\n", lines, "\r\n\r\nabc")), 400) << lines;
  for (const std::string_view coding :
       {"gzip", "chunked, chunked", "identity", "chunked;x", "\x0b chunked", "xchunked"})
    EXPECT_GE(refusal(cat("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ", coding,
                          "\r\n\r\n0\r\n\r\n")),
              400)
        << coding;
  EXPECT_EQ(refusal("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_THAT(
      parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
          .requests,
      ElementsAre("POST /  abc"));
}

TEST(RequestParser, RefusesMalformedChunks) {
  for (const std::string_view chunks :
       {"x\r\n", "\r\n", " 3\r\nabc\r\n", "3\nabc\r\n", "3\r\nabcd\r\n", "3\r\nabc\n0\r\n\r\n",
        "-1\r\n", "0x3\r\nabc\r\n", "3 3\r\nabc\r\n", "3;a\nb\r\nabc\r\n", "fffffffffffffffff\r\n",
        "10000000000000000\r\n", "0\r\n\nGET", "0\r\nA: b\nGET", "3\r\rabc"})
    EXPECT_EQ(
        refusal(cat("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", chunks)),
        400)
        << chunks;
  const std::string long_extension(5000, 'x');
  EXPECT_EQ(refusal(cat("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;",
                        long_extension)),
            400);
}

TEST(RequestParser, RefusesAHeadOverTheLimit) {
  const std::string line = cat("A: ", std::string(2u << 20, 'x'));
  EXPECT_EQ(parse(cat("GET / HTTP/1.1\r\nHost: a\r\n", line, "\r\n\r\n"), 65536).status, 431);
  EXPECT_EQ(parse(cat("GET / HTTP/1.1\r\nHost: a\r\n", line, "\r\n\r\n"), 4u << 20).status, 431);
  EXPECT_EQ(parse(cat("GET /", std::string(2u << 20, 'x')), 65536).status, 431);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 20'000; ++i) many += "a:\r\n";
  EXPECT_EQ(parse(many + "\r\n", 65536).status, 431);
}

TEST(RequestParser, KnowsOneExpectation) {
  RequestParser parser;
  Request request;
  std::string_view
      input = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n";
  ASSERT_EQ(parser.next(input, request), Event::kHead);
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_TRUE(parser.has_body());
  EXPECT_EQ(refusal("PUT / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n"), 417);
}

TEST(RequestParser, KnowsWhetherItIsBetweenRequests) {
  RequestParser parser;
  Request request;
  EXPECT_TRUE(parser.between_requests());
  std::string_view input = "GET / HT";
  EXPECT_EQ(parser.next(input, request), Event::kNeedMore);
  EXPECT_FALSE(parser.between_requests());
  input = "TP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(parser.next(input, request), Event::kHead);
  EXPECT_FALSE(parser.between_requests());
  EXPECT_EQ(parser.next(input, request), Event::kEnd);
  EXPECT_TRUE(parser.between_requests());
}

TEST(Headers, CanBeReplacedAndRemoved) {
  Headers headers = {{"A", "1"}, {"B", "2"}, {"a", "3"}};
  headers.set("a", "4");
  EXPECT_THAT(headers.get_all("A"), ElementsAre("4"));
  headers.remove("b");
  EXPECT_EQ(headers.count(), 1u);
  headers.clear();
  EXPECT_TRUE(headers.empty());
  EXPECT_EQ(headers.get("A"), "");
}

TEST(Body, IsMadeOfPieces) {
  Body body;
  EXPECT_EQ(body.pieces(), 0u);
  body.add(Piece::literal(""));
  body.add(Piece::literal("ab"));
  body.add(Piece::of(std::string("cd")));
  EXPECT_EQ(body.pieces(), 2u);
  EXPECT_EQ(body.size(), 4u);
  EXPECT_EQ(body.text(), "abcd");
}

}  // namespace
TEST(RequestParser, SkipsSomeEmptyLinesAndRefusesAFlood) {
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  auto lines = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "\r\n";
    return out;
  };
  for (std::size_t portion : {std::size_t{1}, std::size_t{65536}}) {
    EXPECT_EQ(parse(request + lines(16) + request, portion).requests.size(), 2u);
    EXPECT_EQ(parse(lines(17) + request, portion).status, 400);
    EXPECT_EQ(parse(std::string(1000, '\n'), portion).status, 400);
  }
}

TEST(RequestParser, RefusesATargetThatIsTooLong) {
  auto with = [](std::size_t size) {
    return cat("GET /", std::string(size, 'x'), " HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  EXPECT_EQ(parse(with(100'000), 65536).status, 0);
  EXPECT_EQ(parse(with(140'000), 65536).status, 414);
}

}  // namespace cardea::http

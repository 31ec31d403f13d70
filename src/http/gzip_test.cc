#include "http/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <thread>

#include "base/strings.h"
#include "http/testing/http2_client.h"
#include "http/testing/http2_server.h"
#include "http/testing/test_client.h"

namespace cardea::http {
namespace {

using testing::TestClient;

std::string unpacked(std::string_view bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int outcome = Z_OK;
  while (outcome == Z_OK) {
    Bytef room[65'536];
    stream.next_out = room;
    stream.avail_out = sizeof room;
    outcome = inflate(&stream, Z_NO_FLUSH);
    out.append(reinterpret_cast<const char*>(room), sizeof room - stream.avail_out);
  }
  EXPECT_EQ(outcome, Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u);
  inflateEnd(&stream);
  return out;
}

// Text that is worth compressing and does not become nothing.
std::string list_of(std::size_t size) {
  std::string out;
  for (std::uint64_t i = 1; out.size() < size; ++i)
    out += cat("{\"name\":\"object-", i, "\",\"uid\":\"", i * 2'654'435'761u % 1'000'003, "\"}");
  out.resize(size);
  return out;
}

std::string without_chunks(std::string_view body) {
  std::string out;
  while (!body.empty()) {
    const auto size = std::stoul(std::string(body.substr(0, body.find('\r'))), nullptr, 16);
    body.remove_prefix(body.find('\n') + 1);
    out += body.substr(0, size);
    body.remove_prefix(size + 2);
    if (size == 0) break;
  }
  return out;
}

TEST(Gzip, UnpacksToWhatItWasMadeOf) {
  const std::string text = list_of(1'000'000);
  Gzip gzip;
  std::string packed;
  gzip.add(text.substr(0, 10), packed);
  gzip.add("", packed);
  gzip.add(text.substr(10), packed);
  gzip.finish(packed);
  EXPECT_LT(packed.size(), text.size() / 2);
  EXPECT_TRUE(unpacked(packed) == text);
}

TEST(Gzip, IsWantedByItsNameAndForLargeAnswersOnly) {
  const std::size_t large = 128 * 1024 + 1;
  for (const std::string_view yes : {"gzip", "deflate, gzip", "br,gzip,x"})
    EXPECT_TRUE(wants_gzip({{"Accept-Encoding", yes}}, large)) << yes;
  for (const std::string_view no : {"", "deflate", "gzip;q=1", "gzip;q=0", "GZIP", "*"})
    EXPECT_FALSE(wants_gzip({{"Accept-Encoding", no}}, large)) << no;
  EXPECT_FALSE(wants_gzip({{"Accept-Encoding", "gzip"}}, large - 1));
  EXPECT_FALSE(wants_gzip({}, large));
}

class CompressedAnswers : public testing::Http2Server {
 protected:
  void serve(std::size_t size, ServerOptions options = {}) {
    const std::string text = text_ = list_of(size);
    handler_.answer = [text](const std::shared_ptr<Exchange>& exchange) {
      if (exchange->request().path == "/small") return exchange->respond({.body = "small"});
      Body body(text.substr(0, 1'000));
      body.add(Piece::of(text.substr(1'000)));
      exchange->respond({.headers = {{"Content-Type", "text/x"}}, .body = body, .gzip = true});
    };
    start(options, false);
  }
  std::string text_;
};

TEST_F(CompressedAnswers, GoOutInChunksOverHttp1) {
  serve(3'000'000);
  TestClient client(port_);
  for (int i = 0; i < 2; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n");
    const std::string head = client.read_until("\r\n\r\n");
    EXPECT_NE(head.find("Content-Encoding: gzip\r\n"), head.npos) << head;
    EXPECT_NE(head.find("Vary: Accept-Encoding\r\n"), head.npos) << head;
    EXPECT_EQ(head.find("Content-Length"), head.npos) << head;
    EXPECT_TRUE(unpacked(without_chunks(client.read_until("\r\n0\r\n\r\n"))) == text_);
  }
}

TEST_F(CompressedAnswers, GoOutOverHttp10AndHttp2) {
  serve(1'000'000);
  TestClient old(port_);
  old.send("GET / HTTP/1.0\r\n\r\n");
  old.read_until("\r\n\r\n");
  EXPECT_TRUE(unpacked(old.read_all()) == text_);
  testing::Http2Client client(port_);
  const auto answer = client.get("/");
  EXPECT_EQ(answer.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(answer.headers.at("vary"), "Accept-Encoding");
  EXPECT_TRUE(unpacked(answer.body) == text_);
}

TEST_F(CompressedAnswers, OthersAreServedMeanwhile) {
  serve(20u << 20);
  testing::Http2Client client(port_);
  const auto large = client.request("GET", "/");
  client.head(large);
  // The same connection, so the same loop. It has far more to compress than fits in a window.
  const auto small = client.request("GET", "/small");
  EXPECT_EQ(client.answer(small).body, "small");
  EXPECT_FALSE(client.answers[large].ended);
  EXPECT_TRUE(unpacked(client.answer(large).body) == text_);
}

TEST_F(CompressedAnswers, AreNotMadeFasterThanTheyAreRead) {
  // All of it at once would be over the limit of what may wait for a client.
  serve(8u << 20, {.max_stream_pending = 512u << 10});
  TestClient client(port_, false, 4096);
  client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n");
  client.read_until("\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(unpacked(without_chunks(client.read_until("\r\n0\r\n\r\n"))) == text_);
}

TEST_F(CompressedAnswers, AClientThatSendsNoMoreGetsAllOfIt) {
  serve(5'000'000);
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n");
  client.half_close();
  client.read_until("\r\n\r\n");
  EXPECT_TRUE(unpacked(without_chunks(client.read_all())) == text_);
}

TEST_F(CompressedAnswers, AClientThatLeavesEndsTheWork) {
  serve(10u << 20);
  {
    TestClient client(port_, false, 4096);
    client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n");
    client.read_until("\r\n\r\n");
  }
  while (server_->connections() > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace cardea::http

// rooms: http
// Feeds the frames of a hostile server to a client's HTTP/2 session, over a real socket and loop,
// cut into portions as the first byte says. Every call must end exactly once.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

#include "http/http2_client_session.h"

namespace {

using namespace cardea;
using http::Pending;

class DropsAll final : public http::AnswerReader {
 public:
  void on_head(int, const http::Headers&) override {}
  bool on_data(std::string_view bytes) override { return bytes.size() % 3 != 0; }
  void on_end(const http::Headers&) override {}
  void on_failure(const Error&) override {}
};

class FuzzOwner final : public http::Http2ClientSession::Owner {
 public:
  int ended = 0;
  bool is_over = false;

  void on_answer(const std::shared_ptr<Pending>&, http::Answer answer) override {
    if (answer.status < 200 || answer.body.size() > 1'000) std::abort();
    ++ended;
  }
  void on_head(const std::shared_ptr<Pending>&) override {}
  void on_end(const std::shared_ptr<Pending>& pending, const http::Headers&) override {
    pending->flow->end();
    ++ended;
  }
  void on_failure(const std::shared_ptr<Pending>& pending, std::string why,
                  http::Http2ClientSession::Repeat) override {
    if (why.empty()) std::abort();
    if (pending->flow) pending->flow->end();
    ++ended;
  }
  void on_room(http::Http2ClientSession&) override {}
  void on_over(http::Http2ClientSession&) override {
    if (std::exchange(is_over, true)) std::abort();
  }
};

struct Nobody final : net::Connection::Owner {
  void on_ready() override {}
};

std::shared_ptr<Pending> make_call(net::Loop& loop, bool is_open) {
  auto pending = std::make_shared<Pending>();
  pending->call = {.method = "POST", .url = "http://t/", .body = "body"};
  pending->url = {.tls = false, .host = "t", .port = 80, .authority = "t", .target = "/"};
  if (is_open) pending->flow = std::make_shared<http::Flow>(loop, std::make_shared<DropsAll>());
  return pending;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);
  constexpr std::size_t kMost = 60'000;  // fits into the socket's buffer
  if (size < 1 || size > kMost) return 0;
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0) std::abort();
  const std::string bytes = std::string(kSettings) +
                            std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t portion = data[0] == 0 ? bytes.size() : data[0];

  net::Loop loop;
  FuzzOwner owner;
  constexpr int kCalls = 4;
  std::shared_ptr<http::Http2ClientSession> session;
  Nobody nobody;
  std::size_t sent = 0;
  auto feed = std::make_shared<std::function<void()>>();
  *feed = [&] {
    char drop[65'536];
    while (::recv(pair[1], drop, sizeof drop, 0) > 0) {
    }
    if (sent == bytes.size()) {
      ::shutdown(pair[1], SHUT_RDWR);
      loop.post([&] { loop.post([&] { loop.stop(); }); });
      return;
    }
    const std::size_t step = std::min(portion, bytes.size() - sent);
    if (::send(pair[1], bytes.data() + sent, step, MSG_NOSIGNAL) < 0) sent = bytes.size() - step;
    sent += step;
    loop.post([feed] { (*feed)(); });
  };
  loop.post([&] {
    auto connection = net::make_plain_connection(loop, net::Socket(pair[0]));
    if (!connection->start(nobody)) std::abort();
    session = std::make_shared<http::Http2ClientSession>(loop, owner, std::move(connection),
                                                         http::ClientOptions{.max_body = 1'000});
    session->start();
    for (int i = 0; i < kCalls; ++i) session->call(make_call(loop, i % 2));
  });
  loop.post([feed] { (*feed)(); });
  loop.run();
  if (owner.ended > kCalls || (owner.is_over && owner.ended != kCalls)) std::abort();
  session->close();
  session.reset();
  *feed = nullptr;
  ::close(pair[1]);
  return 0;
}

// rooms: http
// Feeds frames to a server's HTTP/2 session, over a real socket and loop, and cuts them into
// portions as the first byte says. Its handler answers in every way, also after the client has
// gone.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/session.h"

namespace {

using namespace cardea;
using http::Exchange;
using http::Piece;

// Answers in all the ways there are; the path chooses.
class FuzzHandler final : public http::Handler {
 public:
  void handle(std::shared_ptr<Exchange> exchange) override {
    const std::string& path = exchange->request().path;
    switch (path.size() > 1 ? path[1] : '/') {
      case 's': {
        auto stream = exchange->stream({.body = "first"});
        stream->write(Piece::of(std::string(5'000, 'x')));
        return stream->finish();
      }
      case 'w':
        streams_.push_back(exchange->stream({}));
        streams_.back()->write(Piece::literal("event"));
        return exchange->on_close([] {});
      case 'a':
        return exchange->stream({})->abort();
      case 'h':
        return held_.push_back(std::move(exchange));
      case 'c':
        return exchange->respond({.status = 401, .headers = {{"Connection", "close"}}});
      default:
        return exchange->respond({.body = exchange->request().body});
    }
  }
  bool wants_body(const std::shared_ptr<Exchange>& exchange) const override {
    return exchange->request().path != "/n";
  }
  // What is left is answered after the client has gone.
  void finish() {
    for (auto& exchange : held_) exchange->respond({.body = "late"});
    for (auto& stream : streams_) stream->finish();
    held_.clear();
    streams_.clear();
  }

 private:
  std::vector<std::shared_ptr<Exchange>> held_;
  std::vector<std::shared_ptr<http::Stream>> streams_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kBegin("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  constexpr std::size_t kMost = 60'000;  // fits into the socket's buffer
  if (size < 1 || size > kMost) return 0;
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0) std::abort();
  const std::string bytes = std::string(kBegin) +
                            std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t portion = data[0] == 0 ? bytes.size() : data[0];

  net::Loop loop;
  FuzzHandler handler;
  std::atomic<std::size_t> connections{0};
  {
    http::Worker worker(loop, handler, {.max_body = 2'000, .max_stream_pending = 10'000},
                        connections, [] {});
    std::size_t sent = 0;
    auto feed = std::make_shared<std::function<void()>>();
    *feed = [&] {
      char drop[65'536];
      while (::recv(pair[1], drop, sizeof drop, 0) > 0) {
      }
      if (sent == bytes.size()) {
        ::shutdown(pair[1], SHUT_WR);
        loop.post([&] { loop.stop(); });
        return;
      }
      const std::size_t step = std::min(portion, bytes.size() - sent);
      if (::send(pair[1], bytes.data() + sent, step, MSG_NOSIGNAL) < 0) sent = bytes.size() - step;
      sent += step;
      loop.post([feed] { (*feed)(); });
    };
    loop.post([&] {
      worker.adopt(net::make_plain_connection(loop, net::Socket(pair[0])),
                   http::Plain::kHttp1OrHttp2);
    });
    loop.post([feed] { (*feed)(); });
    loop.run();
    handler.finish();
    loop.post([&] {
      worker.close_all();
      loop.post([&] { loop.stop(); });
    });
    loop.run();
    *feed = nullptr;
    if (connections != 0) std::abort();
  }
  ::close(pair[1]);
  return 0;
}

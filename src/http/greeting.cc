#include <algorithm>

#include "http/http1_session.h"
#include "http/http2_session.h"
#include "http/session.h"

namespace cardea::http {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Greeting final : public Session, private net::Connection::Owner {
 public:
  Greeting(Worker& worker, std::unique_ptr<net::Connection> connection, Plain plain)
      : worker_(worker),
        connection_(std::move(connection)),
        timer_(worker.loop(), [this] { fail_handshake(); }),
        looks_(plain == Plain::kHttp1OrHttp2) {}

  void start() override {
    if (!connection_->start(*this)) return close_now();
    timer_.start(worker_.options().header_timeout);
    on_ready();
  }

  void close_when_idle() override { close_now(); }

  void close_now() override {
    if (over_) return;
    over_ = true;
    timer_.cancel();
    connection_->close();
    worker_.drop(*this);
  }

 private:
  void on_ready() override {
    if (over_) return;
    switch (connection_->handshake()) {
      case net::Io::kDone:
        break;
      case net::Io::kWouldBlock:
        if (connection_->broken()) fail_handshake();
        return;
      default:
        return fail_handshake();
    }
    is_greeted_ = true;
    if (connection_->peer()->tls && connection_->protocol() == "h2")
      return hand_over<Http2Session>();
    if (connection_->peer()->tls || !looks_) return hand_over<Http1Session>();
    look();
  }

  // The client has shown nothing yet, or only that it speaks no TLS.
  void fail_handshake() {
    if (Counter* errors = worker_.options().handshake_errors; errors && !is_greeted_) errors->add();
    close_now();
  }

  // The first bytes tell, as soon as they differ from the preface or are all of it.
  void look() {
    const auto buffer = worker_.read_buffer();
    for (;;) {
      const net::IoResult got = connection_->read(buffer);
      if (got.status == net::Io::kWouldBlock) return;
      if (got.status != net::Io::kDone) return close_now();
      input_.append(buffer.data(), got.bytes);
      const std::size_t size = std::min(input_.size(), kPreface.size());
      if (std::string_view(input_).substr(0, size) != kPreface.substr(0, size))
        return hand_over<Http1Session>();
      if (size == kPreface.size()) return hand_over<Http2Session>();
    }
  }

  template <typename Protocol>
  void hand_over() {
    over_ = true;
    timer_.cancel();
    worker_.replace(*this,
                    std::make_shared<Protocol>(worker_, std::move(connection_), std::move(input_)));
  }

  Worker& worker_;
  std::unique_ptr<net::Connection> connection_;
  net::Timer timer_;
  std::string input_;
  const bool looks_;
  bool is_greeted_ = false;
  bool over_ = false;
};

}  // namespace

std::shared_ptr<Session> make_greeting(Worker& worker, std::unique_ptr<net::Connection> connection,
                                       Plain plain) {
  return std::make_shared<Greeting>(worker, std::move(connection), plain);
}

}  // namespace cardea::http

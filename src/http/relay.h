#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/exchange.h"
#include "http/lone_call.h"
#include "net/loop.h"

namespace cardea::http {

// Hands an exchange on to another server: the answer goes back as it comes, or, after an upgrade,
// bytes go both ways until one side ends.
//
//   call() ─► the head of the answer ─► pass_on()  the answer goes to the client
//                                   ├─► upgrade()  after a 101: a tunnel
//                                   ├─► collect()  the beginning of the body, for a message
//                                   └─► drop()     nothing of it is wanted
//
// Neither side can fill the server's memory: when one does not read, the other is not read from.
// A side that ends in a tunnel is half-closed: the other may send what it still has, but ends when
// nothing moves for a while. If the client leaves, the other server's connection is closed, and
// the other way round.
//
// Loop thread only. It lives until both sides are done with it.
class Relay final : public AnswerReader,
                    public Receiver,
                    public std::enable_shared_from_this<Relay> {
 public:
  struct Head {
    int status = 0;
    Headers headers;
  };
  // What went through it.
  struct Report {
    std::uint64_t to_server = 0, to_client = 0;  // bytes of bodies and tunnels
    std::chrono::milliseconds took{0};           // from the head of the answer to the end
    std::string why;                             // it ended
  };
  struct Options {
    std::chrono::milliseconds quiet_after_end{10'000};  // of a tunnel of which one side has ended
    std::size_t max_unread = 256 * 1024;   // more that one side has not taken stops the other
    std::chrono::milliseconds longest{0};  // from the head to the end of an answer; 0: for ever
  };

  static std::shared_ptr<Relay> make(std::shared_ptr<Exchange> exchange, Options options);
  static std::shared_ptr<Relay> make(std::shared_ptr<Exchange> exchange);
  Relay(std::shared_ptr<Exchange> exchange, Options options);

  // Calls the server. `done` comes once, on the loop and not inside this call, with the head or
  // with the reason why there is none; the client's leaving is one.
  void call(net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls, Call call,
            LoneCallOptions options, std::function<void(Result<Head>)> done);

  // The same on the connections of a client, which belongs to the loop of the exchange. Such an
  // answer cannot be an upgrade.
  void call(Client& client, Call call, std::function<void(Result<Head>)> done);

  // After the head: one of these. `over` is told when the relay is.
  void pass_on(Response head, std::function<void(const Report&)> over);
  // False: the client's connection cannot become a tunnel (see Exchange::upgrade). Nothing was sent
  // to the client, and the server's connection is closed.
  bool upgrade(Response head, std::function<void(const Report&)> over);
  // At most `limit` bytes of the body, without what was lost when the connection broke.
  void collect(std::size_t limit, std::function<void(std::string)> done);
  void drop();

  // Ends it from outside, `why` is for the report. The client sees a broken connection. Any time.
  void cut(std::string why);

 private:
  enum class Phase : std::uint8_t { kWaiting, kUndecided, kCollecting, kStreaming, kOver };

  void on_head(int status, const Headers& headers) override;
  bool on_data(std::string_view bytes) override;
  void on_drained() override;
  void on_end(const Headers& trailers) override;
  void on_failure(const Error& error) override;
  bool receive(std::string_view bytes) override;
  void end() override;

  void expect(std::function<void(Result<Head>)> done, std::size_t sent);
  void wait_for_client();
  void read_on();
  void answer_at_once(Response head, std::function<void(const Report&)> over);
  void begin(std::shared_ptr<Stream> stream, std::function<void(const Report&)> over);
  bool send(std::string_view bytes);
  void client_left();
  void collected();
  void quiet();
  void finish(std::string why);

  const std::shared_ptr<Exchange> exchange_;
  const Options options_;
  net::Timer quiet_;
  net::Timer late_;
  std::shared_ptr<LoneCall> call_;    // one of the two, until it is over
  std::shared_ptr<OpenCall> shared_;  // on a connection that others use, too
  std::function<void(Result<Head>)> on_head_;
  std::function<void(std::string)> on_collected_;
  std::function<void(const Report&)> over_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Tunnel> tunnel_;
  std::string held_;  // of the body, while nobody has said what becomes of it
  std::size_t limit_ = 0;
  Report report_;
  net::SteadyTime began_{};
  Phase phase_ = Phase::kWaiting;
  bool answer_ended_ = false;  // while it is undecided
  bool answer_broke_ = false;
  bool client_ended_ = false;
  bool client_waits_ = false;  // it is not read from
};

}  // namespace cardea::http

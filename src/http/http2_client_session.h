#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/client_call.h"
#include "http/http2_wire.h"
#include "http/output.h"
#include "net/connection.h"
#include "net/loop.h"

namespace cardea::http {

// One HTTP/2 connection of a client, and the calls that share it. Loop thread only.
class Http2ClientSession final : private net::Connection::Owner,
                                 private Http2Wire::Events,
                                 public FlowCarrier,
                                 public std::enable_shared_from_this<Http2ClientSession> {
 public:
  enum class Repeat : std::uint8_t {
    kNever,
    kIfHarmless,  // the connection had served before, and not a byte of an answer has come
    kAlways,      // the server has not begun it
  };
  class Owner {
   public:
    virtual void on_answer(const std::shared_ptr<Pending>& pending, Answer answer) = 0;
    virtual void on_head(const std::shared_ptr<Pending>& pending) = 0;  // of an open call
    virtual void on_end(const std::shared_ptr<Pending>& pending, const Headers& trailers) = 0;
    virtual void on_failure(const std::shared_ptr<Pending>& pending, std::string why,
                            Repeat repeat) = 0;
    virtual void on_room(Http2ClientSession& session) = 0;  // for further calls, perhaps
    // It takes no more calls, and has none: drop it.
    virtual void on_over(Http2ClientSession& session) = 0;

   protected:
    ~Owner() = default;
  };

  // Takes over a connection whose handshake is done.
  Http2ClientSession(net::Loop& loop, Owner& owner, std::unique_ptr<net::Connection> connection,
                     const ClientOptions& options);

  void start();
  bool has_room() const;
  void call(const std::shared_ptr<Pending>& pending);
  // The call is of no interest any more. Nothing is told of it.
  void cancel(std::int32_t stream);
  void close();  // tells nobody

  // For open calls.
  void write(std::int32_t stream, std::vector<Piece> pieces, bool last) override;
  void read_on(std::int32_t stream) override;

 private:
  using Code = Http2Wire::Code;
  struct Stream final : Http2Stream {
    std::shared_ptr<Pending> pending;  // null: it was cancelled
    int status = 0;
    Headers headers;
    Headers trailers;
    std::string body;
    std::size_t not_granted = 0;  // bytes that came, for which the server has no new window
    int interim = 0;              // answers before the answer
    bool has_head = false;
    bool has_ended = false;
    bool waits = false;  // its reader wants no more now
    std::string why;     // we gave it up
  };
  struct Ended {
    std::unique_ptr<Stream> stream;
    Code code;
  };

  void on_ready() override { process(); }
  void on_field(Http2Stream& stream, std::string_view name, std::string_view value) override;
  void on_head(Http2Stream& stream, bool too_large, bool end) override;
  void on_data(Http2Stream& stream, std::string_view bytes) override;
  void on_end(Http2Stream& stream) override;
  void on_sent(Http2Stream& stream) override;
  void on_closed(Http2Stream& stream, Code code) override;
  void on_not_sent(std::int32_t id) override;

  void process();
  void process_soon();
  void flush();
  void read();
  void settle();
  void settle(Ended& ended);
  void give_up(Stream& stream, std::string why);
  void take(Stream& stream, std::string_view bytes);
  void lose(std::string why);
  void ping();
  void on_timer();
  void arm_timer();

  net::Loop& loop_;
  Owner& owner_;
  const ClientOptions options_;
  std::unique_ptr<net::Connection> connection_;
  net::Timer timer_;
  Output::Memory memory_;
  Output output_;
  Http2Wire wire_;
  std::map<std::int32_t, std::unique_ptr<Stream>> streams_;
  std::vector<Ended> ended_;  // not yet told
  std::string lost_;          // why the connection is of no use
  net::SteadyTime heard_{};
  net::SteadyTime idle_since_{};
  net::SteadyTime pinged_{};
  std::uint64_t answers_ = 0;
  bool is_pinged_ = false;
  bool scheduled_ = false;
  bool processing_ = false;
  bool is_over_ = false;
};

}  // namespace cardea::http

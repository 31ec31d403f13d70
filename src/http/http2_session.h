#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/http2_exchange.h"
#include "http/http2_wire.h"
#include "http/output.h"
#include "http/session.h"
#include "net/connection.h"
#include "net/loop.h"

namespace cardea::http {

// Drives one HTTP/2 connection: bytes in, the requests of all its streams to the handler, answers
// out as windows and the socket allow.
//
// It reads into the worker's buffer and borrows memory for its output. What one stream does not
// take holds up no other one; a stream that takes nothing for too long is reset.
class Http2Session final : public Session,
                           private net::Connection::Owner,
                           private PostedExchange::Sender,
                           private Http2Wire::Events,
                           public std::enable_shared_from_this<Http2Session> {
 public:
  // Takes over a connection that is set up. `input` was read from it already.
  Http2Session(Worker& worker, std::unique_ptr<net::Connection> connection, std::string input);

  void start() override;
  void close_when_idle() override;
  void close_now() override;

 private:
  using Code = Http2Wire::Code;
  using ExchangePtr = std::shared_ptr<Http2Exchange>;
  enum class State : std::uint8_t {
    kOpen,
    kDraining,   // sends what is pending, then ends
    kLingering,  // has ended its side, waits for the peer's so that no answer is lost to a reset
    kClosed,
  };

  void on_ready() override;

  void send_response(PostedExchange& exchange, const Response& response) override;
  void begin_stream(PostedExchange& exchange, const Response& head) override;
  void send_pieces(PostedExchange& exchange, std::vector<Piece> pieces, bool last) override;
  void abort(PostedExchange& exchange) override;
  void withhold_body(PostedExchange& exchange) override;

  Http2Stream* on_stream(std::int32_t id) override;
  void on_field(Http2Stream& stream, std::string_view name, std::string_view value) override;
  void on_head(Http2Stream& stream, bool too_large, bool end) override;
  void on_data(Http2Stream& stream, std::string_view bytes) override;
  void on_end(Http2Stream& stream) override;
  void on_sent(Http2Stream& stream) override;
  void on_answered_early(Http2Stream& stream) override;
  void on_closed(Http2Stream& stream, Code code) override;

  // Reading.
  bool may_read() const;
  void process();
  void take(std::string_view bytes);
  void ask_for_bodies();
  void take_length(Http2Exchange& exchange, std::string_view value);
  void take_host(Http2Exchange& exchange, std::string_view value);
  void take_expectation(Http2Exchange& exchange, std::string_view value);
  void grant(Http2Exchange& exchange);
  bool may_read_large() const;
  void grant_waiting();
  void stop_reading(Http2Exchange& exchange);
  void make_ready(Http2Exchange& exchange);
  bool may_dispatch() const;
  bool is_full() const;                     // as many handlers are at work as may be
  void give_back(Http2Exchange& exchange);  // its request: nobody reads it any more
  void dispatch();
  void handle(const ExchangePtr& exchange);

  // Answering.
  void write_head(Http2Exchange& exchange, const Response& response, bool known_length, bool end);
  void add(Http2Exchange& exchange, const Piece& piece);
  void answered(Http2Exchange& exchange);
  void refuse(Http2Exchange& exchange, int status, std::string_view text);
  void refuse_with(Http2Exchange& exchange, int status, std::string body);
  void reset(Http2Exchange& exchange, Code code);

  // The connection.
  void process_soon();
  void schedule();
  void fill();
  void flush();
  void drain();
  void linger();
  void on_timer();
  void check_streams(net::SteadyTime now);
  void arm_timer();

  Worker& worker_;
  std::unique_ptr<net::Connection> connection_;
  net::Timer timer_;
  Output output_;
  Http2Wire wire_;
  std::string input_;                   // what the greeting has read
  std::string cookie_;                  // of the head that is being read
  std::vector<ExchangePtr> exchanges_;  // one for each stream
  std::vector<ExchangePtr> heads_;      // the handler is to say whether it wants their bodies
  std::vector<ExchangePtr> ready_;      // for the handler
  std::vector<ExchangePtr> large_;      // wait until they may send more of their bodies
  std::shared_ptr<Http2Exchange::Running> running_;
  std::shared_ptr<BodyBudget> bodies_;
  std::shared_ptr<Portion::Sum> heads_held_ = std::make_shared<Portion::Sum>(0);
  std::shared_ptr<Portion::Sum> answers_held_ = std::make_shared<Portion::Sum>(0);
  net::SteadyTime heard_{};       // the client sent something
  net::SteadyTime wrote_{};       // the client took something
  net::SteadyTime idle_since_{};  // the last stream ended
  net::SteadyTime pinged_{};
  net::SteadyTime timer_due_{};
  Discard discard_;
  std::uint32_t reading_ = 0;       // streams whose body is being read
  std::uint32_t large_bodies_ = 0;  // ... and may be large
  std::uint32_t lingering_ = 0;     // streams that are answered while the client still sends
  State state_ = State::kOpen;
  bool processing_ = false;
  bool scheduled_ = false;
  bool goaway_unsent_ = false;
  bool is_pinged_ = false;
  bool no_linger_ = false;
  bool knows_sender_ = false;  // a handler has answered a request of somebody it knows
};

}  // namespace cardea::http

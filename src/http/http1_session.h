#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/output.h"
#include "http/posted_exchange.h"
#include "http/request_parser.h"
#include "http/session.h"
#include "net/connection.h"
#include "net/loop.h"

namespace cardea::http {

// Drives one HTTP/1.x connection: bytes in, requests to the handler one at a time, answers out in
// order.
//
// An idle one holds no buffer: it reads into the worker's, keeps only what it could not use yet,
// and borrows memory for its output.
class Http1Session final : public Session,
                           private net::Connection::Owner,
                           private PostedExchange::Sender,
                           public std::enable_shared_from_this<Http1Session> {
 public:
  // Takes over a connection that is set up. `input` was read from it already.
  Http1Session(Worker& worker, std::unique_ptr<net::Connection> connection, std::string input);
  ~Http1Session() override;

  void start() override;
  void close_when_idle() override;
  void close_now() override;

 private:
  enum class State : std::uint8_t {
    kOpen,
    kDraining,   // sends what is pending, then ends
    kLingering,  // has ended its side, waits for the peer's so that no answer is lost to a reset
    kClosed,
  };
  enum class Waiting : std::uint8_t { kNothing, kHead, kBody, kIdle, kWrite, kLinger };

  void on_ready() override;
  void send_response(PostedExchange&, const Response& response) override;
  void begin_stream(PostedExchange&, const Response& head) override;
  void send_pieces(PostedExchange&, std::vector<Piece> pieces, bool last) override;
  void abort(PostedExchange&) override { close_now(); }
  bool begin_upgrade(PostedExchange&, const Response& head,
                     std::shared_ptr<Receiver> receiver) override;
  void read_on(PostedExchange&) override;
  void withhold_body(PostedExchange& exchange) override;
  void read_body(PostedExchange& exchange) override;
  bool body_waits() const;
  void drop_building();

  void on_timer();
  void close_politely();

  void process();
  void consume(std::string_view& input);
  void on_head(std::string_view rest);
  void on_body();
  void dispatch();
  void refuse(int status, std::string_view text);
  void refuse_with(int status, std::string_view body);
  void watch_peer();
  void feed_receiver();
  void on_end_of_input();

  void send_chunk(const std::vector<Piece>& pieces, bool last);
  void write_head(const Response& response, bool known_length);
  void finish_exchange();
  void resume();
  void flush();
  void drain();
  void linger();
  void wait_for(Waiting what, bool renew);
  void arm_timer();

  Worker& worker_;
  std::unique_ptr<net::Connection> connection_;
  net::Timer timer_;
  RequestParser parser_;
  Output output_;
  std::string input_;                         // read but not yet understood: pipelined requests
  std::shared_ptr<PostedExchange> building_;  // its request is being read
  std::shared_ptr<PostedExchange> exchange_;  // with the handler
  std::shared_ptr<Receiver> receiver_;        // after an upgrade
  Discard discard_;
  State state_ = State::kOpen;
  Waiting waiting_ = Waiting::kNothing;
  bool processing_ = false;
  int answered_ = 0;  // requests, in this turn
  bool reading_body_ = false;
  bool end_of_input_ = false;
  bool close_after_ = false;  // the answer under way is the last
  bool any_request_ = false;
  bool stream_has_body_ = false;
  bool stream_is_chunked_ = false;
  bool receiver_waits_ = false;  // wants to read no more now
};

}  // namespace cardea::http

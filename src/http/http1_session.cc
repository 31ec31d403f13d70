#include "http/http1_session.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "http/syntax.h"

namespace cardea::http {
namespace {

constexpr std::size_t kMaxUnsent = 64 * 1024;  // no further request is read over this much unsent
                                               // answer
constexpr std::size_t kMaxPipelined = 16 * 1024;   // read ahead while a request is being answered
constexpr int kTunnelReads = 4;                    // of a tunnel; then others have their turn
constexpr int kReadsPerTurn = 4;                   // the same for requests
constexpr int kRequestsPerTurn = 16;               // answered at once, one after the other
constexpr std::size_t kFirstReserve = 256 * 1024;  // of what Content-Length promises

void append_number(std::string& out, std::uint64_t number, int base = 10) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

// A value may carry a user's text; it must not end its line.
void append_value(std::string& out, std::string_view value) {
  const std::size_t start = out.size();
  out.append(value);
  if (is_field_value(value)) return;
  for (std::size_t i = start; i < out.size(); ++i)
    if (!is_field_value({&out[i], 1})) out[i] = ' ';
}

}  // namespace

Http1Session::Http1Session(Worker& worker, std::unique_ptr<net::Connection> connection,
                           std::string input)
    : worker_(worker),
      connection_(std::move(connection)),
      timer_(worker.loop(), [this] { on_timer(); }),
      output_(worker.output_memory()),
      input_(std::move(input)) {}

Http1Session::~Http1Session() = default;

void Http1Session::start() {
  connection_->hand_over(*this);
  wait_for(Waiting::kHead, true);
  on_ready();
}

void Http1Session::close_when_idle() {
  if (state_ != State::kOpen || exchange_ || building_) return;
  if (output_.pending() == 0 && input_.empty() && parser_.between_requests()) close_politely();
}

void Http1Session::close_politely() {
  connection_->shutdown();
  close_now();
}

// A request that will not be whole. Its handler may have begun, and must not reach this any more.
void Http1Session::drop_building() {
  if (auto left = std::move(building_)) left->let_go(false);
}

void Http1Session::close_now() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  timer_.cancel();
  connection_->close();
  output_.clear();
  drop_building();
  receiver_.reset();
  if (auto left = std::move(exchange_)) left->let_go(false);
  worker_.drop(*this);
}

void Http1Session::on_ready() {
  if (state_ == State::kLingering) {
    if (!discard_.from(*connection_, worker_.read_buffer())) close_now();
    return;
  }
  if (output_.pending() > 0) flush();
  process();
}

void Http1Session::on_timer() {
  switch (waiting_) {
    case Waiting::kNothing:
      return;
    case Waiting::kHead:
    case Waiting::kBody:
      if (state_ != State::kOpen || parser_.between_requests()) return close_now();
      if (const std::string& late = worker_.options().late_body;
          waiting_ == Waiting::kBody && !late.empty())
        refuse_with(504, late);
      else
        refuse(408, {});
      return flush();
    case Waiting::kIdle:
      return close_politely();
    case Waiting::kWrite:
    case Waiting::kLinger:
      return close_now();
  }
}

// Reads and answers as long as there is something to read and nothing to wait for.
void Http1Session::process() {
  processing_ = true;
  answered_ = 0;
  bool is_over = false;  // the turn of this connection, though there may be more to read
  for (int reads = 0; state_ == State::kOpen && !exchange_ && output_.pending() < kMaxUnsent;) {
    is_over = answered_ >= kRequestsPerTurn || reads == kReadsPerTurn;
    if (is_over || body_waits()) break;
    if (!input_.empty()) {
      const std::string held = std::exchange(input_, {});
      std::string_view rest = held;
      consume(rest);
      if (state_ == State::kOpen && !rest.empty()) input_.assign(rest);
      continue;
    }
    if (end_of_input_) {
      on_end_of_input();
      break;
    }
    const auto buffer = worker_.read_buffer();
    const net::IoResult got = connection_->read(buffer);
    ++reads;
    if (got.status == net::Io::kWouldBlock) break;
    if (got.status == net::Io::kFailed) {
      close_now();
      break;
    }
    if (got.status == net::Io::kEnd) {
      end_of_input_ = true;
      continue;
    }
    std::string_view rest(buffer.data(), got.bytes);
    consume(rest);
    if (state_ == State::kOpen && !rest.empty()) input_.assign(rest);
  }
  if (state_ == State::kOpen && exchange_) receiver_ ? feed_receiver() : watch_peer();
  processing_ = false;
  if (state_ == State::kClosed) return;
  const bool held_back = output_.pending() >= kMaxUnsent;
  flush();
  // A flush may have made room for what we have not read: no event will tell of it again.
  if ((held_back || is_over) && state_ == State::kOpen && (!exchange_ || receiver_) &&
      output_.pending() < kMaxUnsent)
    resume();
  arm_timer();
}

void Http1Session::on_end_of_input() {
  // Half a request will never be whole. What was answered is still sent.
  drop_building();
  close_after_ = true;
  drain();
}

// While a request is being answered: notices that the client left, and holds a little of what it
// sends.
void Http1Session::watch_peer() {
  if (connection_->broken()) return close_now();
  while (!end_of_input_ && input_.size() < kMaxPipelined) {
    const auto buffer = worker_.read_buffer();
    const net::IoResult got = connection_->read(buffer.first(kMaxPipelined));
    if (got.status == net::Io::kWouldBlock) break;
    if (got.status == net::Io::kFailed) return close_now();
    if (got.status == net::Io::kEnd) end_of_input_ = true;
    input_.append(buffer.data(), got.bytes);
  }
  // Clients do not half-close a connection and continue to watch: for a stream the end of input
  // is the end.
  if (exchange_->is_endless() && (end_of_input_ || connection_->peer_closed())) close_now();
}

// After an upgrade: what the client sends belongs to the receiver.
void Http1Session::feed_receiver() {
  if (connection_->broken()) return close_now();
  const auto receiver = receiver_;  // lives until this is done, also if the connection ends
  for (int reads = 0; !receiver_waits_ && output_.pending() < kMaxUnsent; ++reads) {
    if (!input_.empty()) {
      const std::string held = std::exchange(input_, {});
      receiver_waits_ = !receiver->receive(held);
      continue;
    }
    if (end_of_input_) return;
    if (reads == kTunnelReads) return resume();
    const auto buffer = worker_.read_buffer();
    const net::IoResult got = connection_->read(buffer);
    if (got.status == net::Io::kWouldBlock) return;
    if (got.status == net::Io::kFailed) return close_now();
    if (got.status == net::Io::kEnd) {
      end_of_input_ = true;
      return receiver->end();
    }
    receiver_waits_ = !receiver->receive({buffer.data(), got.bytes});
  }
}

void Http1Session::consume(std::string_view& input) {
  while (state_ == State::kOpen && !exchange_ && output_.pending() < kMaxUnsent &&
         answered_ < kRequestsPerTurn) {
    if (!building_) {
      if (input.empty()) return;
      building_ = std::make_shared<PostedExchange>(static_cast<PostedExchange::Sender&>(*this),
                                                   worker_.loop(), worker_.take_request(),
                                                   worker_.options().max_stream_pending);
    }
    switch (parser_.next(input, building_->request())) {
      case RequestParser::Event::kNeedMore:
        return;
      case RequestParser::Event::kHead:
        on_head(input);
        break;
      case RequestParser::Event::kBody:
        on_body();
        break;
      case RequestParser::Event::kEnd:
        dispatch();
        break;
      case RequestParser::Event::kError:
        return refuse(parser_.error().status, parser_.error().text);
    }
  }
}

void Http1Session::on_head(std::string_view rest) {
  any_request_ = true;
  if (!parser_.keep_alive()) close_after_ = true;
  if (!parser_.has_body()) return;
  reading_body_ = true;
  const auto length = parser_.content_length().value_or(0);
  if (length > worker_.options().max_body) {
    building_->request().body_too_large = true;
    close_after_ = true;
    return dispatch();
  }
  building_->request().peer = connection_->peer();
  if (!worker_.bodies()->has_room(0)) return refuse(429, kTooManyBodies);
  bool is_here = parser_.content_length() && rest.size() >= length;
  if (!is_here && !worker_.handler().wants_body(building_)) {
    building_->request().body_withheld = true;
    close_after_ = true;
    return dispatch();
  }
  building_->request().body.reserve(std::min<std::uint64_t>(length, kFirstReserve));
  if (parser_.expects_continue() && rest.empty()) output_.append("HTTP/1.1 100 Continue\r\n\r\n");
}

void Http1Session::withhold_body(PostedExchange& exchange) {
  if (building_.get() != &exchange || !reading_body_) return;
  exchange.forget_body();
  exchange.request().body_withheld = true;
  close_after_ = true;
  dispatch();
}

void Http1Session::read_body(PostedExchange& exchange) {
  if (building_.get() == &exchange && reading_body_) resume();
}

// A stranger's body is not read beyond what one read brings.
bool Http1Session::body_waits() const {
  return building_ && building_->body_waits() && !building_->request().body.empty();
}

void Http1Session::on_body() {
  Request& request = building_->request();
  // Little is reserved for what is only promised; what goes on is not doubled again and again.
  if (const auto length = parser_.content_length();
      length && *length <= worker_.options().max_body &&
      request.body.size() + parser_.body().size() > request.body.capacity())
    request.body.reserve(*length);
  if (request.body.size() + parser_.body().size() > worker_.options().max_body) {
    std::string().swap(request.body);
    request.body_too_large = true;
    close_after_ = true;
    return dispatch();
  }
  request.body.append(parser_.body());
  building_->body_share.grow_to(request.body.capacity(), worker_.bodies());
  if (!worker_.bodies()->has_room(0)) refuse(429, kTooManyBodies);
}

void Http1Session::dispatch() {
  reading_body_ = false;
  if (waiting_ != Waiting::kWrite)
    waiting_ = Waiting::kNothing;  // the next request's time starts anew
  ++answered_;
  exchange_ = std::move(building_);
  exchange_->request().peer = connection_->peer();
  const auto current = exchange_;
  worker_.handler().handle(current);
  if (exchange_ != current && current.use_count() == 1)
    worker_.give_back(std::move(current->request()));
}

// What cannot be understood is answered as Go's server does, in plain text, and ends the
// connection.
void Http1Session::refuse(int status, std::string_view text) {
  const std::string_view colon = text.empty() ? "" : ": ";
  refuse_with(status, cat(status, " ", status_text(status), colon, text));
}

void Http1Session::refuse_with(int status, std::string_view body) {
  drop_building();
  std::string& out = output_.text();
  out.append(cat("HTTP/1.1 ", status, " ", status_text(status)));
  out.append("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
      .append(body);
  output_.wrote();
  drain();
}

void Http1Session::write_head(const Response& response, bool known_length) {
  if (worker_.stopping() || end_of_input_) close_after_ = true;
  bool says_close = false;
  std::string& out = output_.text();
  out.append(response.status == 200 ? std::string_view("HTTP/1.1 200 OK\r\n") : std::string_view());
  if (response.status != 200) {
    out.append("HTTP/1.1 ");
    append_number(out, static_cast<std::uint64_t>(response.status));
    out.append(" ").append(status_text(response.status)).append("\r\n");
  }
  for (const auto& [name, value] : response.headers) {
    if (name.size() == 10 && equals_ignoring_case(name, "connection")) {
      says_close |= equals_ignoring_case(value, "close");
      continue;
    }
    out.append(name).append(": ");
    append_value(out, value);
    out.append("\r\n");
  }
  close_after_ |= says_close;
  out.append(worker_.date_header());
  if (known_length && may_have_body(response.status)) {
    out.append("Content-Length: ");
    append_number(out, response.body.size());
    out.append("\r\n");
  } else if (!known_length && stream_is_chunked_) {
    out.append("Transfer-Encoding: chunked\r\n");
  }
  if (response.status == 101)
    out.append("Connection: Upgrade\r\n\r\n");
  else
    out.append(close_after_ ? "Connection: close\r\n\r\n" : "\r\n");
  output_.wrote();
}

void Http1Session::send_response(PostedExchange&, const Response& response) {
  write_head(response, true);
  if (exchange_->request().method != "HEAD" && may_have_body(response.status))
    for (std::size_t i = 0; i < response.body.pieces(); ++i) output_.append(response.body.piece(i));
  finish_exchange();
}

void Http1Session::begin_stream(PostedExchange&, const Response& head) {
  const Request& request = exchange_->request();
  stream_has_body_ = may_have_body(head.status) && request.method != "HEAD";
  // A writer that gives the length keeps to it.
  stream_is_chunked_ = may_have_body(head.status) && request.minor_version >= 1 &&
                       !head.headers.has("content-length");
  if (!stream_is_chunked_ && stream_has_body_ && !head.headers.has("content-length"))
    close_after_ = true;
  write_head(head, false);
  std::vector<Piece> first;
  for (std::size_t i = 0; i < head.body.pieces(); ++i) first.push_back(head.body.piece(i));
  send_chunk(first, false);
}

bool Http1Session::begin_upgrade(PostedExchange&, const Response& head,
                                 std::shared_ptr<Receiver> receiver) {
  const Request& request = exchange_->request();
  if (state_ != State::kOpen || end_of_input_ || request.minor_version < 1 ||
      request.body_withheld || request.body_too_large)
    return false;
  stream_has_body_ = true;
  stream_is_chunked_ = false;
  write_head(head, false);
  for (std::size_t i = 0; i < head.body.pieces(); ++i) output_.append(head.body.piece(i));
  close_after_ = true;  // there is no way back to HTTP
  connection_->notice_loss();
  receiver_ = std::move(receiver);
  if (!processing_) resume();  // sends the head; more input may have been read already
  return true;
}

void Http1Session::read_on(PostedExchange&) {
  if (std::exchange(receiver_waits_, false)) resume();
}

void Http1Session::send_pieces(PostedExchange&, std::vector<Piece> pieces, bool last) {
  send_chunk(pieces, last);
}

void Http1Session::send_chunk(const std::vector<Piece>& pieces, bool last) {
  std::size_t size = 0;
  for (const auto& piece : pieces) size += piece.bytes.size();
  if (size > 0 && stream_has_body_) {
    if (stream_is_chunked_) {
      append_number(output_.text(), size, 16);
      output_.append("\r\n");
    }
    for (const auto& piece : pieces) output_.append(piece);
    if (stream_is_chunked_) output_.append("\r\n");
  }
  if (last) {
    if (stream_has_body_ && stream_is_chunked_) output_.append("0\r\n\r\n");
    return finish_exchange();
  }
  if (processing_) return;
  flush();
  if (state_ != State::kOpen) return;
  if (!receiver_ && exchange_->is_endless() && (end_of_input_ || connection_->peer_closed()))
    return close_now();
  arm_timer();
}

void Http1Session::finish_exchange() {
  auto done = std::move(exchange_);
  receiver_.reset();
  done->let_go(true);
  if (close_after_)
    drain();
  else if (!processing_)
    resume();
  if (processing_) return;
  flush();
  arm_timer();
}

// Continues to read, but not inside another session's call: all sessions of the loop share the
// read buffer, and one of them may be using it.
void Http1Session::resume() {
  worker_.loop().post([self = shared_from_this()] {
    if (self->state_ == State::kOpen) self->process();
  });
}

void Http1Session::flush() {
  if (output_.pending() > 0) {
    const net::Io outcome = output_.flush(*connection_);
    if (outcome == net::Io::kFailed) return close_now();
    if (output_.pending() > 0) wait_for(Waiting::kWrite, outcome == net::Io::kDone);
    if (exchange_ && exchange_->streaming()) exchange_->set_unsent(output_.pending());
  }
  if (state_ == State::kDraining && output_.pending() == 0) linger();
}

void Http1Session::drain() {
  if (state_ == State::kOpen) state_ = State::kDraining;
}

void Http1Session::linger() {
  connection_->shutdown();
  if (end_of_input_) return close_now();
  state_ = State::kLingering;
  input_ = {};
  wait_for(Waiting::kLinger, true);
  if (!discard_.from(*connection_, worker_.read_buffer())) close_now();
}

void Http1Session::wait_for(Waiting what, bool renew) {
  if (waiting_ == what && !renew) return;
  waiting_ = what;
  const ServerOptions& options = worker_.options();
  switch (what) {
    case Waiting::kNothing:
      return;  // the timer may run out; on_timer then finds nothing to do
    case Waiting::kHead:
      return timer_.start(options.header_timeout);
    case Waiting::kBody:
      return timer_.start(options.body_timeout);
    case Waiting::kIdle:
      return timer_.start(options.idle_timeout);
    case Waiting::kWrite:
      return timer_.start(options.write_timeout);
    case Waiting::kLinger:
      return timer_.start(options.linger_timeout);
  }
}

void Http1Session::arm_timer() {
  if (state_ == State::kLingering || state_ == State::kClosed) return;
  if (output_.pending() > 0) return wait_for(Waiting::kWrite, false);
  if (exchange_) return wait_for(Waiting::kNothing, false);
  if (reading_body_) return wait_for(Waiting::kBody, false);
  if (!any_request_ || !parser_.between_requests()) return wait_for(Waiting::kHead, false);
  wait_for(Waiting::kIdle, true);
}

}  // namespace cardea::http

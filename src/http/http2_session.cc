#include "http/http2_session.h"

#include <algorithm>

#include "base/strings.h"
#include "http/request_parser.h"
#include "http/syntax.h"

namespace cardea::http {
namespace {

// Nothing is read over this much unsent output. DATA stops earlier, so it is answers to what the
// client sends that fill the rest.
constexpr std::size_t kTooMuchUnsent = 2 * Http2Wire::kMaxUnsent;
// No request is handled while the answers before it hold this much. It is far above what a client
// leaves lying that reads at all.
constexpr std::size_t kMaxAnswers = 64u << 20;
// Bodies beyond a stream's first window are read for so many streams at a time, and as long as
// those that handlers hold leave room for one more.
constexpr std::uint32_t kMaxLargeBodies = 4;
constexpr std::size_t kBodyReserve = 256 * 1024;  // of what Content-Length promises
constexpr std::size_t kUnsentInTheSystem = 128 * 1024;
constexpr std::chrono::milliseconds kLookForRoom{20};
constexpr int kReadsPerTurn = 8;
constexpr int kFlushesPerTurn = 32;
constexpr int kChecksPerTimeout = 4;
constexpr std::size_t kKeptCookie = 256;
// Of all heads that a connection holds at one time: twice what one head may have.
constexpr std::size_t kMaxHeads = 2 * RequestParser::kMaxHead;
constexpr std::size_t kFieldCost = 8;  // of a field, besides its text

Http2Exchange& exchange_of(Http2Stream& stream) {
  return static_cast<Http2Exchange&>(stream);
}
Http2Exchange& exchange_of(PostedExchange& exchange) {
  return static_cast<Http2Exchange&>(exchange);
}

bool says_close(const Headers& headers) {
  for (const auto& [name, value] : headers)
    if (name.size() == 10 && equals_ignoring_case(name, "connection"))
      if (equals_ignoring_case(value, "close")) return true;
  return false;
}

}  // namespace

Http2Session::Http2Session(Worker& worker, std::unique_ptr<net::Connection> connection,
                           std::string input)
    : worker_(worker),
      connection_(std::move(connection)),
      timer_(worker.loop(), [this] { on_timer(); }),
      output_(worker.output_memory()),
      wire_(Http2Wire::Role::kServer, *this, output_, worker.options().max_concurrent_streams),
      input_(std::move(input)),
      running_(std::make_shared<Http2Exchange::Running>(0)),
      bodies_(
          std::make_shared<BodyBudget>(worker.options().max_connection_bodies, worker.bodies())) {}

void Http2Session::start() {
  connection_->hand_over(*this);
  connection_->limit_unsent(kUnsentInTheSystem);
  heard_ = wrote_ = idle_since_ = worker_.loop().now();
  process();
}

void Http2Session::close_when_idle() {
  if (state_ != State::kOpen) return;
  no_linger_ = exchanges_.empty();
  wire_.go_away();
  process_soon();
}

void Http2Session::close_now() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  timer_.cancel();
  connection_->close();
  output_.clear();
  for (const ExchangePtr& exchange : std::exchange(exchanges_, {}))
    if (!exchange->is_let_go()) exchange->let_go(false);
  heads_.clear();
  ready_.clear();
  large_.clear();
  worker_.drop(*this);
}

void Http2Session::on_ready() {
  if (state_ == State::kLingering) {
    if (!discard_.from(*connection_, worker_.read_buffer())) close_now();
    return;
  }
  process();
}

// --- reading ------------------------------------------------------------------------------------

bool Http2Session::may_read() const {
  return state_ == State::kOpen && !goaway_unsent_ && output_.pending() < kTooMuchUnsent;
}

// Reads and answers as long as there is something to read.
void Http2Session::process() {
  if (state_ == State::kClosed || state_ == State::kLingering) return;
  flush();
  processing_ = true;
  grant_waiting();  // handlers may have given back what they held
  if (state_ == State::kOpen && !input_.empty()) take(std::exchange(input_, {}));
  for (int reads = 0; may_read(); ++reads) {
    if (reads == kReadsPerTurn) {
      schedule();
      break;
    }
    const auto buffer = worker_.read_buffer();
    const net::IoResult got = connection_->read(buffer);
    if (got.status == net::Io::kWouldBlock) break;
    if (got.status == net::Io::kEnd) flush();  // for a client that has only closed its sending side
    if (got.status != net::Io::kDone) {
      close_now();
      break;
    }
    heard_ = worker_.loop().now();
    is_pinged_ = false;
    take({buffer.data(), got.bytes});
  }
  if (state_ == State::kOpen) dispatch();
  processing_ = false;
  if (state_ == State::kClosed) return;
  if (connection_->broken()) return close_now();
  const bool held_back = !may_read();
  flush();
  // A flush may have made room for what was not read: no event will tell of it again.
  if (may_read() && (held_back || may_dispatch())) process_soon();
  arm_timer();
}

void Http2Session::take(std::string_view bytes) {
  wire_.receive(bytes, worker_.loop().now());
  fill();  // may find that the connection is over: then nothing of it is handled
  if (state_ != State::kOpen) return;
  ask_for_bodies();
  dispatch();
  fill();
}

Http2Stream* Http2Session::on_stream(std::int32_t id) {
  cookie_.clear();
  auto exchange = std::make_shared<Http2Exchange>(static_cast<PostedExchange::Sender&>(*this),
                                                  worker_.loop(), worker_.take_request(),
                                                  worker_.options().max_stream_pending);
  exchange->id = id;
  exchange->place = exchanges_.size();
  exchange->answers = answers_held_;
  Request& request = exchange->request();
  request.method.clear();
  request.target.clear();
  exchanges_.push_back(std::move(exchange));
  return exchanges_.back().get();
}

void Http2Session::on_field(Http2Stream& stream, std::string_view name, std::string_view value) {
  Http2Exchange& exchange = exchange_of(stream);
  Request& request = exchange.request();
  // A few bytes can name a long field again and again, on every stream.
  if (exchange.head.add(heads_held_, kFieldCost + name.size() + value.size()) > kMaxHeads) {
    exchange.refusal = 431;
    return;
  }
  if (name.starts_with(':')) {
    if (name == ":method") request.method.assign(value);
    if (name == ":path" && value.size() > RequestParser::kMaxTarget) exchange.refusal = 414;
    if (name == ":path") request.target.assign(value);
    if (name == ":authority") take_host(exchange, value);
    return;
  }
  if (name == "host") return take_host(exchange, value);
  if (name == "content-length") take_length(exchange, value);
  if (name == "expect") take_expectation(exchange, value);
  if (name != "cookie") return request.headers.add(name, value);
  // RFC 9113 section 8.2.3: it may come in parts.
  if (!cookie_.empty()) cookie_ += "; ";
  cookie_ += value;
}

// Two readers must not disagree about the host.
void Http2Session::take_host(Http2Exchange& exchange, std::string_view value) {
  Headers& headers = exchange.request().headers;
  const bool is_known = headers.has("host");
  if (!is_host(value) || (is_known && headers.get("host") != value)) exchange.refusal = 400;
  if (!is_known) headers.add("host", value);
}

void Http2Session::take_length(Http2Exchange& exchange, std::string_view value) {
  const auto length = parse_length(value);
  exchange.length = length.value_or(0);
  if (!length) exchange.refusal = 400;
}

void Http2Session::take_expectation(Http2Exchange& exchange, std::string_view value) {
  exchange.expects_continue = equals_ignoring_case(value, "100-continue");
  if (!exchange.expects_continue) exchange.refusal = 417;
}

void Http2Session::on_head(Http2Stream& stream, bool too_large, bool end) {
  Http2Exchange& exchange = exchange_of(stream);
  Request& request = exchange.request();
  if (!cookie_.empty()) request.headers.add("cookie", cookie_);
  cookie_.clear();
  if (cookie_.capacity() > kKeptCookie) std::string().swap(cookie_);
  if (too_large) return refuse(exchange, 431, {});
  if (request.method == "CONNECT") return refuse(exchange, 405, {});
  if (exchange.refusal) return refuse(exchange, exchange.refusal, {});
  if (!read_target(std::string(request.target), request)) return refuse(exchange, 400, {});
  if (end) return make_ready(exchange);
  if (exchange.length > worker_.options().max_body) {
    request.body_too_large = true;
    return make_ready(exchange);
  }
  exchange.stage = Http2Exchange::Stage::kBody;
  exchange.since = worker_.loop().now();
  ++reading_;
  heads_.push_back(exchanges_[exchange.place]);
}

// Asks about bodies that are not here yet, now that everything that had arrived is read.
void Http2Session::ask_for_bodies() {
  for (const ExchangePtr& exchange : std::exchange(heads_, {})) {
    if (exchange->is_let_go() || exchange->stage != Http2Exchange::Stage::kBody) continue;
    Request& request = exchange->request();
    request.peer = connection_->peer();
    // The handler works from here on, whatever becomes of the stream.
    if (is_full()) {
      reset(*exchange, Code::kRefusedStream);
      continue;
    }
    if (!worker_.bodies()->has_room(0)) {
      refuse(*exchange, 429, kTooManyBodies);
      continue;
    }
    exchange->count_up(running_);
    if (!worker_.handler().wants_body(exchange)) {
      request.body_withheld = true;
      make_ready(*exchange);
      continue;
    }
    request.body.reserve(std::min(exchange->length, kBodyReserve));
    if (exchange->expects_continue && request.body.empty()) wire_.send_continue(*exchange);
  }
}

void Http2Session::withhold_body(PostedExchange& posted) {
  Http2Exchange& exchange = exchange_of(posted);
  if (exchange.stage != Http2Exchange::Stage::kBody) return;
  exchange.forget_body();
  exchange.request().body_withheld = true;
  make_ready(exchange);
  process_soon();
}

void Http2Session::on_data(Http2Stream& stream, std::string_view bytes) {
  Http2Exchange& exchange = exchange_of(stream);
  if (exchange.stage != Http2Exchange::Stage::kBody) return;
  Request& request = exchange.request();
  if (request.body.size() + bytes.size() > worker_.options().max_body) {
    exchange.forget_body();
    request.body_too_large = true;
    return make_ready(exchange);
  }
  request.body.append(bytes);
  exchange.body_share.grow_to(request.body.size(), bodies_);
  if (!worker_.bodies()->has_room(0)) {
    exchange.forget_body();
    return refuse(exchange, 429, kTooManyBodies);
  }
  exchange.not_granted += bytes.size();
  if (exchange.not_granted > Http2Wire::kStreamWindow / 2) grant(exchange);
}

// Few large bodies at a time; the others wait with what they could send unasked.
void Http2Session::grant(Http2Exchange& exchange) {
  if (!exchange.is_large) {
    const ExchangePtr& self = exchanges_[exchange.place];
    if (!may_read_large()) {
      if (std::find(large_.begin(), large_.end(), self) == large_.end()) large_.push_back(self);
      return;
    }
    exchange.is_large = true;
    ++large_bodies_;
  }
  wire_.grant(exchange, std::exchange(exchange.not_granted, 0));
}

bool Http2Session::may_read_large() const {
  return large_bodies_ < kMaxLargeBodies && bodies_->has_room(worker_.options().max_body);
}

void Http2Session::grant_waiting() {
  while (!large_.empty() && may_read_large()) {
    const ExchangePtr next = std::move(large_.front());
    large_.erase(large_.begin());
    next->since = worker_.loop().now();  // it has waited for us
    grant(*next);
  }
}

void Http2Session::stop_reading(Http2Exchange& exchange) {
  if (exchange.stage != Http2Exchange::Stage::kBody) return;
  --reading_;
  std::erase_if(large_, [&](const ExchangePtr& one) { return one.get() == &exchange; });
  if (!std::exchange(exchange.is_large, false)) return;
  --large_bodies_;
  grant_waiting();
}

void Http2Session::on_end(Http2Stream& stream) {
  if (exchange_of(stream).stage == Http2Exchange::Stage::kBody) make_ready(exchange_of(stream));
}

void Http2Session::make_ready(Http2Exchange& exchange) {
  stop_reading(exchange);
  exchange.stage = Http2Exchange::Stage::kReady;
  ready_.push_back(exchanges_[exchange.place]);
}

bool Http2Session::is_full() const {
  return running_->load(std::memory_order_relaxed) >= worker_.options().max_concurrent_streams;
}

bool Http2Session::may_dispatch() const {
  return state_ == State::kOpen && !ready_.empty() &&
         wire_.unsent() + answers_held_->load(std::memory_order_relaxed) < kMaxAnswers;
}

// A stream that was reset before its turn costs the handler nothing.
void Http2Session::dispatch() {
  std::size_t done = 0;
  for (; done < ready_.size() && may_dispatch(); ++done) {
    const ExchangePtr exchange = std::move(ready_[done]);
    if (exchange->is_let_go()) continue;
    if (!exchange->is_counted() && is_full())
      reset(*exchange, Code::kRefusedStream);
    else
      handle(exchange);
  }
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(done));
}

void Http2Session::handle(const ExchangePtr& exchange) {
  exchange->stage = Http2Exchange::Stage::kHandled;
  exchange->count_up(running_);
  exchange->request().peer = connection_->peer();
  if (worker_.draws_goaway()) wire_.go_away();
  worker_.handler().handle(exchange);
  // Held here and in the list: the handler has done with it.
  if (exchange->is_let_go() && exchange.use_count() <= 2) give_back(*exchange);
}

void Http2Session::give_back(Http2Exchange& exchange) {
  worker_.give_back(std::move(exchange.request()));
  exchange.head.give_back();
  exchange.body_share.give_back();
}

// --- answering ----------------------------------------------------------------------------------

void Http2Session::write_head(Http2Exchange& exchange, const Response& response, bool known_length,
                              bool end) {
  std::string_view date = worker_.date_header();  // "Date: ...\r\n"
  date.remove_prefix(date.find(' ') + 1);
  date.remove_suffix(2);
  std::optional<std::size_t> length;
  if (known_length && may_have_body(response.status)) length = response.body.size();
  wire_.send_head(exchange, response, date, length, end);
  if (exchange.is_counted() && !exchange.request().from_stranger) knows_sender_ = true;
  if (exchange.request().from_stranger || says_close(response.headers)) wire_.go_away();
}

void Http2Session::add(Http2Exchange& exchange, const Piece& piece) {
  if (exchange.unsent == 0) exchange.since = worker_.loop().now();
  wire_.add(exchange, piece);
}

// The handler has said everything.
void Http2Session::answered(Http2Exchange& exchange) {
  exchange.last = true;
  exchange.count_down();
  exchange.let_go(true);
}

void Http2Session::send_response(PostedExchange& posted, const Response& response) {
  Http2Exchange& exchange = exchange_of(posted);
  const bool has_body = exchange.request().method != "HEAD" && may_have_body(response.status) &&
                        response.body.size() > 0;
  write_head(exchange, response, true, !has_body);
  if (has_body)
    for (std::size_t i = 0; i < response.body.pieces(); ++i) add(exchange, response.body.piece(i));
  answered(exchange);
  process_soon();
}

void Http2Session::begin_stream(PostedExchange& posted, const Response& head) {
  Http2Exchange& exchange = exchange_of(posted);
  exchange.has_body = exchange.request().method != "HEAD" && may_have_body(head.status);
  write_head(exchange, head, false, !exchange.has_body);
  if (exchange.has_body)
    for (std::size_t i = 0; i < head.body.pieces(); ++i) add(exchange, head.body.piece(i));
  exchange.set_unsent(exchange.unsent);
  process_soon();
}

void Http2Session::send_pieces(PostedExchange& posted, std::vector<Piece> pieces, bool last) {
  Http2Exchange& exchange = exchange_of(posted);
  if (exchange.has_body)
    for (const Piece& piece : pieces) add(exchange, piece);
  exchange.set_unsent(exchange.unsent);
  if (last) answered(exchange);
  if (exchange.unsent == 0 && !last) return;
  if (exchange.has_body) wire_.resume(exchange);
  process_soon();
}

void Http2Session::abort(PostedExchange& posted) {
  reset(exchange_of(posted), Code::kInternalError);
  process_soon();
}

// What cannot be understood is answered in plain text, as over HTTP/1. Nobody has asked who sends
// it: on a connection without any known sender it is the last answer.
void Http2Session::refuse(Http2Exchange& exchange, int status, std::string_view text) {
  const std::string_view colon = text.empty() ? "" : ": ";
  refuse_with(exchange, status, cat(status, " ", status_text(status), colon, text));
}

void Http2Session::refuse_with(Http2Exchange& exchange, int status, std::string body) {
  stop_reading(exchange);
  const bool is_unseen = exchange.stage == Http2Exchange::Stage::kHead;
  // 431 of a field: there is too much on this connection.
  if (exchange.refusal == 431 || (is_unseen && !knows_sender_))
    exchange.request().from_stranger = true;
  exchange.stage = Http2Exchange::Stage::kHandled;
  send_response(exchange, {.status = status,
                           .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                           .body = std::move(body)});
  if (is_unseen) give_back(exchange);
}

void Http2Session::reset(Http2Exchange& exchange, Code code) {
  stop_reading(exchange);
  exchange.stage = Http2Exchange::Stage::kHandled;
  wire_.reset(exchange, code);
  if (!exchange.is_let_go()) exchange.let_go(false);
}

void Http2Session::on_sent(Http2Stream& stream) {
  Http2Exchange& exchange = exchange_of(stream);
  exchange.since = worker_.loop().now();
  exchange.set_unsent(exchange.unsent);
}

// Nobody reads the rest of its body. But a reset at once would make some clients drop the answer.
void Http2Session::on_answered_early(Http2Stream& stream) {
  Http2Exchange& exchange = exchange_of(stream);
  exchange.lingers = true;
  exchange.since = worker_.loop().now();
  ++lingering_;
}

void Http2Session::on_closed(Http2Stream& stream, Code) {
  Http2Exchange& exchange = exchange_of(stream);
  if (exchange.lingers) --lingering_;
  stop_reading(exchange);
  const bool was_ready = exchange.stage == Http2Exchange::Stage::kReady;
  exchange.stage = Http2Exchange::Stage::kHandled;
  const std::size_t place = exchange.place;
  const ExchangePtr closed = std::move(exchanges_[place]);
  if (was_ready) std::erase(ready_, closed);
  if (place + 1 != exchanges_.size()) {
    exchanges_[place] = std::move(exchanges_.back());
    exchanges_[place]->place = place;
  }
  exchanges_.pop_back();
  if (exchanges_.empty()) idle_since_ = worker_.loop().now();
  if (!closed->is_let_go()) closed->let_go(false);
  closed->answer.give_back();
}

// --- the connection -----------------------------------------------------------------------------

// Not inside another session's call, because all sessions of the loop share the read buffer; and
// once for all that is written in one turn.
void Http2Session::process_soon() {
  if (!processing_) schedule();
}

void Http2Session::schedule() {
  if (std::exchange(scheduled_, true)) return;
  worker_.loop().post([self = shared_from_this()] {
    self->scheduled_ = false;
    self->process();
  });
}

void Http2Session::fill() {
  wire_.fill();
  if (wire_.take_goaway_sent()) goaway_unsent_ = true;
  if (wire_.over()) drain();
}

void Http2Session::flush() {
  for (int rounds = 0; state_ == State::kOpen || state_ == State::kDraining; ++rounds) {
    if (state_ == State::kOpen) fill();
    if (output_.pending() == 0) break;
    const net::Io outcome = output_.flush(*connection_);
    if (outcome == net::Io::kFailed) return close_now();
    if (outcome == net::Io::kDone) wrote_ = worker_.loop().now();
    if (output_.pending() > 0) break;
    if (rounds == kFlushesPerTurn) {
      process_soon();
      break;
    }
  }
  if (output_.pending() == 0) goaway_unsent_ = false;
  if (state_ == State::kDraining && output_.pending() == 0) linger();
}

void Http2Session::drain() {
  if (state_ != State::kOpen) return;
  state_ = State::kDraining;
  for (const ExchangePtr& exchange : std::exchange(exchanges_, {}))
    if (!exchange->is_let_go()) exchange->let_go(false);
  heads_.clear();
  ready_.clear();
  large_.clear();
}

void Http2Session::linger() {
  connection_->shutdown();
  if (no_linger_) return close_now();
  state_ = State::kLingering;
  timer_.start(worker_.options().linger_timeout);
  if (!discard_.from(*connection_, worker_.read_buffer())) close_now();
}

void Http2Session::on_timer() {
  if (state_ == State::kLingering) return close_now();
  const ServerOptions& options = worker_.options();
  const net::SteadyTime now = worker_.loop().now();
  if (output_.pending() > 0 && now - wrote_ >= options.write_timeout) return close_now();
  if (state_ != State::kOpen) return arm_timer();
  if (!wire_.greeted() && now - idle_since_ >= options.header_timeout) return close_now();
  if (wire_.in_head() && now - wire_.head_began() >= options.header_timeout)
    wire_.fail(Code::kProtocolError);
  if (exchanges_.empty() && now - idle_since_ >= options.idle_timeout) wire_.go_away();
  if (is_pinged_ && now - pinged_ >= options.write_timeout) return close_now();
  if (!is_pinged_ && !exchanges_.empty() && now - heard_ >= options.ping_after) {
    is_pinged_ = true;
    pinged_ = now;
    wire_.ping();
  }
  check_streams(now);
  process();
}

// Answers or resets streams that wait too long for their clients.
void Http2Session::check_streams(net::SteadyTime now) {
  const ServerOptions& options = worker_.options();
  for (std::size_t i = 0; i < exchanges_.size(); ++i) {
    Http2Exchange& exchange = *exchanges_[i];
    if (exchange.stage == Http2Exchange::Stage::kBody) {
      if (now - exchange.since < options.body_timeout) continue;
      if (options.late_body.empty())
        refuse(exchange, 408, {});
      else
        refuse_with(exchange, 504, options.late_body);
    } else if (exchange.unsent > 0 && now - exchange.since >= options.write_timeout) {
      reset(exchange, Code::kCancel);
    } else if (exchange.lingers && now - exchange.since >= options.linger_timeout) {
      reset(exchange, Code::kNoError);
    }
  }
}

// The timer may run out early, and on_timer() then finds nothing to do. It is never moved away: on
// a busy connection it would not run out at all.
void Http2Session::arm_timer() {
  if (state_ != State::kOpen && state_ != State::kDraining) return;
  const ServerOptions& options = worker_.options();
  const net::SteadyTime now = worker_.loop().now();
  net::SteadyTime due = exchanges_.empty() ? idle_since_ + options.idle_timeout
                                           : heard_ + options.ping_after;
  if (!wire_.greeted()) due = std::min(due, idle_since_ + options.header_timeout);
  if (wire_.in_head()) due = std::min(due, wire_.head_began() + options.header_timeout);
  if (output_.pending() > 0 || reading_ > 0 || wire_.unsent() > 0 || is_pinged_)
    due = now + std::min(options.write_timeout, options.body_timeout) / kChecksPerTimeout;
  // Nobody tells when a handler gives a body back.
  if (!large_.empty() && large_bodies_ < kMaxLargeBodies) due = now + kLookForRoom;
  if (lingering_ > 0) due = std::min(due, now + options.linger_timeout);
  if (timer_.pending() && timer_due_ <= due) return;
  timer_due_ = std::max(due, now + std::chrono::milliseconds(1));
  timer_.start(std::chrono::ceil<std::chrono::milliseconds>(timer_due_ - now));
}

}  // namespace cardea::http

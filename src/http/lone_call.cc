#include "http/lone_call.h"

#include "base/strings.h"
#include "http/client_call.h"

namespace cardea::http {
namespace {

constexpr std::size_t kLoneReadBuffer = 64 * 1024;
constexpr int kReadsInARow = 8;  // then others have their turn

ResponseParser::To asked_by(const Call& call) {
  if (call.method == "CONNECT") return ResponseParser::To::kConnect;
  if (call.method == "HEAD") return ResponseParser::To::kHead;
  return call.headers.has("Upgrade") ? ResponseParser::To::kUpgrade : ResponseParser::To::kOther;
}

}  // namespace

LoneCall::LoneCall(net::Loop& loop, std::shared_ptr<const net::TlsClient> tls, Call call,
                   std::shared_ptr<AnswerReader> reader)
    : loop_(loop),
      tls_(std::move(tls)),
      call_(std::move(call)),
      reader_(std::move(reader)),
      timer_(loop,
             [this] {
               failed(Error::of(Reason::kTimeout,
                                has_sent_ ? "timeout awaiting response headers"
                                          : cat("dial tcp ", url_.authority, ": i/o timeout")));
             }),
      parser_(asked_by(call_)) {}

std::shared_ptr<LoneCall> LoneCall::open(net::Loop& loop, net::Dialer& dialer,
                                         std::shared_ptr<const net::TlsClient> tls, Call call,
                                         LoneCallOptions options,
                                         std::shared_ptr<AnswerReader> reader) {
  auto self = std::make_shared<LoneCall>(loop, std::move(tls), std::move(call), std::move(reader));
  auto url = parse_url(self->call_.url);
  if (url && url->tls && !self->tls_) url = fail(internal_error("there are no TLS settings"));
  if (!url) {
    loop.post([self, error = url.error()] { self->failed(error); });
    return self;
  }
  self->url_ = std::move(*url);
  self->timer_.start(options.connect_timeout);
  const Call& c = self->call_;
  dialer.dial(
      loop, c.connect_host.empty() ? self->url_.host : c.connect_host,
      c.connect_port ? c.connect_port : self->url_.port,
      [self](Result<net::Socket> socket) { self->dialed(std::move(socket)); },
      std::move(options.admits));
  return self;
}

void LoneCall::dialed(Result<net::Socket> socket) {
  if (is_over_) return;
  if (!socket) return failed(socket.error());
  connection_ = url_.tls ? tls_->connect(loop_, std::move(*socket), url_.host)
                         : net::make_plain_connection(loop_, std::move(*socket));
  if (auto watched = connection_->start(*this); !watched) return failed(watched.error());
  on_ready();
}

bool LoneCall::is_connected() {
  if (has_begun_) return true;
  const net::Io outcome = connection_->handshake();
  if (outcome == net::Io::kWouldBlock && !connection_->broken()) return false;
  if (outcome != net::Io::kDone) {
    failed(Error::of(Reason::kServiceUnavailable, why_broken()));
    return false;
  }
  begin();
  return true;
}

void LoneCall::begin() {
  has_begun_ = true;
  connection_->notice_loss();
  append_head(output_.text(), call_, url_);
  output_.wrote();
  output_.append(Piece{shared_from_this(), call_.body});
}

void LoneCall::on_ready() {
  const auto self = shared_from_this();
  if (is_over_ || !is_connected()) return;
  flush();
  if (!is_over_ && !is_paused_) read();
}

void LoneCall::flush() {
  if (cannot_send_ || is_over_) return;
  const bool had_some = output_.pending() > 0;
  const net::Io outcome = had_some ? output_.flush(*connection_) : net::Io::kWouldBlock;
  if (outcome == net::Io::kFailed) {
    // The server may have answered without reading on: what it said is still read.
    cannot_send_ = true;
    output_.clear();
    return;
  }
  // A plain connection is known to be there when it takes something.
  if (outcome == net::Io::kDone && !std::exchange(has_sent_, true))
    call_.timeout.count() > 0 ? timer_.start(call_.timeout) : timer_.cancel();
  if (output_.pending() > 0) return;
  std::string().swap(call_.body);  // it is on its way
  if (is_finished_) {
    cannot_send_ = true;
    connection_->shutdown();
  }
  if (had_some && reader_) reader_->on_drained();
}

void LoneCall::write(std::string_view bytes) {
  if (is_over_ || is_finished_ || cannot_send_ || bytes.empty()) return;
  if (output_.pending() == 0) {
    const net::IoResult sent = connection_->write({&bytes, 1});
    if (sent.status == net::Io::kDone) bytes.remove_prefix(sent.bytes);
    if (bytes.empty()) return;
  }
  output_.append(bytes);
  // Not inside the caller's call: it is not to be told of the end in the middle of it.
  loop_.post([self = shared_from_this()] {
    if (!self->is_over_) self->on_ready();
  });
}

void LoneCall::finish() {
  if (is_over_ || std::exchange(is_finished_, true)) return;
  loop_.post([self = shared_from_this()] { self->flush(); });
}

void LoneCall::cancel() {
  const auto dropped = let_go();
}

void LoneCall::read_on() {
  if (is_over_ || !std::exchange(is_paused_, false)) return;
  loop_.post([self = shared_from_this()] {
    if (!self->is_over_ && self->has_begun_) self->read();
  });
}

void LoneCall::read() {
  char buffer[kLoneReadBuffer];
  for (int reads = 0; !is_over_ && !is_paused_ && !input_ended_; ++reads) {
    if (reads == kReadsInARow) {
      loop_.post([self = shared_from_this()] {
        if (!self->is_over_ && !self->is_paused_) self->read();
      });
      return;
    }
    const net::IoResult got = connection_->read(buffer);
    if (got.status == net::Io::kWouldBlock) return;
    if (got.status == net::Io::kEnd) return ended();
    if (got.status == net::Io::kFailed)
      return failed(Error::of(Reason::kServiceUnavailable, why_broken()));
    consume({buffer, got.bytes});
  }
}

void LoneCall::consume(std::string_view input) {
  while (!is_over_) {
    switch (parser_.next(input)) {
      case ResponseParser::Event::kNeedMore:
        return;
      case ResponseParser::Event::kHead:
        timer_.cancel();
        reader_->on_head(parser_.status(), parser_.headers());
        break;
      case ResponseParser::Event::kBody:
        if (!reader_->on_data(parser_.body())) is_paused_ = true;
        break;
      case ResponseParser::Event::kEnd:
        let_go()->on_end({});
        return;
      case ResponseParser::Event::kError:
        return failed(Error::of(Reason::kServiceUnavailable,
                                cat("malformed HTTP response: ", parser_.error())));
    }
  }
}

void LoneCall::ended() {
  input_ended_ = true;
  if (!parser_.end_of_input())
    return failed(Error::of(Reason::kServiceUnavailable, parser_.any_byte() ? "unexpected EOF"
                                                         : has_sent_        ? "EOF"
                                                                            : why_broken()));
  const auto reader = reader_;
  if (!parser_.is_tunnel()) let_go();
  reader->on_end({});
}

void LoneCall::failed(Error error) {
  if (is_over_) return;
  let_go()->on_failure(error);
}

std::string LoneCall::why_broken() const {
  const std::string why = connection_->failure();
  if (parser_.any_byte()) return why;
  constexpr std::string_view kOnTheWay[] = {"connection refused", "no route to host",
                                            "network is unreachable", "connection timed out"};
  for (std::string_view one : kOnTheWay)
    if (why == one) return cat("dial tcp ", url_.authority, ": connect: ", why);
  return has_begun_ || !url_.tls ? why : cat("tls: ", why);
}

std::shared_ptr<AnswerReader> LoneCall::let_go() {
  is_over_ = true;
  timer_.cancel();
  output_.clear();
  if (connection_) connection_->close();
  loop_.bury(shared_from_this());
  return std::exchange(reader_, nullptr);
}

}  // namespace cardea::http

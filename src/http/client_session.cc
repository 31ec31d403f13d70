#include "http/client_session.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::http {
namespace {

constexpr std::size_t kReadBuffer = 16 * 1024;
constexpr int kReadsOfOneTurn = 16;  // of an answer that is read as it comes

}  // namespace

ClientSession::ClientSession(net::Loop& loop, Owner& owner,
                             std::unique_ptr<net::Connection> connection,
                             const ClientOptions& options)
    : owner_(owner),
      options_(options),
      connection_(std::move(connection)),
      idle_timer_(loop, [this] { failed("idle for too long"); }),
      output_(memory_),
      loop_(loop) {
  connection_->hand_over(*this);
}

void ClientSession::close() {
  idle_timer_.cancel();
  connection_->close();
  if (pending_) pending_->session = nullptr;
  pending_.reset();
}

void ClientSession::send(std::shared_ptr<Pending> pending, bool reused) {
  idle_timer_.cancel();
  pending_ = std::move(pending);
  reused_ = reused;
  waits_ = false;
  ++calls_;
  parser_.emplace(pending_->call.method == "HEAD" ? ResponseParser::To::kHead
                                                  : ResponseParser::To::kOther);
  body_.clear();
  write_call();
  if (pending_->flow) pending_->flow->attach(*this, 0);
  on_ready();
}

void ClientSession::write_call() {
  const Call& call = pending_->call;
  append_head(output_.text(), call, pending_->url);
  output_.wrote();
  output_.append(Piece{pending_, call.body});
}

void ClientSession::on_ready() {
  if (output_.pending() > 0 && output_.flush(*connection_) == net::Io::kFailed) {
    // The server may have refused without reading on; its answer is worth more than our failed
    // write.
    output_.clear();
    if (!pending_) return failed(connection_->failure());
  }
  read();
}

void ClientSession::read() {
  char buffer[kReadBuffer];
  for (int reads = 0; !waits_; ++reads) {
    if (reads == kReadsOfOneTurn && pending_ && pending_->flow) {
      waits_ = true;
      return read_on(0);  // others have their turn
    }
    const net::IoResult got = connection_->read(buffer);
    if (pending_) connection_->acknowledge_at_once();
    if (got.status == net::Io::kWouldBlock) return;
    if (got.status == net::Io::kEnd && pending_ && parser_->end_of_input()) return answered(true);
    if (got.status != net::Io::kDone) return failed(connection_->failure());
    if (!pending_) return failed("bytes without a request");
    if (!consume({buffer, got.bytes})) return;
  }
}

bool ClientSession::consume(std::string_view input) {
  for (;;) {
    switch (parser_->next(input)) {
      case ResponseParser::Event::kNeedMore:
        return true;
      case ResponseParser::Event::kHead:
        if (!pending_->flow) break;
        owner_.on_head(pending_);
        pending_->flow->reader().on_head(parser_->status(), parser_->headers());
        break;
      case ResponseParser::Event::kBody:
        if (!take(parser_->body())) return false;
        break;
      case ResponseParser::Event::kEnd:
        answered(!input.empty());
        return false;
      case ResponseParser::Event::kError:
        failed(cat("malformed answer: ", parser_->error()));
        return false;
    }
  }
}

bool ClientSession::take(std::string_view bytes) {
  if (Flow* flow = pending_->flow.get()) {
    // What has been read already still comes.
    if (!flow->is_cancelled() && !flow->reader().on_data(bytes)) waits_ = true;
    return true;
  }
  if (body_.size() + bytes.size() > options_.max_body) {
    failed(cat("the answer is larger than ", options_.max_body, " bytes"));
    return false;
  }
  body_.append(bytes);
  return true;
}

// Not inside the reader's call. The session lives until the pool drops it, which closes the call.
void ClientSession::read_on(std::int32_t) {
  if (!waits_ || !pending_) return;
  loop_.post([this, call = calls_, alive = std::weak_ptr<Pending>(pending_)] {
    const auto pending = alive.lock();
    if (!pending || pending->session != this || call != calls_ || !waits_) return;
    waits_ = false;
    on_ready();
  });
}

void ClientSession::answered(bool input_left) {
  // An answer that came before we had sent everything leaves the connection in the middle of a
  // request.
  const bool reusable = parser_->keep_alive() && !input_left && output_.pending() == 0;
  Answer answer{parser_->status(), std::move(parser_->headers()), std::move(body_), {}};
  body_ = {};
  parser_.reset();
  waits_ = false;
  idle_timer_.start(options_.idle_timeout);
  const auto done = std::move(pending_);
  done->session = nullptr;
  if (done->flow) return owner_.on_end(*this, done, reusable);
  owner_.on_answer(*this, done, std::move(answer), reusable);
}

void ClientSession::failed(std::string why) {
  const bool stale = reused_ && pending_ && !parser_->any_byte();
  const auto lost = std::move(pending_);
  owner_.on_failure(*this, lost, std::move(why), stale);
}

}  // namespace cardea::http

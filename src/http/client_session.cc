#include "http/client_session.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::http {
namespace {

constexpr std::size_t kReadBuffer = 16 * 1024;

}  // namespace

ClientSession::ClientSession(net::Loop& loop, Owner& owner,
                             std::unique_ptr<net::Connection> connection,
                             const ClientOptions& options)
    : owner_(owner),
      options_(options),
      connection_(std::move(connection)),
      idle_timer_(loop, [this] { failed("idle for too long"); }),
      output_(memory_) {
  connection_->hand_over(*this);
}

void ClientSession::close() {
  idle_timer_.cancel();
  connection_->close();
  pending_.reset();
}

void ClientSession::send(std::shared_ptr<Pending> pending, bool reused) {
  idle_timer_.cancel();
  pending_ = std::move(pending);
  reused_ = reused;
  parser_.emplace(pending_->call.method == "HEAD");
  body_.clear();
  write_call();
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
  for (;;) {
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
        break;
      case ResponseParser::Event::kBody:
        if (body_.size() + parser_->body().size() > options_.max_body) {
          failed(cat("the answer is larger than ", options_.max_body, " bytes"));
          return false;
        }
        body_.append(parser_->body());
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

void ClientSession::answered(bool input_left) {
  Answer answer{parser_->status(), std::move(parser_->headers()), std::move(body_)};
  // An answer that came before we had sent everything leaves the connection in the middle of a
  // request.
  const bool reusable = parser_->keep_alive() && !input_left && output_.pending() == 0;
  body_ = {};
  parser_.reset();
  idle_timer_.start(options_.idle_timeout);
  const auto done = std::move(pending_);
  done->session = nullptr;
  owner_.on_answer(*this, done, std::move(answer), reusable);
}

void ClientSession::failed(std::string why) {
  const bool stale = reused_ && pending_ && !parser_->any_byte();
  const auto lost = std::move(pending_);
  owner_.on_failure(*this, lost, std::move(why), stale);
}

}  // namespace cardea::http

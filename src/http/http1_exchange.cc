#include "http/http1_exchange.h"

#include <utility>

#include "base/result.h"
#include "http/http1_session.h"

namespace cardea::http {

Http1Exchange::Http1Exchange(Http1Session& session, net::Loop& loop, Request memory,
                             std::size_t max_pending)
    : Exchange(loop), session_(&session), max_pending_(max_pending) {
  request_ = std::move(memory);
}

void Http1Exchange::respond(Response response) {
  CARDEA_CHECK(!answered_.exchange(true));
  response_ = std::move(response);
  if (loop_.in_loop()) return deliver();
  loop_.post([self = shared_from_this()] { self->deliver(); });
}

void Http1Exchange::deliver() {
  Response response = std::move(response_);
  if (session_) session_->send_response(response);
}

std::shared_ptr<Stream> Http1Exchange::stream(Response head) {
  CARDEA_CHECK(!answered_.exchange(true));
  response_ = std::move(head);
  auto self = shared_from_this();
  auto begin = [self] {
    Response first = std::move(self->response_);
    self->streaming_ = true;
    if (self->session_) self->session_->begin_stream(first);
    self->pump();
  };
  if (loop_.in_loop())
    begin();
  else
    loop_.post(std::move(begin));
  return self;
}

void Http1Exchange::on_close(net::Callback callback) {
  {
    std::lock_guard lock(mutex_);
    if (!over_) {
      on_close_.push_back(std::move(callback));
      return;
    }
    if (!gone_) return;
  }
  loop_.post(std::move(callback));
}

bool Http1Exchange::write(Piece piece) {
  bool kept = true;
  {
    std::lock_guard lock(mutex_);
    if (over_ || finished_ || aborted_) return false;
    if (queued_ + unsent_.load(std::memory_order_relaxed) > max_pending_) {
      aborted_ = true;
      kept = false;
      queue_ = {};
      queued_ = 0;
    } else if (!piece.bytes.empty()) {
      queued_ += piece.bytes.size();
      queue_.push_back(std::move(piece));
    }
    if (std::exchange(scheduled_, true)) return kept;
  }
  schedule_pump();
  return kept;
}

void Http1Exchange::finish() {
  {
    std::lock_guard lock(mutex_);
    if (over_ || std::exchange(finished_, true) || std::exchange(scheduled_, true)) return;
  }
  schedule_pump();
}

void Http1Exchange::abort() {
  {
    std::lock_guard lock(mutex_);
    if (over_ || std::exchange(aborted_, true) || std::exchange(scheduled_, true)) return;
  }
  schedule_pump();
}

std::size_t Http1Exchange::pending_bytes() const {
  std::lock_guard lock(mutex_);
  return queued_ + unsent_.load(std::memory_order_relaxed);
}

void Http1Exchange::schedule_pump() {
  loop_.post([self = shared_from_this()] { self->pump(); });
}

void Http1Exchange::pump() {
  if (!streaming_) return;  // the stream's beginning was posted by a slower thread; it pumps
  std::vector<Piece> pieces;
  bool finished;
  bool aborted;
  {
    std::lock_guard lock(mutex_);
    pieces.swap(queue_);
    queued_ = 0;
    scheduled_ = false;
    finished = finished_;
    aborted = aborted_;
  }
  if (!session_) return;
  if (aborted) return session_->close_now();
  session_->send_chunk(pieces, finished);
}

void Http1Exchange::let_go(bool answered) {
  session_ = nullptr;
  std::vector<net::Callback> callbacks;
  std::vector<Piece> dropped;
  {
    std::lock_guard lock(mutex_);
    over_ = true;
    gone_ = !answered;
    callbacks.swap(on_close_);
    dropped.swap(queue_);
    queued_ = 0;
  }
  set_unsent(0);
  if (answered) return;
  for (auto& callback : callbacks) callback();
}

}  // namespace cardea::http

#include "http/posted_exchange.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "http/gzip.h"

namespace cardea::http {
namespace {

// A large answer by itself does not keep others waiting.
constexpr std::size_t kMostHeld = 8u << 20;

}  // namespace

PostedExchange::PostedExchange(Sender& sender, net::Loop& loop, Request memory,
                               std::size_t max_pending)
    : Exchange(loop), sender_(&sender), max_pending_(max_pending) {
  request_ = std::move(memory);
}

void PostedExchange::respond(Response response) {
  if (response.gzip && request_.method != "HEAD") {
    if (!loop_.in_loop()) {
      loop_.post([self = shared_from_this(), response = std::move(response)]() mutable {
        self->respond(std::move(response));
      });
      return;
    }
    is_whole_ = true;
    hold_answer(std::min(response.body.size(), kMostHeld));
    return respond_compressed(*this, std::move(response));
  }
  CARDEA_CHECK(!answered_.exchange(true));
  response_ = std::move(response);
  if (loop_.in_loop()) return deliver();
  loop_.post([self = shared_from_this()] { self->deliver(); });
}

void PostedExchange::deliver() {
  Response response = std::move(response_);
  if (sender_) sender_->send_response(*this, response);
}

std::shared_ptr<Stream> PostedExchange::stream(Response head) {
  CARDEA_CHECK(!answered_.exchange(true));
  response_ = std::move(head);
  auto self = shared_from_this();
  auto begin = [self] {
    Response first = std::move(self->response_);
    self->streaming_ = true;
    if (self->sender_) self->sender_->begin_stream(*self, first);
    self->pump();
  };
  if (loop_.in_loop())
    begin();
  else
    loop_.post(std::move(begin));
  return self;
}

std::shared_ptr<Tunnel> PostedExchange::upgrade(Response head, std::shared_ptr<Receiver> receiver) {
  CARDEA_CHECK(!answered_.load());
  if (!sender_ || !sender_->begin_upgrade(*this, head, std::move(receiver))) return nullptr;
  answered_.store(true);
  streaming_ = true;
  return shared_from_this();
}

void PostedExchange::on_close(net::Callback callback) {
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

bool PostedExchange::write(Piece piece) {
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

void PostedExchange::finish() {
  {
    std::lock_guard lock(mutex_);
    if (over_ || std::exchange(finished_, true) || std::exchange(scheduled_, true)) return;
  }
  schedule_pump();
}

void PostedExchange::abort() {
  {
    std::lock_guard lock(mutex_);
    if (over_ || std::exchange(aborted_, true) || std::exchange(scheduled_, true)) return;
  }
  schedule_pump();
}

std::size_t PostedExchange::pending_bytes() const {
  std::lock_guard lock(mutex_);
  return queued_ + unsent_.load(std::memory_order_relaxed);
}

void PostedExchange::when_drained(net::Callback callback) {
  // Kept after the end, a callback that holds this stream would hold it for ever.
  if (!sender_) return;
  drained_ = std::move(callback);
  tell_drained_soon();
}

void PostedExchange::tell_drained_soon() {
  loop_.post([self = shared_from_this()] {
    if (self->drained_ && self->sender_ && self->pending_bytes() == 0)
      std::exchange(self->drained_, nullptr)();
  });
}

void PostedExchange::read_on() {
  loop_.post([self = shared_from_this()] {
    if (self->sender_) self->sender_->read_on(*self);
  });
}

void PostedExchange::schedule_pump() {
  loop_.post([self = shared_from_this()] { self->pump(); });
}

void PostedExchange::pump() {
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
  if (!sender_) return;
  if (aborted) return sender_->abort(*this);
  sender_->send_pieces(*this, std::move(pieces), finished);
}

void PostedExchange::let_go(bool answered) {
  sender_ = nullptr;
  const net::Callback undrained = std::exchange(drained_, nullptr);
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

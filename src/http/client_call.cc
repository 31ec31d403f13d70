#include "http/client_call.h"

namespace cardea::http {

void append_head(std::string& out, const Call& call, const Url& url) {
  const bool is_tunnel = call.method == "CONNECT";
  out.append(call.method).append(" ").append(is_tunnel ? call.tunnel_to : url.target);
  out.append(" HTTP/1.1\r\n");
  if (!call.headers.has("Host"))
    out.append("Host: ").append(is_tunnel ? call.tunnel_to : url.authority).append("\r\n");
  for (const auto& [name, value] : call.headers)
    if (is_token(name) && is_field_value(value))
      out.append(name).append(": ").append(value).append("\r\n");
  if (!call.body.empty() || (call.method != "GET" && call.method != "HEAD" && !is_tunnel))
    out.append("Content-Length: ").append(std::to_string(call.body.size())).append("\r\n");
  out.append("\r\n");
}

bool Flow::write(Piece piece) {
  {
    std::lock_guard lock(mutex_);
    if (over_ || finished_ || cancelled_) return false;
    if (piece.bytes.empty()) return true;
    queued_ += piece.bytes.size();
    queue_.push_back(std::move(piece));
    if (std::exchange(scheduled_, true)) return true;
  }
  schedule();
  return true;
}

void Flow::finish() {
  {
    std::lock_guard lock(mutex_);
    if (over_ || std::exchange(finished_, true) || std::exchange(scheduled_, true)) return;
  }
  schedule();
}

void Flow::cancel() {
  {
    std::lock_guard lock(mutex_);
    if (over_ || std::exchange(cancelled_, true) || std::exchange(scheduled_, true)) return;
  }
  schedule();
}

void Flow::read_on() {
  {
    std::lock_guard lock(mutex_);
    if (over_ || std::exchange(reads_on_, true) || std::exchange(scheduled_, true)) return;
  }
  schedule();
}

std::size_t Flow::pending_bytes() const {
  std::lock_guard lock(mutex_);
  return queued_ + unsent_;
}

void Flow::schedule() {
  loop_.post([self = shared_from_this()] { self->pump(); });
}

void Flow::attach(FlowCarrier& carrier, std::int32_t stream) {
  carrier_ = &carrier;
  stream_ = stream;
  pump();
}

void Flow::pump() {
  std::vector<Piece> pieces;
  bool is_finished;
  bool is_cancelled;
  bool reads_on;
  {
    std::lock_guard lock(mutex_);
    scheduled_ = false;
    is_cancelled = cancelled_;
    if (over_ || (!carrier_ && !is_cancelled)) return;
    pieces.swap(queue_);
    unsent_ += std::exchange(queued_, 0);
    is_finished = finished_;
    reads_on = std::exchange(reads_on_, false);
  }
  if (is_cancelled) {
    if (on_cancel) std::exchange(on_cancel, nullptr)();
    return;
  }
  if (reads_on) carrier_->read_on(stream_);
  if (!pieces.empty() || is_finished) carrier_->write(stream_, std::move(pieces), is_finished);
}

void Flow::set_unsent(std::size_t bytes) {
  bool is_drained;
  {
    std::lock_guard lock(mutex_);
    is_drained = unsent_ > 0 && bytes == 0 && queued_ == 0;
    unsent_ = bytes;
  }
  if (is_drained) reader_->on_drained();
}

bool Flow::end() {
  carrier_ = nullptr;
  on_cancel = nullptr;
  std::vector<Piece> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(queue_);
  queued_ = unsent_ = 0;
  return !std::exchange(over_, true) && !cancelled_;
}

bool Flow::is_cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

}  // namespace cardea::http

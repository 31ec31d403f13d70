#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "http/http2_wire.h"
#include "http/posted_exchange.h"

namespace cardea::http {

// An exchange of an HTTP/2 connection: one stream of it. What is declared here belongs to the
// loop's thread, except for the count.
class Http2Exchange final : public PostedExchange, public Http2Stream {
 public:
  // How many handlers of a connection are at work. A handler that has not answered is at work also
  // when its stream is long gone: otherwise a client that resets its streams could start any
  // number.
  using Running = std::atomic<std::uint32_t>;

  enum class Stage : std::uint8_t {
    kHead,     // being read
    kBody,     // being read
    kReady,    // complete, or all of it that is wanted
    kHandled,  // the handler has it, or the session has answered in its place
  };

  using PostedExchange::PostedExchange;
  ~Http2Exchange() override {
    count_down();
    forget_head();
  }

  bool is_counted() const { return running_ != nullptr; }
  void count_up(std::shared_ptr<Running> running) {
    if (running_) return;
    running_ = std::move(running);
    running_->fetch_add(1, std::memory_order_relaxed);
  }
  void count_down() {
    if (auto counted = std::move(running_)) counted->fetch_sub(1, std::memory_order_relaxed);
  }

  // How many bytes of heads a connection holds, and this exchange's part of them. It counts until
  // the head is gone, which may be later than the stream.
  using Heads = std::atomic<std::size_t>;
  std::size_t add_head(const std::shared_ptr<Heads>& heads, std::size_t bytes) {
    heads_ = heads;
    head_bytes_ += bytes;
    return heads_->fetch_add(bytes, std::memory_order_relaxed) + bytes;
  }
  void forget_head() {
    if (auto heads = std::move(heads_)) heads->fetch_sub(head_bytes_, std::memory_order_relaxed);
    head_bytes_ = 0;
  }

  std::size_t place = 0;        // among the session's
  std::size_t length = 0;       // of the body, as announced
  std::size_t not_granted = 0;  // bytes of the body for which the client has no new window yet
  net::SteadyTime since{};      // its body began to be read; a part of its answer was sent
  Stage stage = Stage::kHead;
  std::uint16_t refusal = 0;  // the status with which its head is to be refused
  bool expects_continue = false;
  bool is_large = false;  // one of the few whose body may be large now
  bool has_body = true;   // the answer
  bool lingers = false;   // is answered; the client still sends

 private:
  std::shared_ptr<Running> running_;
  std::shared_ptr<Heads> heads_;
  std::size_t head_bytes_ = 0;
};

}  // namespace cardea::http

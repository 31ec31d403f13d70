#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "http/http2_wire.h"
#include "http/posted_exchange.h"

namespace cardea::http {

// A part of a sum of bytes that others add to as well. It counts until it is given back or
// destroyed.
class Portion {
 public:
  using Sum = std::atomic<std::size_t>;

  Portion() = default;
  ~Portion() { give_back(); }
  Portion(const Portion&) = delete;
  Portion& operator=(const Portion&) = delete;

  // Returns the sum. Always to the same one.
  std::size_t add(const std::shared_ptr<Sum>& sum, std::size_t bytes) {
    sum_ = sum;
    bytes_ += bytes;
    return sum_->fetch_add(bytes, std::memory_order_relaxed) + bytes;
  }
  void give_back() {
    if (auto sum = std::move(sum_)) sum->fetch_sub(bytes_, std::memory_order_relaxed);
    bytes_ = 0;
  }

 private:
  std::shared_ptr<Sum> sum_;
  std::size_t bytes_ = 0;
};

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
  ~Http2Exchange() override { count_down(); }

  bool is_counted() const { return running_ != nullptr; }
  void count_up(std::shared_ptr<Running> running) {
    if (running_) return;
    running_ = std::move(running);
    running_->fetch_add(1, std::memory_order_relaxed);
  }
  void count_down() {
    if (auto counted = std::move(running_)) counted->fetch_sub(1, std::memory_order_relaxed);
  }

  void hold_answer(std::size_t bytes) override { answer.add(answers, bytes); }

  Portion head;                           // counts until it is gone, maybe later than the stream
  Portion answer;                         // that is whole, and not written yet
  std::shared_ptr<Portion::Sum> answers;  // of all streams

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
};

}  // namespace cardea::http

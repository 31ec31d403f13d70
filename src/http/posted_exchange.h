#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "http/body_budget.h"
#include "http/exchange.h"

namespace cardea::http {

// An exchange of either protocol, and its stream when the answer is one.
//
// What other threads call leaves something in here and posts to the loop; only the loop's thread
// reaches the session, and only until the session lets go.
class PostedExchange : public Exchange,
                       public Tunnel,
                       public std::enable_shared_from_this<PostedExchange> {
 public:
  // The session, as its exchanges see it. Called on the loop's thread.
  class Sender {
   public:
    virtual void send_response(PostedExchange& exchange, const Response& response) = 0;
    virtual void begin_stream(PostedExchange& exchange, const Response& head) = 0;
    virtual void send_pieces(PostedExchange& exchange, std::vector<Piece> pieces, bool last) = 0;
    virtual void abort(PostedExchange& exchange) = 0;
    // False: the connection cannot be upgraded.
    virtual bool begin_upgrade(PostedExchange&, const Response&, std::shared_ptr<Receiver>) {
      return false;
    }
    virtual void read_on(PostedExchange&) {}
    virtual void withhold_body(PostedExchange&) {}
    virtual void read_body(PostedExchange&) {}

   protected:
    ~Sender() = default;
  };

  PostedExchange(Sender& sender, net::Loop& loop, Request memory, std::size_t max_pending);

  void respond(Response response) override;
  std::shared_ptr<Stream> stream(Response head) override;
  std::shared_ptr<Tunnel> upgrade(Response head, std::shared_ptr<Receiver> receiver) override;
  void on_close(net::Callback callback) override;
  void forget_body() override {
    std::string().swap(request().body);
    body_share.give_back();
  }

  void leave_with_client() override { leaves_with_client_ = true; }
  void withhold_body() override {
    if (sender_) sender_->withhold_body(*this);
  }
  void read_body() override {
    if (!std::exchange(body_waits_, false)) return;
    if (sender_) sender_->read_body(*this);
  }

  bool write(Piece piece) override;
  void finish() override;
  void abort() override;
  std::size_t pending_bytes() const override;
  void when_drained(net::Callback callback) override;
  void read_on() override;

  // This much of an answer is kept until the exchange is gone, besides what is written.
  virtual void hold_answer(std::size_t /*bytes*/) {}

  // For the session, on the loop's thread.
  bool streaming() const { return streaming_; }
  // Its end depends on the client alone, as that of a watch: a client that sends no more has left.
  bool is_endless() const { return (streaming_ && !is_whole_) || leaves_with_client_; }
  bool is_let_go() const { return sender_ == nullptr; }
  void set_unsent(std::size_t bytes) {
    unsent_.store(bytes, std::memory_order_relaxed);
    if (bytes == 0 && drained_) tell_drained_soon();
  }
  void let_go(bool answered);
  BodyShare body_share;  // of the request

 private:
  void deliver();
  void pump();
  void schedule_pump();
  void tell_drained_soon();

  // Loop thread only.
  Sender* sender_;
  net::Callback drained_;
  bool streaming_ = false;

  bool leaves_with_client_ = false;
  bool is_whole_ = false;  // all of the answer is there; it is compressed while it is sent

  const std::size_t max_pending_;
  std::atomic<bool> answered_{false};
  std::atomic<std::size_t> unsent_{0};
  Response response_;  // from respond or stream until the loop takes it

  mutable std::mutex mutex_;
  std::vector<Piece> queue_;
  std::vector<net::Callback> on_close_;
  std::size_t queued_ = 0;
  bool scheduled_ = false;
  bool finished_ = false;
  bool aborted_ = false;
  bool over_ = false;  // the session has let go
  bool gone_ = false;  // ... before the answer was finished
};

}  // namespace cardea::http

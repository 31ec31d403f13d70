#pragma once
#include <memory>
#include <string>

#include "http/client_call.h"
#include "net/connection.h"
#include "net/loop.h"

namespace cardea::http {

// A connection of a client until its handshake is done. Loop thread only.
class ClientDial final : private net::Connection::Owner {
 public:
  class Owner {
   public:
    virtual void on_connected(ClientDial& dial, std::unique_ptr<net::Connection> connection) = 0;
    virtual void on_not_connected(ClientDial& dial, std::string why) = 0;

   protected:
    ~Owner() = default;
  };

  // `pending` is the call that it is made for; null: any that waits for `key`.
  ClientDial(net::Loop& loop, Owner& owner, std::string key, std::shared_ptr<Pending> pending)
      : owner_(owner),
        timer_(loop, [this] { fail("timeout while connecting"); }),
        key_(std::move(key)),
        pending_(std::move(pending)) {}

  void wait(std::chrono::milliseconds timeout) { timer_.start(timeout); }
  void start(std::unique_ptr<net::Connection> connection) {
    connection_ = std::move(connection);
    if (auto watched = connection_->start(*this); !watched) return fail(watched.error().message);
    on_ready();
  }
  void close() {
    timer_.cancel();
    if (connection_) connection_->close();
  }

  const std::string& key() const { return key_; }
  const std::shared_ptr<Pending>& pending() const { return pending_; }

 private:
  void on_ready() override {
    if (!connection_) return;
    const net::Io outcome = connection_->handshake();
    if (outcome == net::Io::kWouldBlock && !connection_->broken()) return;
    if (outcome != net::Io::kDone) return fail(connection_->failure());
    timer_.cancel();
    owner_.on_connected(*this, std::move(connection_));
  }
  void fail(std::string why) {
    close();
    owner_.on_not_connected(*this, std::move(why));
  }

  Owner& owner_;
  net::Timer timer_;
  const std::string key_;
  const std::shared_ptr<Pending> pending_;
  std::unique_ptr<net::Connection> connection_;
};

}  // namespace cardea::http

#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/loop.h"
#include "net/peer.h"
#include "net/socket.h"

namespace cardea::net {

enum class Io {
  kDone,        // some bytes moved
  kWouldBlock,  // nothing now; the connection notifies its owner when to try again
  kEnd,         // reading only: the peer will send no more
  kFailed,      // reset, or broken TLS: close it
};

struct IoResult {
  Io status = Io::kWouldBlock;
  std::size_t bytes = 0;
};

// A stream of bytes to a peer, plain or TLS. It holds no buffer while nothing happens, so that ten
// thousand idle ones are cheap: the owner is told "try again" and brings the memory.
//
// Belongs to one loop and is used on its thread only.
class Connection : private Watcher {
 public:
  // Told that reading, writing or the handshake may get further. Never called from inside a call to
  // the connection.
  class Owner {
   public:
    virtual void on_ready() = 0;

   protected:
    ~Owner() = default;
  };

  Connection(Loop& loop, Socket socket, bool tls);
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins to notify `owner`, which must outlive the connection or close it first.
  Result<void> start(Owner& owner);
  // Tells another owner from now on. What was announced before is not announced again.
  void hand_over(Owner& owner) { owner_ = &owner; }

  // Must be kDone before anything is read or written; kWouldBlock: call again when ready.
  virtual Io handshake() = 0;
  // The protocol agreed on by ALPN; empty when none was.
  virtual std::string_view protocol() const { return {}; }

  virtual IoResult read(std::span<char> into) = 0;
  // Takes as much as the socket takes now, from the front. After kWouldBlock the next call must
  // begin with the bytes that were not taken.
  virtual IoResult write(std::span<const std::string_view> pieces) = 0;
  // Lets the system queue less than it likes to, for owners who prefer to decide late what goes
  // next.
  void limit_unsent(std::size_t bytes) { socket_.limit_unsent(static_cast<int>(bytes)); }
  // What comes next is acknowledged without delay. A server that sends the head of an answer and
  // its body in two writes, and lets the system wait for the acknowledgement in between, otherwise
  // takes 40 milliseconds longer. It holds for a while only: to be called before each read.
  void acknowledge_at_once() { socket_.acknowledge_at_once(); }
  // For a connection that may be silent for hours.
  void notice_loss() { socket_.notice_loss(); }
  // Sends no more; reading goes on. For a clean end the peer's bytes are read until kEnd, then
  // close().
  virtual void shutdown() = 0;
  void close();

  bool is_open() const { return socket_.is_open(); }
  // The peer announced its end, perhaps with unread bytes before it.
  bool peer_closed() const { return socket_.peer_closed(); }
  bool broken() const { return socket_.broken(); }
  // After kEnd or kFailed: why, for a message. "connection refused", "certificate has expired".
  virtual std::string failure() const;
  const std::shared_ptr<const Peer>& peer() const { return peer_; }
  Loop& loop() const { return loop_; }

 protected:
  Loop& loop_;
  Socket socket_;
  std::shared_ptr<const Peer> peer_;

 private:
  void on_events(Events events) final;
  Owner* owner_ = nullptr;
};

std::unique_ptr<Connection> make_plain_connection(Loop& loop, Socket socket);

}  // namespace cardea::net

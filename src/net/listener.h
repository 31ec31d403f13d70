#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/loop.h"
#include "net/socket.h"

namespace cardea::net {

// Accepts TCP connections on one loop and hands each socket (non-blocking, TCP_NODELAY) to
// `accepted`, on that loop's thread; spreading them over other loops is the callback's business.
//
// Out of file descriptors it pauses for a moment and goes on. The loop must be running; open and
// the destructor are called from any thread but another loop's, and the destructor waits until no
// callback runs.
class Listener {
 public:
  using Accepted = std::function<void(Socket)>;
  using Exhausted = std::function<void()>;  // told when there is no descriptor for a connection

  // `address` is numeric, "0.0.0.0" or "::" for all; port 0 lets the system choose.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, const std::string& address,
                                                std::uint16_t port, Accepted accepted,
                                                Exhausted exhausted = {});
  ~Listener();

  std::uint16_t port() const { return port_; }

 private:
  class Acceptor;
  Listener(Loop& loop, std::shared_ptr<Acceptor> acceptor, std::uint16_t port);
  Loop& loop_;
  std::shared_ptr<Acceptor> acceptor_;
  std::uint16_t port_;
};

}  // namespace cardea::net

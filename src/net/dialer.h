#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/loop.h"
#include "net/socket.h"

namespace cardea::net {

// Finds addresses and opens sockets to them. Names are looked up on a separate thread, because the
// system's resolver blocks; numeric addresses need no lookup.
class Dialer {
 public:
  // A socket whose connection is under way: it becomes writable, or broken. Called on the loop's
  // thread.
  using Dialed = std::move_only_function<void(Result<Socket>)>;
  // Which of the addresses that a name has may be connected to. Called on another thread when the
  // name is looked up.
  using Admits = std::function<bool(const std::string& address)>;

  Dialer();
  virtual ~Dialer();  // waits for a lookup that is under way; its callback does not come any more

  // Any thread. Of several addresses the first that the system can route to is taken. `loop`
  // outlives this. Without `admits` every address is good; when it refuses all, the error is a
  // bad request: "address not allowed".
  virtual void dial(Loop& loop, const std::string& host, std::uint16_t port, Dialed dialed,
                    Admits admits = {});

 private:
  class Lookups;
  std::unique_ptr<Lookups> lookups_;
};

}  // namespace cardea::net

#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "authz/user.h"
#include "base/task.h"
#include "http/exchange.h"
#include "json/value.h"

namespace cardea::rest {

class Gateway;

// The API for the server's own parts: requests take the same path as a client's, with an
// identity instead of credentials. Controllers and the bootstrap write through this, so that
// admission, validation and ownership apply to them.
class Loopback {
 public:
  struct Reply {
    int status = 0;
    json::Value body;  // null when it is not JSON
    std::vector<std::string> warnings = {};
    bool ok() const { return status >= 200 && status < 300; }
  };

  // Requests are served on `loop`; replies arrive there. `agent` names the field manager.
  Loopback(Gateway& gateway, net::Loop& loop, authz::User user, std::string agent)
      : gateway_(gateway), loop_(loop), user_(std::move(user)), agent_(std::move(agent)) {}
  const std::string& agent() const { return agent_; }

  // On the loop's thread.
  Task<Reply> send(std::string method, std::string target, json::Value body = {},
                   std::string content_type = "application/json") const;
  // From another thread: waits for the reply.
  Reply send_and_wait(std::string method, std::string target, json::Value body = {},
                      std::string content_type = "application/json") const;

  net::Loop& loop() const { return loop_; }

 private:
  Gateway& gateway_;
  net::Loop& loop_;
  authz::User user_;
  std::string agent_;
};

}  // namespace cardea::rest

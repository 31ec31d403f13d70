#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/message.h"
#include "net/dialer.h"
#include "net/loop.h"
#include "net/tls.h"

namespace cardea::http {

struct ClientOptions {
  std::size_t max_body = 16u << 20;  // of an answer; beyond it the call fails
  std::size_t max_idle = 8;          // connections kept open per host
  std::chrono::milliseconds idle_timeout{60'000};
};

struct Call {
  std::string method = "GET";
  std::string url;  // "https://host:port/path?query"
  Headers headers;  // Host and Content-Length are added
  std::string body;
  std::chrono::milliseconds timeout{30'000};  // from connecting to the answer's last byte
  bool may_repeat = false;  // asking twice is as good as once, whatever the method
  // Connect here rather than to the URL's host, whose name is still what the certificate must
  // carry.
  std::string connect_host;
  std::uint16_t connect_port = 0;
};

struct Answer {
  int status = 0;
  Headers headers;
  std::string body;
};

// Calls HTTP/1.1 servers, plain or TLS, and keeps connections for the next call.
//
// An Error means that no whole answer came: the server cannot be reached, is not who it should be,
// took too long, or does not speak HTTP. Any answer, be it a 500, is an Answer. Redirects are not
// followed. A GET, or a call that may be repeated, whose kept connection turned out to be closed is
// tried once more on a new one.
//
// send is for any thread; callbacks come on the loop's. Destroying the client fails what is under
// way, on the loop. The loop, which is running, and the dialer outlive it.
class Client {
 public:
  using Done = std::move_only_function<void(Result<Answer>)>;

  // `tls` may be null for a client that only calls plain servers.
  Client(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
         ClientOptions options = {});
  ~Client();

  void send(Call call, Done done);

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;
};

}  // namespace cardea::http

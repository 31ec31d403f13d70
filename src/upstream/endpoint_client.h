#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "http/client.h"
#include "net/dialer.h"
#include "net/loop.h"
#include "upstream/kubeconfig.h"

namespace cardea::net {
class FileWatch;
}

namespace cardea::upstream {

// A POST of a JSON document to a server that answers with one. The call may be repeated.
http::Call json_post(std::string url, std::string document, std::chrono::milliseconds timeout,
                     std::string_view agent = "cardea");

// Makes a call to a URL of an endpoint one that it takes: by the name that its certificate carries,
// and with the credentials; `token` in place of the endpoint's own.
void address(http::Call& call, const Endpoint& endpoint, std::string_view token);

// How long to wait after so many tries: half as long again each time, and a fifth more by chance.
std::chrono::milliseconds wait_after(int tries, std::chrono::milliseconds first, Random& random);

// Calls one endpoint, once for each document. Shared between threads; the loop and the dialer
// outlive it. Destroying it fails what is under way.
class EndpointClient {
 public:
  // With `files` the token is renewed when its file changes.
  static Result<std::shared_ptr<EndpointClient>> make(net::Loop& loop, net::Dialer& dialer,
                                                      Endpoint endpoint, std::size_t max_answer,
                                                      net::FileWatch* files);

  // `done` comes on the loop. `more`: further headers.
  void post(std::string document, std::chrono::milliseconds timeout, http::Client::Done done,
            const http::Headers& more = {});
  // The same for a path below the server's address, by any method. Without a document there is no
  // body.
  void call(std::string method, std::string_view path, std::string document,
            std::chrono::milliseconds timeout, http::Client::Done done);

 private:
  // The client is closed on its loop, and dials until then.
  struct DeletedOnLoop {
    net::Loop* loop;
    void operator()(net::Dialer* dialer) const {
      loop->post([owned = std::unique_ptr<net::Dialer>(dialer)] {});
    }
  };

  EndpointClient(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
                 Endpoint endpoint, std::size_t max_answer);
  void set_token(std::string token);
  std::string token() const;

  const Endpoint endpoint_;
  mutable std::mutex mutex_;
  std::string token_;                                             // guarded by mutex_
  const std::unique_ptr<net::Dialer, DeletedOnLoop> own_dialer_;  // null: no proxy is named
  http::Client client_;
};

}  // namespace cardea::upstream

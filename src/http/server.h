#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "base/result.h"
#include "http/exchange.h"
#include "net/loop.h"
#include "net/tls.h"

namespace cardea::http {

struct ServerOptions {
  std::size_t max_body = 3u << 20;                   // beyond it: Request::body_too_large
  std::size_t max_connection_bodies = 32u << 20;     // that handlers of one HTTP/2 connection hold;
                                                     // beyond it large bodies wait
  std::size_t max_bodies = 512u << 20;               // that all handlers hold; beyond it 429
  std::size_t max_stream_pending = 4u << 20;         // beyond it an answer is cut: over HTTP/1.x
                                                     // its connection, over HTTP/2 its stream
  std::size_t max_connections = 0;                   // 0: as many as there are descriptors
  std::size_t reserved_connections = 0;              // beyond them, for clients on this machine
  std::size_t max_connections_per_address = 0;       // 0: as many as there are
  std::function<void(const std::string&)> warn;      // about connections that are refused; may be
                                                     // null. Any thread
  Counter* refused_connections = nullptr;            // counts them; may be null
  std::uint32_t max_concurrent_streams = 100;        // of one HTTP/2 connection
  std::chrono::milliseconds header_timeout{32'000};  // handshake, and a request's head from its
                                                     // first byte
  std::chrono::milliseconds body_timeout{60'000};    // a request's body, all of it
  std::string late_body;     // the answer to a body that did not arrive in time, with status 504;
                             // empty: a plain 408
  double goaway_chance = 0;  // that a request ends its HTTP/2 connection (after all its streams),
                             // so that clients spread over several servers
  Counter* handshake_errors = nullptr;  // counts clients with whom no TLS came about; may be null
  std::chrono::milliseconds idle_timeout{90'000};   // between requests
  std::chrono::milliseconds write_timeout{30'000};  // without the client taking a single byte
  std::chrono::milliseconds ping_after{60'000};     // of silence, while an HTTP/2 client is served
  std::chrono::milliseconds linger_timeout{2'000};  // for the client to read a refusal before the
                                                    // close
};

// What clients may speak without TLS. HTTP/2 is recognised by its first bytes.
enum class Plain : std::uint8_t { kHttp1, kHttp1OrHttp2 };

// Serves HTTP/2, HTTP/1.1 and 1.0 on any number of addresses, each plain or TLS, over all of the
// loops. Over TLS the client chooses the protocol by ALPN.
//
// Every connection lives on one loop. The handler, the loops and the TLS settings are the caller's;
// the loops run before the first listen() and until the server is destroyed, and the handler
// outlives it.
class Server {
 public:
  Server(net::Loops& loops, Handler& handler, ServerOptions options = {});
  ~Server();  // stop without grace

  // Returns the port, which the system chose when `port` is 0. Without `tls` the listener is plain.
  // Not from a loop's thread.
  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port,
                               std::shared_ptr<const net::TlsServer> tls = nullptr,
                               Plain plain = Plain::kHttp1);

  // Stops accepting, closes idle connections, lets running requests finish (also streams: their
  // writers should finish them), and after `grace` closes the remaining connections. Returns when
  // no connection is left. Not from a loop's thread. The second call does nothing.
  void stop(std::chrono::milliseconds grace);

  std::size_t connections() const;  // open now; any thread

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cardea::http

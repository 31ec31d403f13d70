#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/dialer.h"
#include "net/tls.h"

namespace cardea::http {

// A server that makes connections for others when asked by HTTP CONNECT.
struct Proxy {
  std::string host;  // or `unix_socket`
  std::uint16_t port = 0;
  std::string unix_socket = {};                         // a path
  std::shared_ptr<const net::TlsClient> tls = nullptr;  // null: the way to the proxy is plain
  std::string authorization = {};                       // of Proxy-Authorization; may be empty

  std::string name() const;  // for messages
};

// "http://user:password@host:port", as the variables of the environment and kubeconfig files name
// proxies; without a scheme it is http. `https` proxies are checked with `server_cas` (PEM; empty:
// the system's).
Result<Proxy> parse_proxy(std::string_view text, const std::string& server_cas = {});

// Dials through proxies. The socket is one end of a pair, whose other end is joined to the tunnel:
// what is spoken through it, TLS included, is the caller's alone.
//
// A proxy looks names up by itself, so `admits` sees addresses only. Of names it refuses those that
// mean the proxy's own machine (`localhost`).
class ProxyDialer final : public net::Dialer {
 public:
  // The proxy for a server; null: none. Any thread.
  using Choose = std::function<std::shared_ptr<const Proxy>(const std::string& host,
                                                            std::uint16_t port)>;

  explicit ProxyDialer(Choose choose);
  explicit ProxyDialer(Proxy proxy);  // for every server
  ~ProxyDialer() override;            // ends its tunnels, on their loops

  void dial(net::Loop& loop, const std::string& host, std::uint16_t port, Dialed dialed,
            Admits admits = {}) override;

 private:
  struct Tunnels;
  const Choose choose_;
  const std::shared_ptr<Tunnels> tunnels_;
  const std::shared_ptr<net::Dialer> straight_ = std::make_shared<net::Dialer>();
};

}  // namespace cardea::http

#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/proxy_dialer.h"

namespace cardea::upstream {

// The servers that are called without a proxy, as `NO_PROXY` lists them: `*`, "example.com" (with
// everything below it), ".example.com" (only what is below), addresses, networks, each perhaps with
// a port. This machine itself is always one of them.
class NoProxy {
 public:
  explicit NoProxy(std::string_view list);
  bool holds(std::string_view host, std::uint16_t port) const;

 private:
  struct Entry {
    std::string name;        // ".example.com", "example.com", or an address in its bytes
    int prefix = -1;         // of a network, in bits; -1: a name
    std::uint16_t port = 0;  // 0: any
    bool only_below = false;
  };

  bool all_ = false;
  std::vector<Entry> entries_;
};

// A dialer that heeds `HTTPS_PROXY` and `NO_PROXY` (or their names in small letters), read once;
// without a proxy in the environment an ordinary one. Every call is tunnelled, so that
// `HTTP_PROXY` has no meaning.
Result<std::unique_ptr<net::Dialer>> dialer_of_environment();

}  // namespace cardea::upstream

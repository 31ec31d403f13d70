#pragma once
#include <string>

#include "net/dialer.h"

namespace cardea::net {

// Connects to one Unix socket, whatever it is asked for.
class UnixDialer final : public Dialer {
 public:
  // A name that begins with `@` is one of the abstract namespace.
  explicit UnixDialer(std::string path) : path_(std::move(path)) {}

  void dial(Loop& loop, const std::string& host, std::uint16_t port, Dialed dialed,
            Admits admits) override;

 private:
  Result<Socket> connect() const;

  const std::string path_;
};

}  // namespace cardea::net

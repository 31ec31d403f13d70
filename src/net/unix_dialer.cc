#include "net/unix_dialer.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/strings.h"

namespace cardea::net {

void UnixDialer::dial(Loop& loop, const std::string&, std::uint16_t, Dialed dialed, Admits) {
  loop.post(
      [dialed = std::move(dialed), socket = connect()]() mutable { dialed(std::move(socket)); });
}

Result<Socket> UnixDialer::connect() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return fail(bad_request("the path is too long"));
  std::memcpy(address.sun_path, path_.data(), path_.size());
  socklen_t size = sizeof address;
  if (path_.starts_with('@')) {
    address.sun_path[0] = '\0';
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  }
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.is_open() &&
      ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), size) == 0)
    return socket;
  return fail(Error::of(Reason::kServiceUnavailable, lower(std::strerror(errno))));
}

}  // namespace cardea::net

#include "net/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cardea::net {
namespace {

constexpr std::size_t kMaxPieces = 64;

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  error_ = other.error_;
  readable_ = other.readable_;
  writable_ = other.writable_;
  peer_closed_ = other.peer_closed_;
  broken_ = other.broken_;
  ended_ = other.ended_;
  return *this;
}

void Socket::saw(bool readable, bool writable, bool peer_closed, bool broken) {
  readable_ |= readable;
  writable_ |= writable;
  peer_closed_ |= peer_closed;
  broken_ |= broken;
}

std::ptrdiff_t Socket::receive(void* into, std::size_t size) {
  if (fd_ < 0) return kBroken;
  if (!readable_) return kAgain;
  ssize_t got;
  do got = ::recv(fd_, into, size, 0);
  while (got < 0 && errno == EINTR);
  if (got < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK) return error_ = errno, kBroken;
    readable_ = false;
    return kAgain;
  }
  if (got == 0) ended_ = true;
  // A short read emptied the socket: the next edge tells of more. After the peer's end there will
  // be no further edge, so reading goes on until it is seen.
  if (static_cast<std::size_t>(got) < size && !peer_closed_) readable_ = false;
  return got;
}

std::ptrdiff_t Socket::send(const void* bytes, std::size_t size) {
  const std::string_view piece(static_cast<const char*>(bytes), size);
  return send({&piece, 1});
}

std::ptrdiff_t Socket::send(std::span<const std::string_view> pieces) {
  if (fd_ < 0) return kBroken;
  if (!writable_) return kAgain;
  iovec vectors[kMaxPieces];
  const std::size_t count = std::min(pieces.size(), kMaxPieces);
  for (std::size_t i = 0; i < count; ++i)
    vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
  msghdr message{};
  message.msg_iov = vectors;
  message.msg_iovlen = count;
  ssize_t sent;
  do
    sent = count == 1 ? ::send(fd_, vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL)
                      : ::sendmsg(fd_, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent >= 0) return sent;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return error_ = errno, kBroken;
  writable_ = false;
  return kAgain;
}

void Socket::limit_unsent(int bytes) {
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

void Socket::acknowledge_at_once() {
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

void Socket::notice_loss() {
  const int on = 1, idle = 60, interval = 15, count = 4;  // seconds, seconds, probes
  ::setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

void Socket::shutdown_write() {
  if (fd_ >= 0) ::shutdown(fd_, SHUT_WR);
}

void Socket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Endpoint endpoint_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, ntohs(v4.sin_port)};
  }
  if (address.sa_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
    ::inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return {text, ntohs(v6.sin6_port)};
}

Endpoint peer_of(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return endpoint_of(reinterpret_cast<const sockaddr&>(storage));
}

Endpoint local_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return endpoint_of(reinterpret_cast<const sockaddr&>(storage));
}

}  // namespace cardea::net

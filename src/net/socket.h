#pragma once
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cardea::net {

// A non-blocking stream socket that remembers what it may still try, so that no system call is made
// only to learn that it would block. Owns the descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept { *this = std::move(other); }
  Socket& operator=(Socket&& other) noexcept;

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  bool peer_closed() const { return peer_closed_; }
  bool broken() const { return broken_; }
  int error() const { return error_; }   // errno of what broke it, 0 when nothing did
  bool ended() const { return ended_; }  // a receive() has returned 0

  // The number of bytes moved, 0 when the peer has ended, or one of these.
  static constexpr std::ptrdiff_t kAgain = -1;
  static constexpr std::ptrdiff_t kBroken = -2;
  std::ptrdiff_t receive(void* into, std::size_t size);
  std::ptrdiff_t send(const void* bytes, std::size_t size);
  std::ptrdiff_t send(std::span<const std::string_view> pieces);

  // The system takes no more while it holds this much that is not on its way yet.
  void limit_unsent(int bytes);
  void acknowledge_at_once();
  // Lets the system find out within two minutes that the peer's machine is gone, while nothing is
  // sent.
  void notice_loss();
  void shutdown_write();
  void close();

  // What the loop saw.
  void saw(bool readable, bool writable, bool peer_closed, bool broken);

 private:
  int fd_ = -1;
  int error_ = 0;
  bool readable_ = true;
  bool writable_ = true;
  bool peer_closed_ = false;
  bool broken_ = false;
  bool ended_ = false;
};

struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};
Endpoint endpoint_of(const sockaddr& address);  // an IPv4 address inside an IPv6 one is plain
Endpoint peer_of(const Socket& socket);
Endpoint local_of(int fd);

}  // namespace cardea::net

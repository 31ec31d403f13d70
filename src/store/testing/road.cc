#include "store/testing/road.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/result.h"
#include "base/strings.h"

namespace cardea::store {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

Road::Road(std::uint16_t to) : to_(to) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  CARDEA_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CARDEA_CHECK(::listen(listener_, 16) == 0);
  socklen_t size = sizeof address;
  CARDEA_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

Road::~Road() {
  is_over_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close();
  for (std::thread& carrier : carriers_) carrier.join();
  for (int end : ends_) ::close(end);
  ::close(listener_);
}

std::string Road::endpoint() const {
  return cat("http://127.0.0.1:", port_);
}

void Road::close() {
  is_open_ = false;
  std::lock_guard guard(lock_);
  for (int end : ends_) ::shutdown(end, SHUT_RDWR);
}

void Road::accept_all() {
  while (!is_over_) {
    const int one = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (one < 0) return;
    const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(to_);
    const bool connected = ::connect(other, reinterpret_cast<sockaddr*>(&address),
                                     sizeof address) == 0;
    std::lock_guard guard(lock_);
    ends_.push_back(one);
    ends_.push_back(other);
    if (!is_open_ || !connected) {
      ::shutdown(one, SHUT_RDWR);
      ::shutdown(other, SHUT_RDWR);
      continue;
    }
    carriers_.emplace_back([this, one, other] { carry(one, other); });
    carriers_.emplace_back([this, one, other] { carry(other, one); });
  }
}

void Road::carry(int from, int to) {
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::recv(from, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t some = ::send(to, buffer + sent, static_cast<std::size_t>(got - sent),
                                  MSG_NOSIGNAL);
      if (some <= 0) break;
      sent += some;
    }
  }
  ::shutdown(from, SHUT_RDWR);
  ::shutdown(to, SHUT_RDWR);
}

}  // namespace cardea::store

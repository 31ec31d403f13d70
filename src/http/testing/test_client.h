#pragma once
// A client for tests that sends exactly the given bytes. Included by tests only.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace cardea::http::testing {

class TestClient {
 public:
  // `protocol` is what ALPN asks for.
  explicit TestClient(std::uint16_t port, bool tls = false, int receive_buffer = 0,
                      std::string_view protocol = {}) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (receive_buffer)
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const int at_once = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
    if (!tls) return;
    ctx_ = SSL_CTX_new(TLS_client_method());
    ssl_ = SSL_new(ctx_);
    SSL_set_fd(ssl_, fd_);
    if (!protocol.empty()) {
      const std::string wire = static_cast<char>(protocol.size()) + std::string(protocol);
      SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(wire.data()),
                          static_cast<unsigned>(wire.size()));
    }
    if (SSL_connect(ssl_) != 1) std::abort();
  }
  ~TestClient() {
    SSL_free(ssl_);
    SSL_CTX_free(ctx_);
    close();
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ssl_ ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void half_close() {
    if (ssl_) SSL_shutdown(ssl_);
    ::shutdown(fd_, SHUT_WR);
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void reset() {  // an RST instead of a FIN
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  // Reads until the text read so far contains `mark`, and returns everything up to its end. The
  // rest is kept for the next call. If the connection ends first, returns everything that was read.
  std::string read_until(std::string_view mark) {
    for (;;) {
      if (const auto at = received_.find(mark); at != std::string::npos)
        return take(at + mark.size());
      if (!receive()) return take(received_.size());
    }
  }
  std::string read(std::size_t size) {
    while (received_.size() < size)
      if (!receive()) break;
    return take(std::min(size, received_.size()));
  }
  std::string read_some() {  // what comes next; empty at the end
    if (received_.empty()) receive();
    return take(received_.size());
  }
  std::string read_all() {
    while (receive()) {
    }
    return take(received_.size());
  }
  // One answer with a Content-Length: its head and body.
  std::string read_answer() {
    std::string head = read_until("\r\n\r\n");
    const auto at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read(static_cast<std::size_t>(std::atoll(head.c_str() + at + 16)));
  }
  std::string protocol() const {  // the result of ALPN
    const unsigned char* name = nullptr;
    unsigned size = 0;
    if (ssl_) SSL_get0_alpn_selected(ssl_, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  bool closed_by_peer() { return received_.empty() && !receive() && received_.empty(); }

 private:
  bool receive() {
    char buffer[65536];
    const auto got = ssl_ ? SSL_read(ssl_, buffer, sizeof buffer)
                          : ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }
  std::string take(std::size_t size) {
    std::string taken = received_.substr(0, size);
    received_.erase(0, size);
    return taken;
  }

  int fd_ = -1;
  SSL_CTX* ctx_ = nullptr;
  SSL* ssl_ = nullptr;
  std::string received_;
};

}  // namespace cardea::http::testing

// Bytes through a tunnel: a client, a proxy that is measured, and a backend behind it. The client
// and the backend are this program, so that every proxy has the same ones.
//
//   tunnel_bench down|up PORT BACKEND_PORT TARGET TOKEN SECONDS
//     Opens one tunnel over TLS by a request for an upgrade, and sends as much as goes through,
//     towards the client or towards the backend. Prints `mib_per_second`.
//   tunnel_bench open PORT BACKEND_PORT TARGET TOKEN COUNT
//     Opens and closes so many tunnels, one after the other, without TLS.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBlock = 64 << 10;

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "tunnel_bench: %s\n", what.c_str());
  std::exit(1);
}

sockaddr_in local(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

int socket_without_delay() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  if (fd < 0) refuse("no socket");
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return fd;
}

// Agrees to every upgrade; then sends without end, or counts what comes.
class Backend {
 public:
  Backend(int port, bool sends) : listener_(socket_without_delay()), sends_(sends) {
    sockaddr_in address = local(port);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, 64) != 0)
      refuse("the backend cannot listen");
    std::thread([this] { serve(); }).detach();
  }

  std::atomic<std::uint64_t> received = 0;

 private:
  void serve() {
    for (;;) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      tunnel(fd);
      ::close(fd);
    }
  }

  void tunnel(int fd) {
    std::string head;
    std::vector<char> block(kBlock, 'x');
    while (!head.contains("\r\n\r\n")) {
      const ssize_t n = ::read(fd, block.data(), block.size());
      if (n <= 0) return;
      head.append(block.data(), static_cast<std::size_t>(n));
    }
    constexpr std::string_view kYes =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";
    if (::write(fd, kYes.data(), kYes.size()) < 0) return;
    for (;;) {
      const ssize_t n = sends_ ? ::write(fd, block.data(), block.size())
                               : ::read(fd, block.data(), block.size());
      if (n <= 0) return;
      if (!sends_) received += static_cast<std::uint64_t>(n);
    }
  }

  const int listener_;
  const bool sends_;
};

class Client {
 public:
  Client(int port, bool tls) : fd_(socket_without_delay()) {
    sockaddr_in address = local(port);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      refuse("cannot connect");
    if (!tls) return;
    static SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, fd_);
    if (SSL_connect(ssl_) != 1) refuse("no TLS");
  }
  ~Client() {
    SSL_free(ssl_);
    ::close(fd_);
  }

  void upgrade(const std::string& target, const std::string& token) {
    const std::string request = "GET " + target +
                                " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token +
                                "\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";
    send(request.data(), request.size());
    std::string head;
    char c = 0;
    while (!head.ends_with("\r\n\r\n") && receive(&c, 1) == 1) head += c;
    if (!head.starts_with("HTTP/1.1 101")) refuse("answered " + head);
  }

  std::size_t receive(char* to, std::size_t size) {
    const auto n = ssl_ ? SSL_read(ssl_, to, static_cast<int>(size)) : ::read(fd_, to, size);
    if (n <= 0) refuse("the tunnel ended");
    return static_cast<std::size_t>(n);
  }
  void send(const char* from, std::size_t size) {
    const auto n = ssl_ ? SSL_write(ssl_, from, static_cast<int>(size)) : ::write(fd_, from, size);
    if (n != static_cast<ssize_t>(size)) refuse("the tunnel ended");
  }

 private:
  const int fd_;
  SSL* ssl_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) refuse("usage: down|up|open PORT BACKEND_PORT TARGET TOKEN SECONDS|COUNT");
  const std::string what = argv[1], target = argv[4], token = argv[5];
  const int port = std::atoi(argv[2]), amount = std::atoi(argv[6]);
  ::signal(SIGPIPE, SIG_IGN);
  Backend backend(std::atoi(argv[3]), what == "down");
  if (what == "open") {
    for (int i = 0; i < amount; ++i) Client(port, false).upgrade(target, token);
    return 0;
  }
  Client client(port, true);
  client.upgrade(target, token);
  std::vector<char> block(kBlock, 'y');
  const auto start = Clock::now(), end = start + std::chrono::seconds(amount);
  std::uint64_t bytes = 0;
  while (Clock::now() < end)
    if (what == "down")
      bytes += client.receive(block.data(), block.size());
    else
      client.send(block.data(), block.size());
  if (what == "up") bytes = backend.received;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("mib_per_second %.1f\n", static_cast<double>(bytes) / (1 << 20) / seconds);
  std::fflush(stdout);
  std::_Exit(0);
}

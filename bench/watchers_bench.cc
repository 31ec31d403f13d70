// Many clients that watch, each on a TLS connection of its own, as a process apart from the
// server's.
//
//   watchers_bench PORT COUNT TARGET TOKEN
//
// Prints `open` when every watch has its response head, then waits until each has got an event and
// prints `reached NANOSECONDS`: when the last one had it, on the monotonic clock that all processes
// share.
#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Client {
  int fd = -1;
  SSL* ssl = nullptr;
  bool reached = false;
};

int refuse(const char* what, int client) {
  std::fprintf(stderr, "watchers_bench: %s at client %d: %s\n", what, client, std::strerror(errno));
  return 1;
}

bool open_watch(Client& client, SSL_CTX* context, int port, const std::string& request) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  client.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  client.ssl = SSL_new(context);
  if (client.fd < 0 ||
      ::connect(client.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return false;
  SSL_set_fd(client.ssl, client.fd);
  if (SSL_connect(client.ssl) != 1) return false;
  if (SSL_write(client.ssl, request.data(), static_cast<int>(request.size())) <= 0) return false;
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    char some[4096];
    int n = SSL_read(client.ssl, some, sizeof some);
    if (n <= 0) return false;
    head.append(some, static_cast<std::size_t>(n));
  }
  if (!head.starts_with("HTTP/1.1 200")) {
    std::fprintf(stderr, "%s\n", head.c_str());
    return false;
  }
  return ::fcntl(client.fd, F_SETFL, O_NONBLOCK) == 0;
}

// Whether an event has come; false as well when only TLS' own records have.
bool has_event(Client& client) {
  char some[8192];
  bool any = false;
  while (SSL_read(client.ssl, some, sizeof some) > 0) any = true;
  return any;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: watchers_bench PORT COUNT TARGET TOKEN\n");
    return 2;
  }
  const int port = std::atoi(argv[1]);
  const int count = std::atoi(argv[2]);
  const std::string request = std::string("GET ") + argv[3] +
                              " HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: "
                              "application/json\r\nAuthorization: Bearer " +
                              argv[4] + "\r\n\r\n";
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<Client> clients(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Client& client = clients[static_cast<std::size_t>(i)];
    if (!open_watch(client, context, port, request)) return refuse("cannot watch", i);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &client}};
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, client.fd, &event) != 0) return refuse("epoll", i);
  }
  std::puts("open");
  std::fflush(stdout);
  int missing = count;
  while (missing > 0) {
    epoll_event events[256];
    int n = ::epoll_wait(epoll, events, 256, 120'000);
    if (n <= 0) return refuse("no event", count - missing);
    for (int i = 0; i < n; ++i) {
      Client& client = *static_cast<Client*>(events[i].data.ptr);
      if (!has_event(client) || client.reached) continue;
      client.reached = true;
      --missing;
    }
  }
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::printf("reached %lld\n", static_cast<long long>(std::chrono::nanoseconds(now).count()));
  std::fflush(stdout);
  ::pause();
}

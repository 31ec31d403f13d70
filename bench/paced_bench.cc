// One client that asks at even intervals, whatever becomes of the answers: how long do they take at
// a given load?
//
//   paced_bench PORT RATE SECONDS CONNECTIONS TARGET TOKEN FILE
//
// POSTs FILE to TARGET over TLS, RATE times a second, each time on a connection that waits for
// nothing. The time of an answer runs from the moment its request was due, not from when it could
// be sent: a server that stands still for 10 ms makes every request of these 10 ms late, and all of
// them count. (A client that waits for an answer before it asks again would have asked once.) The
// first tenth is not counted.
//
// Prints `rate`, `p50_us`, `p99_us`, `p999_us`, `worst_us`, one on a line, or what went wrong.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

struct Client {
  int fd = -1;
  SSL* ssl = nullptr;
  Clock::time_point due;  // of the request that waits for its answer
  bool waits = false;
  std::string answer;  // what has come of it
};

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "paced_bench: %s\n", what.c_str());
  std::exit(1);
}

void open_connection(Client& client, SSL_CTX* context, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  client.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  client.ssl = SSL_new(context);
  const int on = 1;
  if (client.fd < 0 ||
      ::connect(client.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    refuse(std::string("cannot connect: ") + std::strerror(errno));
  ::setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  SSL_set_fd(client.ssl, client.fd);
  if (SSL_connect(client.ssl) != 1) refuse("no TLS");
  ::fcntl(client.fd, F_SETFL, O_NONBLOCK);
}

// Whether the whole answer has arrived. Any status other than 201 ends the program.
bool is_whole(const std::string& answer) {
  const auto end = answer.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  if (!answer.starts_with("HTTP/1.1 201")) refuse("answered " + answer.substr(0, 300));
  static constexpr char kLength[] = "\r\ncontent-length:";
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  const auto at = std::search(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(end),
                              kLength, kLength + sizeof kLength - 1, same);
  if (at == answer.begin() + static_cast<std::ptrdiff_t>(end)) refuse("an answer without a length");
  const auto length = std::strtoul(&*at + sizeof kLength - 1, nullptr, 10);
  return answer.size() >= end + 4 + length;
}

double microseconds(const std::vector<std::int64_t>& sorted, double part) {
  return static_cast<double>(
             sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))]) /
         1e3;
}

class Load {
 public:
  Load(int port, int connections, std::string request)
      : request_(std::move(request)), clients_(connections) {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (Client& client : clients_) {
      open_connection(client, context, port);
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &client}};
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd, &event) != 0) refuse("epoll");
      idle_.push_back(&client);
    }
  }

  void run(double rate, double seconds) {
    const auto count = static_cast<std::int64_t>(rate * seconds);
    times_.reserve(static_cast<std::size_t>(count));
    const auto start = Clock::now() + std::chrono::milliseconds(1);
    const auto due = [&](std::int64_t i) {
      return start + Nanoseconds(static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / rate));
    };
    std::int64_t sent = 0;
    counted_from_ = due(count / 10);
    while (sent < count || idle_.size() < clients_.size()) {
      if (Clock::now() > due(count) + std::chrono::seconds(20))
        refuse("answers are missing after 20 seconds");
      while (sent < count && !idle_.empty() && due(sent) <= Clock::now()) ask(due(sent++));
      wait(sent < count && !idle_.empty() ? due(sent)
                                          : Clock::now() + std::chrono::milliseconds(100));
    }
    print(start);
  }

 private:
  void ask(Clock::time_point due) {
    // Longest idle first: the load is the same on every connection.
    Client& client = *idle_.front();
    idle_.erase(idle_.begin());
    client.due = due;
    client.waits = true;
    if (SSL_write(client.ssl, request_.data(), static_cast<int>(request_.size())) <= 0)
      refuse("cannot send");
  }

  void wait(Clock::time_point until) {
    const auto left = std::max(until - Clock::now(), Clock::duration::zero());
    const timespec timeout{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(left).count()};
    epoll_event events[64];
    const int n = ::epoll_pwait2(epoll_, events, 64, &timeout, nullptr);
    for (int i = 0; i < n; ++i) read(*static_cast<Client*>(events[i].data.ptr));
  }

  void read(Client& client) {
    char some[16384];
    int n;
    while ((n = SSL_read(client.ssl, some, sizeof some)) > 0)
      client.answer.append(some, static_cast<std::size_t>(n));
    if (SSL_get_error(client.ssl, n) != SSL_ERROR_WANT_READ) refuse("the server hung up");
    if (!client.waits || !is_whole(client.answer)) return;
    last_ = Clock::now();
    if (client.due >= counted_from_) times_.push_back(Nanoseconds(last_ - client.due).count());
    client.answer.clear();
    client.waits = false;
    idle_.push_back(&client);
  }

  void print(Clock::time_point start) {
    std::sort(times_.begin(), times_.end());
    if (times_.empty()) refuse("nothing was measured");
    const double seconds = std::chrono::duration<double>(last_ - std::max(start, counted_from_))
                               .count();
    std::printf("rate %.0f\np50_us %.1f\np99_us %.1f\np999_us %.1f\nworst_us %.1f\n",
                static_cast<double>(times_.size()) / seconds, microseconds(times_, 0.5),
                microseconds(times_, 0.99), microseconds(times_, 0.999), microseconds(times_, 1));
  }

  std::string request_;
  std::vector<Client> clients_;
  std::vector<Client*> idle_;
  std::vector<std::int64_t> times_;  // nanoseconds
  Clock::time_point counted_from_;
  Clock::time_point last_;
  int epoll_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr, "usage: paced_bench PORT RATE SECONDS CONNECTIONS TARGET TOKEN FILE\n");
    return 2;
  }
  std::ifstream file(argv[7], std::ios::binary);
  const std::string body{std::istreambuf_iterator<char>(file), {}};
  if (body.empty()) refuse(std::string("cannot read ") + argv[7]);
  ::prctl(PR_SET_TIMERSLACK, 1);  // wake when it is time, not up to 50 us later
  Load load(std::atoi(argv[1]), std::max(1, std::atoi(argv[4])),
            std::string("POST ") + argv[5] +
                " HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nContent-Type: "
                "application/json\r\nAuthorization: Bearer " +
                argv[6] + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  load.run(std::atof(argv[2]), std::atof(argv[3]));
}

#include "net/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>

#include "base/strings.h"

namespace cardea::net {
namespace {

constexpr int kBacklog = 4096;
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{50};
constexpr int kAcceptedPerTurn = 64;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Result<Address> parse(const std::string& text, std::uint16_t port) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.size = sizeof *v4;
    return address;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.size = sizeof *v6;
    return address;
  }
  return fail(bad_request(cat("`", text, "` is not an IP address")));
}

Result<Socket> listen_on(const std::string& text, std::uint16_t port) {
  auto address = parse(text, port);
  if (!address) return fail(address.error());
  Socket socket(
      ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  const int off = 0;
  if (socket.is_open()) {
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->storage.ss_family == AF_INET6)
      ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (!socket.is_open() ||
      ::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address->storage), address->size) != 0 ||
      ::listen(socket.fd(), kBacklog) != 0)
    return fail(internal_error(
        cat("cannot listen on `", text, "` port ", port, ": ", std::strerror(errno))));
  return socket;
}

// Runs `task` on the loop and waits for it.
void run_on(Loop& loop, std::function<void()> task) {
  if (loop.in_loop()) return task();
  auto done = std::make_shared<std::promise<void>>();
  loop.post([&task, done] {
    task();
    done->set_value();
  });
  done->get_future().wait();
}

}  // namespace

class Listener::Acceptor final : public Watcher {
 public:
  Acceptor(Loop& loop, Socket socket, Accepted accepted, Exhausted exhausted)
      : loop_(loop),
        socket_(std::move(socket)),
        accepted_(std::move(accepted)),
        exhausted_(std::move(exhausted)),
        retry_(loop, [this] { accept_all(); }) {}

  Result<void> start() { return loop_.watch(socket_.fd(), *this); }

  void stop() {
    retry_.cancel();
    loop_.forget(socket_.fd());
    socket_.close();
    accepted_ = nullptr;
  }

 private:
  void on_events(Events) override { accept_all(); }

  void accept_all() {
    for (int count = 0; socket_.is_open(); ++count) {
      // What still waits raises no further edge; others have their turn first.
      if (count == kAcceptedPerTurn) return retry_.start(std::chrono::milliseconds(0));
      const int fd = ::accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        accepted_(Socket(fd));
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // The waiting connections raise no further edge, so ask again after a while.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        if (exhausted_) exhausted_();
        return retry_.start(kPauseWithoutDescriptors);
      }
    }
  }

  Loop& loop_;
  Socket socket_;
  Accepted accepted_;
  Exhausted exhausted_;
  Timer retry_;
};

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const std::string& address,
                                                 std::uint16_t port, Accepted accepted,
                                                 Exhausted exhausted) {
  auto socket = listen_on(address, port);
  if (!socket) return fail(socket.error());
  const std::uint16_t bound = local_of(socket->fd()).port;
  auto acceptor = std::make_shared<Acceptor>(loop, std::move(*socket), std::move(accepted),
                                             std::move(exhausted));
  Result<void> started;
  run_on(loop, [&] { started = acceptor->start(); });
  if (!started) return fail(started.error());
  return std::unique_ptr<Listener>(new Listener(loop, std::move(acceptor), bound));
}

Listener::Listener(Loop& loop, std::shared_ptr<Acceptor> acceptor, std::uint16_t port)
    : loop_(loop), acceptor_(std::move(acceptor)), port_(port) {}

Listener::~Listener() {
  run_on(loop_, [this] {
    acceptor_->stop();
    loop_.bury(std::move(acceptor_));
  });
}

}  // namespace cardea::net

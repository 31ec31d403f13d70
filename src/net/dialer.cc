#include "net/dialer.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <thread>

#include "base/strings.h"

namespace cardea::net {
namespace {

Result<Socket> connect_to(const addrinfo* addresses, const std::string& host, std::uint16_t port,
                          const Dialer::Admits& admits) {
  int error = EADDRNOTAVAIL;
  bool is_any_admitted = false;
  for (const addrinfo* one = addresses; one; one = one->ai_next) {
    if (admits && !admits(endpoint_of(*one->ai_addr).address)) continue;
    is_any_admitted = true;
    Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) {
      error = errno;
      continue;
    }
    const int on = 1;
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket.fd(), one->ai_addr, one->ai_addrlen) == 0 || errno == EINPROGRESS)
      return socket;
    error = errno;
  }
  if (!is_any_admitted) return fail(bad_request("address not allowed"));
  return fail(Error::of(Reason::kServiceUnavailable, cat("cannot connect to `", host, "` port ",
                                                         port, ": ", std::strerror(error))));
}

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// `numeric`: find nothing if a lookup would be needed.
Addresses look_up(const std::string& host, std::uint16_t port, bool numeric, int& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : AI_ADDRCONFIG);
  addrinfo* found = nullptr;
  error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  return Addresses(error == 0 ? found : nullptr);
}

}  // namespace

class Dialer::Lookups {
 public:
  struct Lookup {
    Loop* loop;
    std::string host;
    std::uint16_t port;
    Dialed dialed;
    Admits admits;
  };

  void add(Lookup lookup) {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(lookup));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    changed_.notify_one();
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      Lookup lookup = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      int error = 0;
      const Addresses addresses = look_up(lookup.host, lookup.port, false, error);
      Result<Socket> socket = addresses ? connect_to(addresses.get(), lookup.host, lookup.port,
                                                     lookup.admits)
                                        : fail(Error::of(Reason::kServiceUnavailable,
                                                         cat("cannot find `", lookup.host,
                                                             "`: ", ::gai_strerror(error))));
      lock.lock();
      if (stopping_) return;
      lookup.loop->post([dialed = std::move(lookup.dialed), socket = std::move(socket)]() mutable {
        dialed(std::move(socket));
      });
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Lookup> queue_;
  std::thread thread_;
  bool stopping_ = false;
};

Dialer::Dialer() : lookups_(std::make_unique<Lookups>()) {}
Dialer::~Dialer() {
  lookups_->stop();
}

void Dialer::dial(Loop& loop, const std::string& host, std::uint16_t port, Dialed dialed,
                  Admits admits) {
  int error = 0;
  if (const Addresses addresses = look_up(host, port, true, error)) {
    loop.post([dialed = std::move(dialed),
               socket = connect_to(addresses.get(), host, port, admits)]() mutable {
      dialed(std::move(socket));
    });
    return;
  }
  lookups_->add({&loop, host, port, std::move(dialed), std::move(admits)});
}

}  // namespace cardea::net

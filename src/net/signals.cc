#include "net/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>

#include "base/result.h"

namespace cardea::net {

Signals::Signals(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  CARDEA_CHECK(::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  fd_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  CARDEA_CHECK(fd_ >= 0);
}

Signals::~Signals() {
  ::close(fd_);
}

int Signals::wait() {
  signalfd_siginfo info{};
  while (::read(fd_, &info, sizeof info) != sizeof info) {
  }
  return static_cast<int>(info.ssi_signo);
}

int Signals::wait_for(std::chrono::nanoseconds longest) {
  const auto until = std::chrono::steady_clock::now() + longest;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return 0;
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    const auto once = std::min<std::int64_t>(left.count(), 60'000);
    if (::poll(&waiting, 1, static_cast<int>(once)) > 0) return wait();
  }
}

}  // namespace cardea::net

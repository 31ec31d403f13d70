#include "net/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

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

}  // namespace cardea::net

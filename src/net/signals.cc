#include "net/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <future>

namespace cardea::net {
namespace {

int next_signal(int fd) {
  signalfd_siginfo info{};
  return ::read(fd, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace

class Signals::Reader final : public Watcher {
 public:
  Reader(Loop& loop, int fd, std::move_only_function<void(int)> callback)
      : loop_(loop), fd_(fd), callback_(std::move(callback)) {}

  void start() { CARDEA_CHECK(loop_.watch(fd_, *this).has_value()); }
  void stop() {
    loop_.forget(fd_);
    stopped_ = true;
  }
  Loop& loop() { return loop_; }

 private:
  void on_events(Events) override {
    while (!stopped_) {
      const int number = next_signal(fd_);
      if (number == 0) return;
      callback_(number);
    }
  }

  Loop& loop_;
  int fd_;
  bool stopped_ = false;
  std::move_only_function<void(int)> callback_;
};

Signals::Signals(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  CARDEA_CHECK(::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  CARDEA_CHECK(fd_ >= 0);
}

Signals::~Signals() {
  if (reader_) {
    auto done = std::make_shared<std::promise<void>>();
    reader_->loop().post([this, done] {
      reader_->stop();
      Loop& loop = reader_->loop();
      loop.bury(std::move(reader_));
      done->set_value();
    });
    done->get_future().wait();
  }
  ::close(fd_);
}

int Signals::wait() {
  for (;;) {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, -1);
    if (const int number = next_signal(fd_)) return number;
  }
}

void Signals::deliver(Loop& loop, std::move_only_function<void(int)> callback) {
  CARDEA_CHECK(reader_ == nullptr);
  reader_ = std::make_shared<Reader>(loop, fd_, std::move(callback));
  loop.post([reader = reader_] { reader->start(); });
}

}  // namespace cardea::net

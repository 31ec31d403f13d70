#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace cardea {
namespace {

// Random numbers from the kernel that are not used yet: one system call gives 32 of them.
class Supply {
 public:
  std::uint64_t take() {
    if (next_ == numbers_.size()) refill();
    return std::exchange(numbers_[next_++], 0);  // what was given out stays nowhere
  }

 private:
  // The kernel gives up to 256 bytes completely or not at all. Without them the process must not
  // continue: a guessable number would be a name or a secret that an attacker can guess.
  void refill() {
    static_assert(sizeof numbers_ <= 256);
    ssize_t got;
    do got = getrandom(numbers_.data(), sizeof numbers_, 0);
    while (got < 0 && errno == EINTR);
    CARDEA_CHECK(got == static_cast<ssize_t>(sizeof numbers_));
    next_ = 0;
  }

  std::array<std::uint64_t, 32> numbers_{};
  std::size_t next_ = numbers_.size();
};

}  // namespace

std::uint64_t SystemRandom::next() {
  thread_local Supply supply;
  return supply.take();
}

std::string make_uid(Random& random) {
  std::uint64_t high = (random.next() & ~0xF000ull) | 0x4000ull;       // version 4
  std::uint64_t low = (random.next() & ~(3ull << 62)) | (2ull << 62);  // variant 1
  // Once for each request: by hand, because a format string takes ten times as long.
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(36, '-');
  std::size_t at = 0;
  auto put = [&](std::uint64_t number, int digits) {
    while (digits-- > 0) text[at++] = kDigits[number >> (4 * digits) & 15];
    ++at;
  };
  put(high >> 32, 8);
  put(high >> 16, 4);
  put(high, 4);
  put(low >> 48, 4);
  put(low, 12);
  return text;
}

std::string name_suffix(Random& random) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < 5; ++i) out += kAlphabet[random.next() % kAlphabet.size()];
  return out;
}

}  // namespace cardea

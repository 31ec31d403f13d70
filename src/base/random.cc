#include "base/random.h"

#include <cstdio>
#include <random>
#include <string_view>

namespace cardea {

std::uint64_t SystemRandom::next() {
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return engine();
}

std::string make_uid(Random& random) {
  std::uint64_t high = (random.next() & ~0xF000ull) | 0x4000ull;                       // version 4
  std::uint64_t low = (random.next() & ~(3ull << 62)) | (2ull << 62);                  // variant 1
  char text[40];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(high >> 32),
                static_cast<unsigned>(high >> 16 & 0xFFFF), static_cast<unsigned>(high & 0xFFFF),
                static_cast<unsigned>(low >> 48), static_cast<unsigned long long>(low & 0xFFFFFFFFFFFFull));
  return text;
}

std::string name_suffix(Random& random) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < 5; ++i) out += kAlphabet[random.next() % kAlphabet.size()];
  return out;
}

}  // namespace cardea

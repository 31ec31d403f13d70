#pragma once
#include <cstdint>
#include <string>

namespace cardea {

// Randomness as the program sees it, so that a test can repeat it. Shared between threads.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
};

// The kernel's random numbers, suitable for secrets. Stops the process when the kernel cannot
// provide them.
class SystemRandom : public Random {
 public:
  std::uint64_t next() override;
};

std::string make_uid(Random& random);     // 1b4e28ba-2fa1-4d2b-883f-0016d3cca427
std::string name_suffix(Random& random);  // five characters that make no words

}  // namespace cardea

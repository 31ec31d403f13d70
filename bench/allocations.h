#pragma once
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

// For benchmarks of one source file: every allocation of the program is counted, operator new
// included; and the time.
extern "C" void* __libc_malloc(std::size_t) noexcept;
inline std::atomic<long> allocations{0};
extern "C" void* malloc(std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

inline std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

#include "authz/testing/allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local long count = 0;
}

// The thread sanitizer has these functions itself.
#if !__has_feature(thread_sanitizer)
constexpr bool kCountsAllocations = true;
void* operator new(std::size_t size) {
  ++count;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  std::abort();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#else
constexpr bool kCountsAllocations = false;
#endif

namespace cardea::authz {

long counted_allocations() {
  return kCountsAllocations ? count : -1;
}

}  // namespace cardea::authz

#include "base/huge_pages.h"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>
#include <new>

namespace cardea {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CARDEA_PLAIN_MEMORY 1
#endif
#endif

constexpr std::size_t kGrain = 16, kLargest = 4096, kHugePage = std::size_t{2} << 20;

struct Free {
  Free* next;
};

class Pool {
 public:
  void* take(std::size_t size) {
    const std::size_t grains = (size + kGrain - 1) / kGrain;
    std::lock_guard lock(mutex_);
    if (Free* block = free_[grains]) {
      free_[grains] = block->next;
      return block;
    }
    if (static_cast<std::size_t>(end_ - at_) < grains * kGrain) grow();
    void* block = at_;
    at_ += grains * kGrain;
    return block;
  }
  void give(void* block, std::size_t size) {
    const std::size_t grains = (size + kGrain - 1) / kGrain;
    std::lock_guard lock(mutex_);
    free_[grains] = new (block) Free{free_[grains]};
  }

 private:
  // What is left of the last chunk, less than the largest block, is let go.
  void grow() {
    // Twice the size always holds a huge page that begins where one must.
    void* memory = ::mmap(nullptr, 2 * kHugePage, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    char* begin = static_cast<char*>(memory);
    char* aligned = begin +
                    (kHugePage - reinterpret_cast<std::size_t>(begin) % kHugePage) % kHugePage;
    if (aligned > begin) ::munmap(begin, static_cast<std::size_t>(aligned - begin));
    if (char* rest = aligned + kHugePage; rest < begin + 2 * kHugePage)
      ::munmap(rest, static_cast<std::size_t>(begin + 2 * kHugePage - rest));
    // A small policy takes the pages it uses and no more.
    if (chunks_++ > 0) ::madvise(aligned, kHugePage, MADV_HUGEPAGE);
    at_ = aligned;
    end_ = aligned + kHugePage;
  }

  std::mutex mutex_;
  Free* free_[kLargest / kGrain + 1] = {};
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::size_t chunks_ = 0;
};

// Never destroyed: policies may outlive everything else.
Pool& pool() {
  static Pool& all = *new Pool();
  return all;
}

bool is_pooled(std::size_t size) {
#ifdef CARDEA_PLAIN_MEMORY
  return false;
#endif
  return size <= kLargest && size > 0;
}

}  // namespace

void* take_memory(std::size_t size) {
  if (is_pooled(size)) return pool().take(size);
  void* block = std::malloc(size);
  if (!block) throw std::bad_alloc();
  return block;
}

void give_memory(void* block, std::size_t size) {
  if (is_pooled(size))
    pool().give(block, size);
  else
    std::free(block);
}

}  // namespace cardea

#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace cardea::cel {

// The memory of one program or one evaluation. Allocation only moves forward, and everything is
// freed at once. The first bytes are inside the arena itself, so that short evaluations do not use
// the heap. Objects in the arena are not destroyed, so only trivially destructible types are
// allowed. One thread at a time.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { release_blocks(); }

  void* allocate(std::size_t bytes) {
    bytes = (bytes + 7) & ~std::size_t{7};
    used_ += bytes;
    if (bytes > static_cast<std::size_t>(end_ - next_)) [[unlikely]]
      return allocate_slow(bytes);
    char* at = next_;
    next_ += bytes;
    return at;
  }

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    static_assert(alignof(T) <= 8);
    return new (allocate(sizeof(T))) T{std::forward<Args>(args)...};
  }
  template <typename T>
  std::span<T> array(std::size_t count) {
    T* items = static_cast<T*>(allocate(count * sizeof(T)));
    for (std::size_t i = 0; i < count; ++i) new (items + i) T{};
    return {items, count};
  }
  char* text(std::size_t bytes) { return static_cast<char*>(allocate(bytes)); }
  std::string_view copy(std::string_view text_in) {
    char* at = text(text_in.size());
    if (!text_in.empty()) std::memcpy(at, text_in.data(), text_in.size());
    return {at, text_in.size()};
  }

  std::size_t used() const { return used_; }
  void reset() {
    release_blocks();
    blocks_ = nullptr;
    next_ = first_;
    end_ = first_ + sizeof first_;
    used_ = 0;
  }

 private:
  struct Block {
    Block* previous;
  };
  void* allocate_slow(std::size_t bytes);
  void release_blocks();

  Block* blocks_ = nullptr;
  std::size_t used_ = 0;
  alignas(8) char first_[2048];
  char* next_ = first_;
  char* end_ = first_ + sizeof first_;
};

}  // namespace cardea::cel

#include "cel/eval/arena.h"

#include <cstdlib>

namespace cardea::cel {

void* Arena::allocate_slow(std::size_t bytes) {
  // A large allocation gets its own block, so that the current block stays in use.
  const bool own = bytes > 16 * 1024;
  const std::size_t size = sizeof(Block) + (own ? bytes : 64 * 1024);
  auto* block = static_cast<Block*>(::operator new(size));
  block->previous = blocks_;
  blocks_ = block;
  char* at = reinterpret_cast<char*>(block + 1);
  if (!own) {
    next_ = at + bytes;
    end_ = reinterpret_cast<char*>(block) + size;
  }
  return at;
}

void Arena::release_blocks() {
  while (blocks_ != nullptr) {
    Block* previous = blocks_->previous;
    ::operator delete(blocks_);
    blocks_ = previous;
  }
}

}  // namespace cardea::cel

#pragma once
#include <cstddef>

namespace cardea {

// Memory for a large index, in huge pages: a decision among a million bindings reads a few
// random places, and finding each page took longer than reading it.
//
// Freed blocks are reused for blocks of the same size; nothing is returned to the system.
// Thread-safe, with a lock that is taken when a policy changes or an old one is destroyed,
// never by a decision. Sanitizers see ordinary allocations instead.
void* take_memory(std::size_t size);
void give_memory(void* block, std::size_t size);  // `size` as it was allocated

}  // namespace cardea

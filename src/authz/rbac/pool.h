#pragma once
#include <cstddef>

namespace cardea::authz::rbac {

// Where the index of a policy lies: memory in huge pages, because a decision among a million
// bindings reads a few places at random, and finding each page took longer than reading it.
//
// Blocks of one size are handed out again to blocks of that size; nothing goes back to the system.
// Thread-safe, with a lock: taken when a policy changes or an old one goes, never by a decision.
// Sanitizers see ordinary allocations instead.
void* take_memory(std::size_t size);
void give_memory(void* block, std::size_t size);  // `size` as it was taken

}  // namespace cardea::authz::rbac

#pragma once

namespace cardea::authz {

// How often this thread has allocated since it began; -1 where nobody counts, as under the thread
// sanitizer, which has an allocator of its own. A program that asks counts everywhere.
long counted_allocations();

}  // namespace cardea::authz

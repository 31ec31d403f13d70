#pragma once

namespace cardea::authz {

// The number of allocations of this thread so far. -1 if they are not counted, as under the thread
// sanitizer, which has its own allocator. In a program that calls this, all allocations are
// counted.
long counted_allocations();

}  // namespace cardea::authz

#pragma once

namespace cardea::net {

// Asks the kernel to give the calling thread short turns, and so early ones: a thread that has just
// been woken runs before others that are in the middle of a long turn. Its share of a busy
// processor stays the same. Linux knows this from 6.12 on; an older one goes on as before.
void ask_for_short_turns();

}  // namespace cardea::net

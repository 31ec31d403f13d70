#pragma once
#include "store/local_store.h"

namespace cardea::store {

// A store that forgets everything when it is destroyed. For tests and benchmarks. `clock`
// must outlive it.
std::unique_ptr<Store> make_memory_store(const Clock& clock, HistoryOptions history = {});

}  // namespace cardea::store

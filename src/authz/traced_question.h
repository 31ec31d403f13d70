#pragma once
#include <utility>

#include "base/trace.h"

namespace cardea::authz {

// Hands a trace to the chain that this thread asks next: each authorizer becomes a span. Called
// right before the question. The chain takes it before anything can wait, so that no other request
// ever sees it.
class TracedQuestion {
 public:
  static void give(Trace* trace) { next_ = trace; }
  static Trace* take() { return std::exchange(next_, nullptr); }

 private:
  static inline thread_local Trace* next_ = nullptr;
};

}  // namespace cardea::authz

#pragma once
#include <utility>

#include "base/trace.h"

namespace cardea::authz {

// Hands a trace to the chain that this thread asks next: each authorizer becomes a span. Called
// right before the question. The chain takes it before anything can wait, so that no other request
// ever sees it. The chain hands it on in the same way to an authorizer that has to wait for
// another server: `who` is the one that may take it, and takes it at its start.
//
// INVARIANT: whoever calls Authorizer::authorize_waiting gives something before, if only nothing.
class TracedQuestion {
 public:
  static void give(Trace* trace, const void* who = nullptr) { next_ = {trace, who}; }
  static Trace* take(const void* who = nullptr) {
    return next_.second == who ? std::exchange(next_, {}).first : nullptr;
  }

 private:
  static inline thread_local std::pair<Trace*, const void*> next_;
};

}  // namespace cardea::authz

#pragma once
#include "base/task.h"
#include "rest/write/settlement.h"
#include "store/store.h"

namespace cardea::rest {

// The writing side of the store as verbs see it: a write takes the proof that what authorization
// left open was settled. Borrows the store.
class Commits {
 public:
  Commits(store::Store& store) : store_(store) {}  // NOLINT: a store is one
  void commit(Settled, store::Txn txn, store::Store::Done done) const {
    store_.commit(std::move(txn), std::move(done));
  }

 private:
  store::Store& store_;
};

// Writes, and continues the coroutine on the loop of the request's connection: writes complete on a
// thread of the store.
Task<Result<store::Commit>> commit(Call& call, Settled proof, store::Txn txn);

}  // namespace cardea::rest

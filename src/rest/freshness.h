#pragma once
#include "base/task.h"
#include "rest/call.h"

// Where several servers share one store, a server may know less than what was acknowledged
// elsewhere. These are the places where a request waits for it. A store with one owner is
// always fresh (`Services::shared` is null), and neither is called.
namespace cardea::rest {

// The decision about the request is not older than `Services::staleness`, or the policy is still
// the one that it was made from. Otherwise an error: what cannot be known to be allowed is not.
Task<Result<void>> confirm_decision(Call& call);

// The store shows what the request must see: a read without a resourceVersion everything that was
// acknowledged before it, one with a resourceVersion at least that. Writes that begin with a read
// see everything too.
Task<Result<void>> make_fresh(Call& call);

// The store shows everything that was acknowledged before.
Task<Result<void>> show_everything(Call& call);

// What a write is told whose policy has changed meanwhile: its decision is not good any more. The
// gateway decides again, and says this only if the policy keeps changing, or a part of the request
// is stored already.
Error policy_moved();

}  // namespace cardea::rest

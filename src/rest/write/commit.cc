#include "rest/write/commit.h"

#include <algorithm>

#include "base/strings.h"
#include "rest/call.h"
#include "rest/freshness.h"
#include "rest/metrics.h"

namespace cardea::rest {
namespace {

std::string key_of_ground(const authz::Ground& ground) {
  return ground.namespace_name.empty()
             ? cat("/registry/", ground.resource, "/", ground.name)
             : cat("/registry/", ground.resource, "/", ground.namespace_name, "/", ground.name);
}

// What was decided from an older policy is not stored. Servers of ours write a mark with each
// change of policy. A kube-apiserver on the same etcd does not: so the objects that allow the
// request are compared too, which finds it out when one was changed or deleted there. False: that
// is known already.
bool rely_on_policy(const Call& call, store::Txn& txn) {
  txn.compares.push_back({std::string(store::kMarkKey), call.policy_revision});
  for (const authz::Ground& ground : call.open.grounds()) {
    const std::string key = key_of_ground(ground);
    const store::RecordPtr record = call.services.shared->get(key);
    if (!record || record->mod_revision > call.policy_revision) return false;
    txn.compares.push_back({key, record->mod_revision});
  }
  return true;
}

// Whether one of the compares from `first` on did not hold. They are taken out of the answer.
bool has_moved(const std::vector<store::Compare>& relied, std::size_t first, const Call& call,
               std::vector<store::RecordPtr>& present) {
  bool moved = false;
  for (std::size_t i = first; i < present.size(); ++i) {
    const store::Revision now = present[i] ? present[i]->mod_revision : 0;
    moved |= i == first ? now > call.policy_revision : now != relied[i].mod_revision;
  }
  present.resize(std::min(present.size(), first));
  return moved;
}

}  // namespace

Task<Result<store::Commit>> commit(Call& call, Settled proof, store::Txn txn) {
  net::Loop& loop = call.exchange->loop();
  const bool is_shared = call.services.shared && !call.is_own;
  const std::size_t own = txn.compares.size();
  call.has_policy_moved = is_shared && !rely_on_policy(call, txn);
  if (call.has_policy_moved) co_return fail(policy_moved());
  const std::vector<store::Compare> compares = is_shared ? txn.compares
                                                         : std::vector<store::Compare>();
  Result<store::Commit> written = co_await await_callback<Result<store::Commit>>(
      [&](auto done) mutable {
        call.services.commits.commit(
            proof, std::move(txn), [&loop, done](Result<store::Commit> result) mutable {
              loop.post([done, result = std::move(result)]() mutable { done(std::move(result)); });
            });
      });
  if (is_shared && written && !written->succeeded) {
    call.has_policy_moved = has_moved(compares, own, call, written->records);
    if (call.has_policy_moved) co_return fail(policy_moved());
  }
  if (written && written->succeeded) call.has_stored = true;
  if (!written && written.error().reason == Reason::kServiceUnavailable)
    call.services.metrics.registry()
        .counter({"cardea_store_refused_writes_total",
                  "Writes that the store did not take, for example because the disk is full."})
        .add();
  co_return written;
}

}  // namespace cardea::rest

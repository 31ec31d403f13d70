#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "store/etcd/etcd_engine.h"

namespace cardea::store {
namespace {

constexpr std::string_view kLeaseGrant = "/etcdserverpb.Lease/LeaseGrant";
// One lease serves all keys that are written within a twentieth of its time, and at most so many:
// they end together, at least their time after the last of them was written.
constexpr int kLeaseShare = 20;
constexpr int kLeaseKeys = 1'000;

}  // namespace

void EtcdStore::commit(Txn txn, Done done) {
  if (auto ok = check(txn); !ok) return done(fail(std::move(ok.error())));
  if (const EtcdLeased* leased = leased_by(txn)) {
    loop_.post([this, leased, txn = std::move(txn), done = std::move(done)]() mutable {
      spawn(send_leased(*leased, std::move(txn), std::move(done)), [](bool) {});
    });
    return;
  }
  auto message = request_of(txn);
  if (!message) return done(fail(std::move(message.error())));
  loop_.post(
      [this, txn = std::move(txn), message = std::move(*message),
       done = std::move(done)]() mutable { send(std::move(txn), message, std::move(done)); });
}

// The first key that is written says it: keys with and without an end are not written together.
const EtcdLeased* EtcdStore::leased_by(const Txn& txn) const {
  const Put* put = txn.ops.empty() ? nullptr : std::get_if<Put>(&txn.ops[0]);
  if (!put) return nullptr;
  for (const EtcdLeased& leased : options_.leased)
    if (put->key.starts_with(leased.prefix)) return &leased;
  return nullptr;
}

Task<bool> EtcdStore::send_leased(const EtcdLeased& leased, Txn txn, Done done) {
  Lease& lease = leases_[&leased];
  const net::SteadyTime now = std::chrono::steady_clock::now();
  if (lease.id == 0 || now >= lease.until || lease.keys >= kLeaseKeys) {
    const auto share = std::chrono::ceil<std::chrono::seconds>(leased.ttl / kLeaseShare);
    auto request = etcd::lease_request(leased.ttl + share);
    // Asked twice, the first lease ends by itself.
    Result<std::string> answer = co_await call(kLeaseGrant, std::move(request), Asked::kRead,
                                               options_.call_timeout);
    auto granted = answer ? etcd::read_lease(*answer) : fail(answer.error());
    if (!granted) {
      done(fail(Error::of(Reason::kServiceUnavailable,
                          cat("nothing was stored: ", granted.error().message))));
      co_return false;
    }
    lease = {granted->id, now + share, 0};
  }
  ++lease.keys;
  const Result<std::string> message = request_of(txn, lease.id);
  if (!message) {
    done(fail(message.error()));
    co_return false;
  }
  send(std::move(txn), *message, [&lease, done = std::move(done)](Result<Commit> answer) mutable {
    // It may have ended: the next key gets another one.
    if (!answer) lease.id = 0;
    done(std::move(answer));
  });
  co_return true;
}

// A transaction that changes a marked key changes the mark too.
Result<std::string> EtcdStore::request_of(const Txn& txn, std::int64_t lease) const {
  const bool marks = std::ranges::any_of(txn.ops, [this](const Op& op) {
    return is_marked(std::visit([](const auto& o) -> std::string_view { return o.key; }, op));
  });
  std::vector<std::string> values(options_.encoding ? txn.ops.size() : 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Put* put = std::get_if<Put>(&txn.ops[i]);
    if (!put) continue;
    auto value = keys_.value_to_etcd(put->key, put->value);
    if (!value) return fail(std::move(value.error()));
    values[i] = std::move(*value);
  }
  return etcd::txn_request(txn, keys_,
                           {.mark = marks ? kMarkKey : std::string_view(),
                            .guarded = options_.guarded,
                            .lease = lease,
                            .values = values});
}

bool EtcdStore::is_marked(std::string_view key) const {
  return std::ranges::any_of(options_.marked,
                             [key](const std::string& prefix) { return key.starts_with(prefix); });
}

void EtcdStore::send(Txn txn, Done done) {
  const Result<std::string> message = request_of(txn);
  if (!message) return done(fail(message.error()));
  send(std::move(txn), *message, std::move(done));
}

void EtcdStore::send(Txn txn, std::string_view message, Done done) {
  if (is_closing_) return done(fail(closing()));
  if (lost_.reason != Reason::kUnknown) return done(fail(lost_));
  channel_->call(
      kTxn, message, Asked::kWrite, options_.call_timeout,
      [this, txn = std::move(txn), done = std::move(done)](Result<std::string> answer) mutable {
        answered(std::move(txn), std::move(done), std::move(answer));
      });
}

void EtcdStore::answered(Txn txn, Done done, Result<std::string> message) {
  if (!message) return done(fail(std::move(message.error())));
  auto answer = etcd::read_txn(*message, keys_, txn.compares.size());
  if (!answer)
    return done(fail(internal_error(
        cat("outcome unknown: whether this was stored is not known: ", answer.error().message))));
  const Revision revision = answer->revision;
  wait_until(revision, options_.call_timeout,
             [this, txn = std::move(txn), answer = std::move(*answer),
              done = std::move(done)](Result<void> reached) mutable {
               if (reached) return done(commit_of(txn, answer));
               done(fail(internal_error(answer.succeeded ? cat("stored, but not visible here yet: ",
                                                               reached.error().message)
                                                         : reached.error().message)));
             });
}

Commit EtcdStore::commit_of(const Txn& txn, const etcd::TxnAnswer& answer) const {
  Commit commit{.succeeded = answer.succeeded, .revision = answer.revision, .records = {}};
  if (!answer.succeeded) {
    for (const RecordPtr& present : answer.present) {
      if (txn.compares[commit.records.size()].key == kMarkKey) {
        const Revision newest = std::max(answer.guarded, present ? present->mod_revision : 0);
        commit.records.push_back(Record::make(kMarkKey, {}, newest, newest, 1));
        continue;
      }
      RecordPtr known = present ? timeline_.get(present->key()) : nullptr;
      commit.records.push_back(known && known->mod_revision == present->mod_revision ? known
                                                                                     : present);
    }
    return commit;
  }
  for (std::size_t i = 0; i < txn.ops.size(); ++i) {
    const bool changed = i < answer.changed.size() && answer.changed[i];
    if (const Put* put = std::get_if<Put>(&txn.ops[i]))
      commit.records.push_back(record_at(*put, answer.revision));
    else
      commit.records.push_back(
          changed ? Record::make(std::get<Delete>(txn.ops[i]).key, {}, 0, answer.revision, 0)
                  : nullptr);
  }
  return commit;
}

RecordPtr EtcdStore::record_at(const Put& put, Revision revision) const {
  if (RecordPtr now = timeline_.get(put.key); now && now->mod_revision == revision) return now;
  // It has been changed again already.
  RecordPtr found;
  if (auto since = timeline_.events_after(revision - 1))
    since->each([&](const EventPtr& event) {
      if (event->revision == revision && event->record->key() == put.key) found = event->record;
    });
  return found ? found : Record::make(put.key, put.value, revision, revision, 1);
}

Task<Result<Commit>> EtcdStore::write(Txn txn) {
  Result<Commit> answer = co_await await_callback<Result<Commit>>(
      [this, &txn](auto done) { send(std::move(txn), std::move(done)); });
  co_return answer;
}

}  // namespace cardea::store

#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "store/store.h"

namespace cardea::rest::policy {

class ElementWriter;

// A store in which the roles and role bindings of namespace policy are separate objects. The
// underlying store keeps them inside Policy and PolicyBinding containers. Everything else
// passes through. So the verbs, admission and controllers treat a role as any other object,
// with its own resourceVersion, uid and conflicts, and the authorizer's index sees containers
// only.
//
// It guarantees rules that involve several objects: a binding refers to a role that exists, and
// to the policy of its container; a role that is bound is not deleted; a container is deleted
// only when empty; the name of a binding is unique in its namespace. Writes of elements go
// through one thread, which combines waiting writes for the same container: no write is lost,
// and writers do not wait for each other's retries.
//
// Elements cannot be watched; watch the container.
class PolicyStore : public store::Store {
 public:
  // `below`, `clock` and `random` outlive it. `master` is the namespace whose roles may be bound
  // from everywhere.
  PolicyStore(store::Store& below, const Clock& clock, Random& random, std::string master);
  ~PolicyStore() override;  // waiting writers get the error that nothing was written

  const std::string& master() const { return master_; }
  // Why the object under this key cannot be deleted now; `commit` makes the final decision.
  std::optional<Error> keeps(std::string_view key) const;

  store::RecordPtr get(std::string_view key) const override;
  Result<store::RangeResult> range(const store::RangeQuery& query) const override;
  std::int64_t count(const store::KeyRange& keys) const override;
  store::Revision current_revision() const override { return below_.current_revision(); }
  store::Revision compacted_revision() const override { return below_.compacted_revision(); }
  void commit(store::Txn txn, Done done) override;
  Result<std::unique_ptr<store::Watch>> watch(std::string prefix, store::Revision from,
                                              Sink sink) override {
    return below_.watch(std::move(prefix), from, std::move(sink));
  }
  void compact(store::Revision revision, Compacted done) override {
    below_.compact(revision, std::move(done));
  }
  store::StoreStats stats() const override { return below_.stats(); }
  bool is_always_fresh() const override { return below_.is_always_fresh(); }
  void refresh(Refreshed done) override { below_.refresh(std::move(done)); }
  std::chrono::steady_clock::time_point fresh_as_of() const override {
    return below_.fresh_as_of();
  }
  store::Revision marked_revision() const override { return below_.marked_revision(); }
  bool is_stale(const store::Record& record) const override { return below_.is_stale(record); }
  void reach(store::Revision revision, Refreshed done) override {
    below_.reach(revision, std::move(done));
  }

 private:
  store::Store& below_;
  const std::string master_;
  std::unique_ptr<ElementWriter> writer_;
};

}  // namespace cardea::rest::policy

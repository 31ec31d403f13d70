#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "store/store.h"

namespace cardea::rest::policy {

class ElementWriter;

// A store in which the roles and role bindings of namespace policy are objects of their own, over
// one in which they rest inside Policy and PolicyBinding containers. Everything else passes
// through. So the verbs, admission and controllers treat a role as any other object, with a
// resourceVersion, a uid and conflicts of its own, and the authorizer's index sees containers only.
//
// It promises what a single object cannot: a binding refers to a role that exists, and to the
// policy its container is for; a role that is bound is not deleted; a container goes only when
// empty; the name of a binding is unique in its namespace. Writes of elements go through one
// thread, which puts those that wait for the same container into one write of it: many writers lose
// nothing and do not wait for each other's retries.
//
// Elements have no watch: the container's is there.
class PolicyStore : public store::Store {
 public:
  // `below`, `clock` and `random` outlive it. `master` is the namespace whose roles may be bound
  // from everywhere.
  PolicyStore(store::Store& below, const Clock& clock, Random& random, std::string master);
  ~PolicyStore() override;  // whoever still waits is told that nothing was written

  const std::string& master() const { return master_; }
  // Why what is under this key is not deleted as things stand; `commit` has the last word.
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

 private:
  store::Store& below_;
  const std::string master_;
  std::unique_ptr<ElementWriter> writer_;
};

}  // namespace cardea::rest::policy

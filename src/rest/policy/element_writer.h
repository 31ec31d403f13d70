#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "rest/policy/elements.h"
#include "store/store.h"

namespace cardea::rest::policy {

// The element with this key, in whichever container it is; null if there is none.
store::RecordPtr find_element(const store::Store& below, std::string_view key, ElementKind kind,
                              std::string_view master);

// `a, b and 3 more`.
std::string listed(const std::vector<std::string>& names);

// The error for a write of an element whose container does not exist. `points_to`: for a
// binding, the namespace of its role.
Error missing_container(ElementKind kind, std::string_view namespace_name, std::string_view name,
                        std::string_view points_to);

// Writes elements into their containers, on its own thread. Each round takes all waiting
// writes, groups them by container and writes every container once. Roles are written and
// completed before bindings, so that no binding refers to a role that is deleted in the same
// round: as long as all writes of elements come through here, references hold.
class ElementWriter {
 public:
  ElementWriter(store::Store& below, const Clock& clock, Random& random, std::string master);
  ~ElementWriter();

  // A transaction on at most one element, perhaps with other keys beside it. From any thread;
  // `done` runs on this one's.
  void add(store::Txn txn, store::Store::Done done);
  // Why a role cannot be deleted: the bindings that use it. nullopt: there are none.
  std::optional<Error> keeps_role(std::string_view namespace_name, std::string_view name) const;

 private:
  struct Pending;
  struct Group;
  using Batch = std::vector<std::unique_ptr<Pending>>;

  using Groups = std::vector<std::unique_ptr<Group>>;
  enum class Placed { kWritten, kLater, kAnswered };

  void run();
  // Returns the writes that could not be part of this round.
  Batch write(Batch batch) const;
  Placed place(std::unique_ptr<Pending>& pending, Groups& groups,
               std::set<std::string>& touched) const;
  // False: it deletes what is not there.
  Result<bool> locate(Pending& pending) const;
  std::optional<std::string> container_holding(const Pending& pending) const;
  Result<void> check_references(const Pending& pending) const;
  std::vector<std::string> bindings_of(std::string_view role_namespace,
                                       std::string_view role) const;
  Result<Group*> group_for(Pending& pending, Groups& groups) const;
  json::Value new_binding_container(std::string_view namespace_name) const;
  void commit_all(Groups& groups) const;
  Batch settle(Group& group) const;

  store::Store& below_;
  const Clock& clock_;
  Random& random_;
  const std::string master_;
  std::mutex mutex_;
  std::condition_variable news_;
  Batch waiting_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace cardea::rest::policy

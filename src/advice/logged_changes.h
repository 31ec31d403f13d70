#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "json/value.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::advice {

// One write of a user, with the permissions that it needs.
struct LoggedChange {
  std::string group, resource;  // as rules name them: "deployments/status"
  std::string namespace_name;   // empty: in the whole cluster
  std::string verb;             // create, update or patch
  bool needs_verb = false;      // it cannot be judged field by field
  bool is_second = false;  // the same request again: an apply or update that created takes the verb
                           // create as well
  schema::Demands demands;
};

// The resource of a version; null when nothing is known about it.
using ResourceFinder = std::function<const catalog::Resource*(
    std::string_view group, std::string_view version, std::string_view resource)>;

// Reads audit events (audit.k8s.io/v1) in the order of the log and finds the changes of one
// user. The state of an object before a write comes from earlier events of any user. So the
// result is more exact with more events of level RequestResponse; where the state is not known,
// a note says so. Not shared between threads.
class LoggedChanges {
 public:
  LoggedChanges(std::string user, ResourceFinder find, schema::ExcludedVerbs excluded)
      : user_(std::move(user)), find_(std::move(find)), excluded_(std::move(excluded)) {}

  // One event, or an EventList.
  void take(const json::Value& event);

  const std::vector<LoggedChange>& changes() const { return changes_; }
  const std::vector<std::string>& notes() const {
    return notes_;
  }  // for the user of the command, in the order of the log
  std::size_t other_requests() const {
    return others_;
  }  // of the user, without fields: reads, deletes

 private:
  struct Write;

  void judge(const Write& write);
  void judge_scale(const Write& write, LoggedChange& change);
  void see(const Write& write, std::string_view name, const json::Value& object);
  void forget(const Write& write);
  void keep(const Write& write, LoggedChange change);
  void remember(const Write& write);
  void remember_list(const Write& write);
  void note(const Write& write, std::string_view text);

  std::string user_;
  ResourceFinder find_;
  schema::ExcludedVerbs excluded_;
  std::map<std::string, json::Value, std::less<>> objects_;  // as last seen, by group, resource,
                                                             // namespace and name
  std::vector<LoggedChange> changes_;
  std::vector<std::string> notes_;
  std::size_t others_ = 0;
};

// The fields that a patch names, of whatever type it is: JSON Patch, merge patch or an applied
// object. Lists are named as a whole, because only the type of a patch says whether it leaves their
// other items alone.
schema::FieldSet patched_fields(const json::Value& patch, const schema::Schema& schema);

}  // namespace cardea::advice

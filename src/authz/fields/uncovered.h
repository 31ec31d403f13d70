#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "json/value.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::authz::fields {

// The permissions that the UncoveredPermissionSets of a cluster exclude from every other
// permission: on all resources, or on those that a set names. A value.
class Uncovered {
 public:
  struct Excluded {
    schema::ExcludedVerbs verbs;
    // Of these, the permissions that also apply to changes by admission: all except those for which
    // every set that names them has admissionMayWrite.
    schema::ExcludedVerbs guarded_from_admission;
  };

  // One set. A list of resources that cannot be read stands for all resources.
  void add(const json::Value& spec);
  const Excluded& on(std::string_view group, std::string_view resource) const;
  // Whether a set excludes this verb on a resource; `*` for the group or the resource: on any. The
  // names of permissions are compared in any case, as rules of namespace policy do.
  bool excludes(std::string_view group, std::string_view resource, std::string_view verb) const;
  bool empty() const { return everywhere_.verbs.empty() && of_one_.empty(); }

  // A set that nobody could ever read, by its key: it may exclude anything.
  void add_unread(std::string key) { unread_ = std::move(key); }
  // One of those; empty when all could be read.
  const std::string& unread() const { return unread_; }

 private:
  std::string unread_;
  Excluded everywhere_;
  std::map<std::pair<std::string, std::string>, Excluded> of_one_;  // with those everywhere
};

inline constexpr std::string_view kPermissionGroup = "permissionconfig.k8s.io";
inline constexpr std::string_view
    kUncoveredPrefix = "/registry/permissionconfig.k8s.io/uncoveredpermissionsets/";

}  // namespace cardea::authz::fields

#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "json/value.h"

namespace cardea::rest {

// One of an object's metadata.ownerReferences.
struct Owner {
  std::string api_version, kind, name, uid;
  bool blocks = false;  // blockOwnerDeletion
  friend bool operator==(const Owner&, const Owner&) = default;
};

std::vector<Owner> owners_of(const json::Value& object);

// The dependents of each owner, by the owner's uid. Dependents are keys of the store. Contains
// only objects with owners, so that its size depends on those alone. Belongs to one thread.
class OwnerIndex {
 public:
  // The object at `key` now has these owners; none forgets it. Returns the ones it had.
  std::vector<Owner> set(const std::string& key, std::vector<Owner> owners);

  const std::vector<Owner>& owners(const std::string& key) const;
  // Empty when there are none. Changes with the next set().
  const std::set<std::string>& dependents(std::string_view uid) const;
  bool empty() const { return owners_.empty(); }

 private:
  std::unordered_map<std::string, std::vector<Owner>> owners_;
  std::unordered_map<std::string, std::set<std::string>, StringHash, std::equal_to<>> dependents_;
};

}  // namespace cardea::rest

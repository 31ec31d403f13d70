#include "rest/controllers/owner_index.h"

namespace cardea::rest {

std::vector<Owner> owners_of(const json::Value& object) {
  std::vector<Owner> out;
  for (const json::Value& r : object["metadata"]["ownerReferences"].items())
    out.push_back({std::string(r["apiVersion"].as_string()), std::string(r["kind"].as_string()),
                   std::string(r["name"].as_string()), std::string(r["uid"].as_string()),
                   r["blockOwnerDeletion"].as_bool()});
  return out;
}

std::vector<Owner> OwnerIndex::set(const std::string& key, std::vector<Owner> owners) {
  std::vector<Owner> before;
  if (auto found = owners_.find(key); found != owners_.end()) {
    before = std::move(found->second);
    owners_.erase(found);
    for (const Owner& o : before) {
      auto at = dependents_.find(o.uid);
      if (at == dependents_.end()) continue;
      at->second.erase(key);
      if (at->second.empty()) dependents_.erase(at);
    }
  }
  for (const Owner& o : owners) dependents_[o.uid].insert(key);
  if (!owners.empty()) owners_.emplace(key, std::move(owners));
  return before;
}

const std::vector<Owner>& OwnerIndex::owners(const std::string& key) const {
  static const std::vector<Owner> kNone;
  auto found = owners_.find(key);
  return found == owners_.end() ? kNone : found->second;
}

const std::set<std::string>& OwnerIndex::dependents(std::string_view uid) const {
  static const std::set<std::string> kNone;
  auto found = dependents_.find(uid);
  return found == dependents_.end() ? kNone : found->second;
}

}  // namespace cardea::rest

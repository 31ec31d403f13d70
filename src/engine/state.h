#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "authz/access/index.h"
#include "authz/authorizer.h"
#include "authz/fields/uncovered.h"
#include "authz/namespace_policy/index.h"
#include "authz/rbac/role_table.h"
#include "cardea/engine.h"
#include "catalog/catalog.h"
#include "engine/documents.h"
#include "engine/kinds.h"

namespace cardea::engine {

// Everything that decisions are made from, at one moment. Immutable; kept alive by the decisions
// made from it.
struct State {
  std::shared_ptr<const catalog::Catalog> catalog;
  authz::fields::Uncovered uncovered;
  std::unique_ptr<const Kinds> kinds;
  std::shared_ptr<const authz::Chain> chain;
};

// The documents of an engine, and the states that they make. Used by one thread at a time.
class Documents {
 public:
  explicit Documents(v1::Options options);

  void put(Document document);
  bool erase(const Document& document);  // whether it was there
  // What is looked through as a whole: ClusterRoles when one of them changed, definitions when one
  // of them did. All else costs the size of the change.
  std::shared_ptr<const State> state();

 private:
  void forget(const Document& document);
  void gather_aggregated();

  const v1::Options options_;
  std::map<std::string, Document, std::less<>> documents_;
  authz::rbac::RoleTable roles_;
  authz::access::Index access_;
  authz::namespace_policy::Index policies_;
  std::map<std::string, json::Value, std::less<>> uncovered_;  // the specs of the sets
  std::shared_ptr<const catalog::Catalog> catalog_ = known_resources();
  bool cluster_roles_changed_ = false, definitions_changed_ = false, maps_changed_ = false;
};

}  // namespace cardea::engine

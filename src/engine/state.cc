#include "engine/state.h"

#include "authz/access/access_authorizer.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "authz/rbac/aggregation.h"
#include "authz/rbac/rbac_authorizer.h"
#include "catalog/permission_maps.h"

namespace cardea::engine {

using json::Value;
using Sort = Document::Sort;

Documents::Documents(v1::Options options)
    : options_(std::move(options)), policies_(options_.master_namespace) {}

void Documents::forget(const Document& d) {
  switch (d.sort) {
    case Sort::kRole:
      roles_.remove_role(d.namespace_name, d.name);
      break;
    case Sort::kBinding:
      roles_.remove_binding(d.namespace_name, d.name, d.object);
      break;
    case Sort::kAccessPolicy:
      access_.remove(d.access_policy);
      break;
    case Sort::kPolicy:
      policies_.change_policy(d.namespace_name, d.object, Value());
      break;
    case Sort::kPolicyBinding:
      policies_.change_bindings(d.namespace_name, d.name, d.object, Value());
      break;
    case Sort::kUncovered:
      uncovered_.erase(d.key);
      break;
    case Sort::kPermissionMap:
      maps_changed_ = true;
      break;
    case Sort::kDefinition:
      definitions_changed_ = true;
      break;
  }
  cluster_roles_changed_ |= d.sort == Sort::kRole && d.namespace_name.empty();
}

bool Documents::erase(const Document& d) {
  auto at = documents_.find(d.key);
  if (at == documents_.end()) return false;
  forget(at->second);
  documents_.erase(at);
  return true;
}

void Documents::put(Document d) {
  erase(d);
  switch (d.sort) {
    case Sort::kRole:
      roles_.set_role(d.namespace_name, d.name, authz::rbac::read_rules(d.object["rules"]));
      break;
    case Sort::kBinding:
      roles_.add_binding(d.namespace_name, d.name, d.object);
      break;
    case Sort::kAccessPolicy:
      access_.add(d.access_policy);
      break;
    case Sort::kPolicy:
      policies_.change_policy(d.namespace_name, Value(), d.object);
      break;
    case Sort::kPolicyBinding:
      policies_.change_bindings(d.namespace_name, d.name, Value(), d.object);
      break;
    case Sort::kUncovered:
      uncovered_.insert_or_assign(d.key, d.object["spec"]);
      break;
    case Sort::kPermissionMap:
      maps_changed_ = true;
      break;
    case Sort::kDefinition:
      definitions_changed_ = true;
      break;
  }
  cluster_roles_changed_ |= d.sort == Sort::kRole && d.namespace_name.empty();
  std::string key = d.key;
  documents_.insert_or_assign(std::move(key), std::move(d));
}

// What a controller of a cluster writes into aggregated roles.
void Documents::gather_aggregated() {
  std::vector<Value> roles;
  for (const auto& [key, d] : documents_)
    if (d.sort == Sort::kRole && d.namespace_name.empty()) roles.push_back(d.object);
  for (const Value& role : roles) {
    if (!role["aggregationRule"].is_object()) continue;
    std::string_view name = role["metadata"]["name"].as_string();
    std::vector<authz::rbac::PolicyRule> rules;
    for (const Value& rule : authz::rbac::aggregated_rules(name, roles))
      rules.push_back(authz::rbac::read_rule(rule));
    roles_.set_role("", name, std::move(rules));
  }
}

std::shared_ptr<const State> Documents::state() {
  if (std::exchange(cluster_roles_changed_, false)) gather_aggregated();
  if (std::exchange(definitions_changed_, false)) {
    std::vector<Value> definitions;
    for (const auto& [key, d] : documents_)
      if (d.sort == Sort::kDefinition) definitions.push_back(d.object);
    catalog_ = catalog_->with_definitions(definitions);
  }
  if (std::exchange(maps_changed_, false)) {
    std::vector<Value> maps;
    for (const auto& [key, d] : documents_)
      if (d.sort == Sort::kPermissionMap) maps.push_back(d.object);
    catalog_ = catalog_->with_permission_maps(
        std::make_shared<const catalog::PermissionMaps>(maps));
  }
  auto out = std::make_shared<State>();
  out->catalog = catalog_;
  for (const auto& [key, spec] : uncovered_) out->uncovered.add(spec);
  out->kinds = std::make_unique<const Kinds>(catalog_, out->uncovered);
  std::vector<std::shared_ptr<const authz::Authorizer>> list;
  if (options_.masters) list.push_back(authz::masters_authorizer());
  list.push_back(
      authz::access::authorizer_of(std::make_shared<const authz::access::Index>(access_)));
  list.push_back(authz::namespace_policy::authorizer_of(
      std::make_shared<const authz::namespace_policy::Index>(policies_),
      {.kinds = out->kinds.get()}));
  list.push_back(
      authz::rbac::authorizer_of(std::make_shared<const authz::rbac::RoleTable>(roles_)));
  out->chain = std::make_shared<const authz::Chain>(std::move(list));
  return out;
}

}  // namespace cardea::engine

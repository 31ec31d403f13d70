#include "feeds/role_feed.h"

#include "json/parse.h"

namespace cardea::feeds {
namespace {

struct Collection {
  std::string_view prefix;
  bool is_namespaced, is_binding;
};
constexpr Collection kCollections[] = {
    {"/registry/roles/", true, false},
    {"/registry/clusterroles/", false, false},
    {"/registry/rolebindings/", true, true},
    {"/registry/clusterrolebindings/", false, true},
};

struct Place {
  const Collection* collection = nullptr;
  std::string_view namespace_name, name;
};

Place place_of(std::string_view key) {
  for (const Collection& c : kCollections) {
    if (!key.starts_with(c.prefix)) continue;
    std::string_view rest = key.substr(c.prefix.size());
    if (!c.is_namespaced) return {&c, "", rest};
    auto slash = rest.find('/');
    if (slash == std::string_view::npos || slash == 0) return {};
    return {&c, rest.substr(0, slash), rest.substr(slash + 1)};
  }
  return {};
}

// Whether the object could be read.
bool add(authz::rbac::RoleTable& table, const Place& at, const store::Record& record) {
  auto object = json::parse(record.value());
  json::Value readable = object.value_or(json::Value());
  if (at.collection->is_binding)
    table.add_binding(at.namespace_name, at.name, readable);
  else
    table.set_role(at.namespace_name, at.name, authz::rbac::read_rules(readable["rules"]));
  return object.has_value();
}

void remove(authz::rbac::RoleTable& table, const Place& at, const store::Record& record) {
  if (at.collection->is_binding)
    table.remove_binding(at.namespace_name, at.name,
                         json::parse(record.value()).value_or(json::Value()));
  else
    table.remove_role(at.namespace_name, at.name);
}

}  // namespace

std::vector<std::string> RoleFold::prefixes() const {
  std::vector<std::string> out;
  for (const Collection& c : kCollections) out.emplace_back(c.prefix);
  return out;
}

store::Folded RoleFold::change(std::string_view key, const store::Record* before,
                               const store::Record* after) {
  const Place at = place_of(key);
  if (!at.collection) return store::Folded::kSame;
  if (before) remove(next_, at, *before);
  const bool is_readable = !after || add(next_, at, *after);
  return is_readable ? store::Folded::kChanged : store::Folded::kUnreadable;
}

}  // namespace cardea::feeds

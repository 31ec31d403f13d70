// PermissionMap: what can be checked of it without the kind that it is about. The rest is for
// PermissionMapGuard.
#include "catalog/kinds/authorization/group_resource.h"
#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"
#include "schema/permissions/added_permissions.h"

namespace cardea::catalog {
namespace {

FieldErrors check_map(const Value& object) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  const Value& spec = object["spec"];
  const Path at = "spec";
  check_group_resource(at, spec, out);
  const Value& permissions = spec["permissions"];
  if (permissions.empty()) out.push_back(json::required(at / "permissions"));
  if (permissions.size() > schema::kMostTaggedNodes) {
    out.push_back(json::too_many(at / "permissions", static_cast<int>(permissions.size()),
                                 static_cast<int>(schema::kMostTaggedNodes)));
    return out;
  }
  // Each is compiled whenever the map changes, and stays in memory.
  constexpr std::ptrdiff_t kMostExpressions = 8;
  const auto expressions = std::ranges::count_if(
      permissions.items(), [](const Value& entry) { return entry.has("parameterExpression"); });
  if (expressions > kMostExpressions) {
    out.push_back(json::invalid(
        at / "permissions", Value(static_cast<std::int64_t>(expressions)),
        cat("must have no more than ", kMostExpressions, " entries with a parameterExpression")));
    return out;
  }
  for (std::size_t i = 0; i < permissions.size(); ++i) {
    const Path entry = (at / "permissions").index(i);
    for (json::FieldError& error : schema::check_added(permissions[i], entry))
      out.push_back(std::move(error));
    for (std::size_t j = 0; j < i; ++j)
      if (permissions[j]["field"] == permissions[i]["field"]) {
        out.push_back(json::duplicate(entry / "field", permissions[i]["field"]));
        break;
      }
  }
  return out;
}

FieldErrors check_new(const Value& object, const StrategyContext&) {
  return check_map(object);
}
FieldErrors check_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out = check_map(object);
  validate_kind_meta_update(object, old, out);
  return out;
}

}  // namespace

const Strategy& permission_map_strategy() {
  static const Strategy strategy{
      .validate_create = check_new, .validate_update = check_update, .has_generation = true};
  return strategy;
}

}  // namespace cardea::catalog

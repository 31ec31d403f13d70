#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/go_value.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kScopes[] = {"Terminating",          "NotTerminating",
                                        "BestEffort",           "NotBestEffort",
                                        "PriorityClass",        "CrossNamespacePodAffinity",
                                        "VolumeAttributesClass"};

bool is_quota_resource(std::string_view name) {
  FieldErrors errors;
  validate_quota_resource_name(name, {}, errors);
  return errors.empty() && name.find('/') == std::string_view::npos;
}

bool scope_fits(std::string_view scope, std::string_view resource) {
  if (scope == "BestEffort") return resource == "pods";
  if (scope == "VolumeAttributesClass")
    return resource == "persistentvolumeclaims" || resource == "requests.storage";
  if (contains(kScopes, scope)) return is_pod_quota_resource(resource);
  return true;
}

void defaults(Value& object, const StrategyContext&) {
  edit_member(object, "spec", [](Value& spec) { default_resource_list(spec, "hard"); });
  edit_member(object, "status", [](Value& status) {
    default_resource_list(status, "hard");
    default_resource_list(status, "used");
  });
}

void validate_amounts(const Value& list, const Path& path, FieldErrors& out) {
  for (const json::Member& m : list.members()) {
    validate_quota_resource_name(m.key(), path.key(m.key()), out);
    validate_resource_value(m.key(), m.value, path.key(m.key()), out);
  }
}

bool conflicting(const std::set<std::string_view>& scopes, std::string_view a, std::string_view b) {
  return scopes.contains(a) && scopes.contains(b);
}

void validate_scopes(const Value& spec, const Path& path, FieldErrors& out) {
  const Value& scopes = spec["scopes"];
  std::set<std::string_view> seen;
  for (const Value& scope : scopes.items()) {
    if (!contains(kScopes, scope.as_string()))
      out.push_back(json::invalid(path, scopes, "unsupported scope"));
    for (const json::Member& m : spec["hard"].members())
      if (is_quota_resource(m.key()) && !scope_fits(scope.as_string(), m.key()))
        out.push_back(json::invalid(path, scopes, "unsupported scope applied to resource"));
    seen.insert(scope.as_string());
  }
  if (conflicting(seen, "BestEffort", "NotBestEffort"))
    out.push_back(json::invalid(path, scopes, "conflicting scopes"));
  if (conflicting(seen, "Terminating", "NotTerminating"))
    out.push_back(json::invalid(path, scopes, "conflicting scopes"));
}

void validate_selector_values(const Value& requirement, const Path& path, FieldErrors& out) {
  std::string_view op = text(requirement, "operator");
  const Value& values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.empty())
      out.push_back(json::required(
          path / "values",
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"));
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty())
      out.push_back(json::invalid(
          path / "values", values,
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"));
  } else {
    out.push_back(json::invalid(path / "operator", op, "not a valid selector operator"));
  }
}

std::string show_scope_selector(const Value& selector) {
  std::vector<std::string> parts;
  for (const Value& r : selector["matchExpressions"].items())
    parts.push_back(show_go_struct(r, {"scopeName", "operator", "values"}));
  return cat("{\"MatchExpressions\":[", join(parts, ","), "]}");
}

void validate_scope_selector(const Value& spec, const Path& path, FieldErrors& out) {
  std::set<std::string_view> seen;
  const Value& selector = spec["scopeSelector"];
  for (const Value& requirement : selector["matchExpressions"].items()) {
    std::string_view scope = text(requirement, "scopeName");
    if (!contains(kScopes, scope))
      out.push_back(json::invalid(path / "scopeName", scope, "unsupported scope"));
    for (const json::Member& m : spec["hard"].members())
      if (is_quota_resource(m.key()) && !scope_fits(scope, m.key()))
        out.push_back(
            json::shown_as(json::invalid(path, {}, "unsupported scope applied to resource"),
                           show_scope_selector(selector)));
    bool exists_only = contains(kScopes, scope) && scope != "PriorityClass" &&
                       scope != "VolumeAttributesClass";
    if (exists_only && text(requirement, "operator") != "Exists")
      out.push_back(
          json::invalid(path / "operator", text(requirement, "operator"),
                        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                        "ResourceQuotaScopeNotTerminating, "
                        "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                        "ResourceQuotaScopeCrossNamespacePodAffinity"));
    validate_selector_values(requirement, path, out);
    seen.insert(scope);
  }
  if (conflicting(seen, "BestEffort", "NotBestEffort") ||
      conflicting(seen, "Terminating", "NotTerminating"))
    out.push_back(json::invalid(path, spec["scopes"], "conflicting scopes"));
}

void validate_spec(const Value& spec, FieldErrors& out) {
  validate_amounts(spec["hard"], "spec.hard", out);
  validate_scopes(spec, "spec.scopes", out);
  validate_scope_selector(spec, "spec.scopeSelector.matchExpressions", out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_spec(object["spec"], out);
  return out;
}

std::set<std::string_view> scope_set(const Value& object) {
  std::set<std::string_view> out;
  for (const Value& scope : object["spec"]["scopes"].items()) out.insert(scope.as_string());
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], out);
  if (scope_set(object) != scope_set(old))
    out.push_back(
        json::invalid("spec.scopes", object["spec"]["scopes"], std::string(kFieldIsImmutable)));
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_amounts(object["status"]["hard"], "status.hard", out);
  validate_amounts(object["status"]["used"], "status.used", out);
  return out;
}

}  // namespace

const Strategy& resource_quota_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog

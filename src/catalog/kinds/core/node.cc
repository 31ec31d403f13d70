#include <re2/re2.h>

#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/go_value.h"
#include "catalog/kinds/ip.h"

namespace cardea::catalog {
namespace {

// The older field shows the first item of the newer list.
void default_pod_cidr(Value& spec) {
  std::string first(text(spec, "podCIDR"));
  const Value& all = spec["podCIDRs"];
  if (!first.empty() && (all.empty() || all[0].as_string() != first))
    spec.set("podCIDRs", Value::array({Value(first)}));
  else if (first.empty() && !all.empty())
    spec.set("podCIDR", all[0]);
}

void defaults(Value& object, const StrategyContext&) {
  edit_member(object, "spec", default_pod_cidr);
  edit_member(object, "status", [](Value& status) {
    default_resource_list(status, "capacity");
    default_resource_list(status, "allocatable");
    if (!present(status, "allocatable") && present(status, "capacity"))
      status.set("allocatable", status["capacity"]);
  });
}

// Kubelets are no longer configured through the API server; the fields remain.
void drop_dynamic_config(Value& object) {
  edit_member(object, "spec", [](Value& spec) { spec.erase("configSource"); });
  edit_member(object, "status", [](Value& status) { status.erase("config"); });
}

void prepare_create(Value& object, const StrategyContext&) {
  drop_dynamic_config(object);
}
void prepare_update(Value& object, const Value& old, const StrategyContext& context) {
  keep_status(object, old, context);
  if (!present(old["spec"], "configSource")) drop_dynamic_config(object);
}

void validate_taints(const Value& spec, FieldErrors& out) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  // The path is metadata.taints: Kubernetes reports it there.
  each(spec, "taints", "metadata", [&](const Value& taint, const Path& at) {
    std::string_view key = text(taint, "key"), value = text(taint, "value"),
                     effect = text(taint, "effect");
    complain(at / "key", key, qualified_name(key), out);
    if (auto complaints = label_value(value); !complaints.empty())
      out.push_back(json::invalid(at / "value", value, join(complaints, ";")));
    validate_taint_effect(effect, false, at / "effect", out);
    if (seen.insert({effect, key}).second) return;
    Value shown = taint;
    for (const char* k : {"key", "value", "effect"})
      if (!shown.has(k)) shown.set(k, "");
    auto error = json::shown_as(json::duplicate(at, {}),
                                show_go_struct(shown, {"key", "value", "effect", "timeAdded"}));
    error.detail = "taints must be unique by key and effect pair";
    out.push_back(std::move(error));
  });
}

void validate_amounts(const Value& status, FieldErrors& out) {
  for (const char* key : {"capacity", "allocatable"})
    for (const json::Member& m : status[key].members())
      validate_resource_value(m.key(), m.value, Path("status") / key / m.key(), out);
}

void validate_declared_features(const Value& status, FieldErrors& out) {
  static const RE2 form("[A-Z][a-zA-Z0-9]*(/[a-zA-Z0-9]+)*");
  const Value& features = status["declaredFeatures"];
  Path path = "status.declaredFeatures";
  for (std::size_t i = 0; i < features.size(); ++i) {
    std::string_view name = features[i].as_string();
    if (name.size() > 253)
      out.push_back(json::invalid(
          path.index(i), name,
          cat("invalid feature name ", quoted(name), ": must be no more than 253 characters")));
    else if (!RE2::FullMatch(re2::StringPiece(name.data(), name.size()), form))
      out.push_back(json::invalid(path.index(i), name,
                                  cat("invalid feature name ", quoted(name),
                                      ": must start with an UpperCamelCase segment, with "
                                      "subsequent segments separated by '/' (e.g., "
                                      "MyFeature or MyFeature/mySubFeature), and contain only "
                                      "alphanumeric characters and slashes")));
    if (i + 1 == features.size()) break;
    std::string_view next = features[i + 1].as_string();
    if (name == next) out.push_back(json::duplicate(path.index(i + 1), next));
    if (name > next)
      out.push_back(json::invalid(path.index(i + 1), next, "list must be sorted alphabetically"));
  }
}

void validate_pod_cidrs(const Value& spec, FieldErrors& out) {
  const Value& cidrs = spec["podCIDRs"];
  each(spec, "podCIDRs", "spec",
       [&](const Value& cidr, const Path& at) { validate_cidr(at, cidr.as_string(), true, out); });
  if (cidrs.size() < 2) return;
  for (std::size_t i = 0; i < cidrs.size(); ++i)
    if (!parse_cidr(cidrs[i].as_string())) {
      out.push_back(
          {json::FieldError::Type::kInternal,
           "spec.podCIDRs",
           cat("invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[", i,
               "]: <nil> (invalid CIDR address: ", cidrs[i].as_string(), ")"),
           {},
           false,
           {}});
      break;
    }
  auto first = parse_cidr(cidrs[0].as_string()), second = parse_cidr(cidrs[1].as_string());
  if (cidrs.size() > 2 || !first || !second || first->address.v4 == second->address.v4)
    out.push_back(json::invalid("spec.podCIDRs", cidrs,
                                "may specify no more than one CIDR for each IP family"));
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_taints(object["spec"], out);
  validate_amounts(object["status"], out);
  const Value& swap = object["status"]["nodeInfo"]["swap"]["capacity"];
  if (!swap.is_null() && swap.as_int() <= 0)
    out.push_back(
        json::invalid("metadata.nodeSwapStatus.capacity", swap, "must be greater than zero"));
  validate_declared_features(object["status"], out);
  validate_pod_cidrs(object["spec"], out);
  return out;
}

void validate_changes(const Value& object, const Value& old, FieldErrors& out) {
  validate_kind_meta_update(object, old, out);
  validate_amounts(object["status"], out);
  validate_declared_features(object["status"], out);
  std::set<std::pair<std::string_view, std::string_view>> addresses;
  each(object["status"], "addresses", "status", [&](const Value& address, const Path& at) {
    if (!addresses.insert({text(address, "type"), text(address, "address")}).second)
      out.push_back(
          json::shown_as(json::duplicate(at, {}), show_go_struct(address, {"type", "address"})));
  });
  const Value &old_cidrs = old["spec"]["podCIDRs"], &cidrs = object["spec"]["podCIDRs"];
  constexpr const char* kCidr = "node updates may not change podCIDR except from \"\" to valid";
  if (!old_cidrs.empty()) {
    if (old_cidrs.size() != cidrs.size())
      out.push_back(json::forbidden("spec.podCIDRs", kCidr));
    else
      for (std::size_t i = 0; i < cidrs.size(); ++i)
        if (cidrs[i] != old_cidrs[i]) out.push_back(json::forbidden("spec.podCIDRs", kCidr));
  }
  std::string_view provider = text(old["spec"], "providerID");
  if (!provider.empty() && provider != text(object["spec"], "providerID"))
    out.push_back(json::forbidden(
        "spec.providerID", "node updates may not change providerID except from \"\" to valid"));
  validate_taints(object["spec"], out);
  if (text(object["spec"], "externalID") != text(old["spec"], "externalID"))
    out.push_back(json::forbidden("spec.externalID", "may not be updated"));
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out = validate(object, context);
  validate_changes(object, old, out);
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_changes(object, old, out);
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value*, const StrategyContext&) {
  std::vector<std::string> out;
  if (present(object["spec"], "configSource"))
    out.push_back(
        "spec.configSource: the feature is no longer supported and will be removed in a future "
        "release");
  if (!text(object["spec"], "externalID").empty())
    out.push_back("spec.externalID: this field is deprecated, and is unused by Kubernetes");
  each(object["spec"], "podCIDRs", "spec",
       [&](const Value& cidr, const Path& at) { warn_about_cidr(at, cidr.as_string(), out); });
  return out;
}

std::string field(const Value& object, std::string_view name) {
  return name == "spec.unschedulable" ? object["spec"]["unschedulable"].as_bool() ? "true" : "false"
                                      : "";
}

}  // namespace

const Strategy& node_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .selectable_fields = {"spec.unschedulable"},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
      .brings_status = true,
  };
  return strategy;
}

}  // namespace cardea::catalog

#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::int64_t kHighestUserPriority = 1'000'000'000;

struct SystemClass {
  std::string_view name;
  std::int64_t value;
  std::string_view description;
};
constexpr SystemClass kSystemClasses[] = {
    {"system-node-critical", 2'000'001'000,
     "Used for system critical pods that must not be moved from their current node."},
    {"system-cluster-critical", 2'000'000'000,
     "Used for system critical pods that must run in the cluster, but can be moved to another node "
     "if "
     "necessary."},
};

// The reason why a name with the system's prefix may not be used. Empty if the object is one of the
// system's own.
std::string system_class_error(const Value& object) {
  std::string_view name = object["metadata"]["name"].as_string();
  for (const SystemClass& known : kSystemClasses) {
    if (known.name != name) continue;
    if (object["value"].as_int() != known.value)
      return cat("value of ", name, " PriorityClass must be ", known.value);
    if (object["globalDefault"].as_bool())
      return cat("globalDefault of ", name, " PriorityClass must be false");
    return "";
  }
  return cat(name, " is not a known system priority class");
}

void set_defaults(Value& object, const StrategyContext&) {
  set_default(object, "preemptionPolicy", "PreemptLowerPriority");
}

void validate_policy(const Value& object, FieldErrors& out) {
  const Value& policy = object["preemptionPolicy"];
  if (policy.as_string().empty())
    out.push_back(json::required("preemptionPolicy"));
  else
    check_one_of("preemptionPolicy", policy, {"PreemptLowerPriority", "Never"}, out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  if (object["metadata"]["name"].as_string().starts_with("system-")) {
    if (std::string error = system_class_error(object); !error.empty())
      out.push_back(
          json::forbidden("metadata.name", cat("priority class names with 'system-' prefix are "
                                               "reserved for system use only. error: ",
                                               error)));
  } else if (object["value"].as_int() > kHighestUserPriority) {
    out.push_back(json::forbidden(
        "value",
        cat("maximum allowed value of a user defined priority is ", kHighestUserPriority)));
  }
  validate_policy(object, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  if (object["value"].as_int() != old["value"].as_int())
    out.push_back(json::forbidden("value", "may not be changed in an update."));
  check_immutable("preemptionPolicy", object["preemptionPolicy"], old["preemptionPolicy"], out);
  return out;
}

}  // namespace

const Strategy& priority_class_strategy() {
  static const Strategy strategy{
      .defaults = set_defaults,
      .validate_create = validate,
      .validate_update = validate_update,
      .has_generation = true,
  };
  return strategy;
}

std::vector<Value> bootstrap_priority_classes() {
  std::vector<Value> out;
  for (const SystemClass& known : kSystemClasses)
    out.push_back(Value::object({
        {"apiVersion", "scheduling.k8s.io/v1"},
        {"kind", "PriorityClass"},
        {"metadata", Value::object({{"name", known.name}, {"generation", 1}})},
        {"value", Value(known.value)},
        {"description", known.description},
        {"preemptionPolicy", "PreemptLowerPriority"},
    }));
  return out;
}

}  // namespace cardea::catalog

#include <set>

#include "base/quantity.h"
#include "catalog/kinds/check.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/storage/storage_class.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

// CSIDriver

void driver_defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  set_default(spec, "attachRequired", true);
  set_default(spec, "podInfoOnMount", false);
  set_default(spec, "storageCapacity", false);
  set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  if (spec["volumeLifecycleModes"].empty())
    spec.set("volumeLifecycleModes", Value::array({"Persistent"}));
  set_default(spec, "requiresRepublish", false);
  set_default(spec, "seLinuxMount", false);
}

void validate_token_requests(const Path& path, const Value& requests, FieldErrors& out) {
  constexpr std::int64_t kTenMinutes = 600;
  std::set<std::string_view> audiences;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Value& audience = requests[i]["audience"];
    if (!audiences.insert(audience.as_string()).second)
      out.push_back(
          json::duplicate(path.index(i) / "audience", audience.is_null() ? Value("") : audience));
    const Value& seconds = requests[i]["expirationSeconds"];
    if (seconds.is_null()) continue;
    Path at = path.index(i) / "expirationSeconds";
    if (seconds.as_int() < kTenMinutes)
      out.push_back(json::invalid(at, seconds, "may not specify a duration less than 10 minutes"));
    if (seconds.as_int() > (std::int64_t{1} << 32))
      out.push_back(
          json::invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"));
  }
}

void validate_driver_spec(const Value& spec, FieldErrors& out) {
  Path path = "spec";
  for (std::string_view name : {"attachRequired", "podInfoOnMount", "storageCapacity"})
    if (spec[name].is_null()) out.push_back(json::required(path / name));
  check_one_of(path / "fsGroupPolicy", spec["fsGroupPolicy"],
               {"File", "None", "ReadWriteOnceWithFSType"}, out);
  validate_token_requests(path / "tokenRequests", spec["tokenRequests"], out);
  for (const Value& mode : spec["volumeLifecycleModes"].items())
    check_one_of(path / "volumeLifecycleModes", mode, {"Persistent", "Ephemeral"}, out);
  const Value& period = spec["nodeAllocatableUpdatePeriodSeconds"];
  if (!period.is_null() && period.as_int() < 10)
    out.push_back(json::invalid(path / "nodeAllocatableUpdatePeriodSeconds", period,
                                "must be greater than or equal to 10 seconds"));
  if (!spec["serviceAccountTokenInSecrets"].is_null() && spec["tokenRequests"].empty())
    out.push_back(
        json::invalid(path / "serviceAccountTokenInSecrets", spec["serviceAccountTokenInSecrets"],
                      "serviceAccountTokenInSecrets is set but no tokenRequests are specified"));
}

FieldErrors validate_driver(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_driver_spec(object["spec"], out);
  return out;
}

FieldErrors validate_driver_update(const Value& object, const Value& old,
                                   const StrategyContext& context) {
  FieldErrors out = validate_driver(object, context);
  check_immutable("spec.attachedRequired", object["spec"]["attachRequired"],
                  old["spec"]["attachRequired"], out);
  check_immutable("spec.volumeLifecycleModes", object["spec"]["volumeLifecycleModes"],
                  old["spec"]["volumeLifecycleModes"], out);
  return out;
}

// The generation is counted here too, but only from the first change on.
void prepare_driver_update(Value& object, const Value& old, const StrategyContext&) {
  if (semantically_equal(object["spec"], old["spec"])) return;
  object_member(object, "metadata")
      .set("generation", Value(old["metadata"]["generation"].as_int() + 1));
}

std::vector<std::string> driver_warnings(const Value& object, const Value*,
                                         const StrategyContext&) {
  const Value& spec = object["spec"];
  if (spec["tokenRequests"].empty() || !spec["serviceAccountTokenInSecrets"].is_null()) return {};
  return {
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
      "prevent "
      "possible logging of tokens in volume attributes"};
}

// CSINode

void validate_node_driver(const Path& path, const Value& driver, std::set<std::string_view>& names,
                          FieldErrors& out) {
  validate_csi_driver_name(path / "name", driver["name"], out);
  const Value& id = driver["nodeID"];
  if (id.as_string().empty()) out.push_back(json::required(path / "nodeID"));
  if (id.as_string().size() > 256)
    out.push_back(json::invalid(path / "nodeID", id, "must be 256 characters or less"));
  const Value& count = driver["allocatable"]["count"];
  check_not_negative(path / "allocatable" / "count", count, out);
  if (!names.insert(driver["name"].as_string()).second)
    out.push_back(json::duplicate(path / "name", driver["name"]));
  std::set<std::string_view> keys;
  for (const Value& key : driver["topologyKeys"].items()) {
    if (key.as_string().empty())
      out.push_back(json::required(path));
    else if (!keys.insert(key.as_string()).second)
      out.push_back(json::duplicate(path, key));
    complain(path, key, qualified_name(key.as_string()), out);
  }
}

FieldErrors validate_node(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  std::set<std::string_view> names;
  const Value& drivers = object["spec"]["drivers"];
  for (std::size_t i = 0; i < drivers.size(); ++i)
    validate_node_driver(Path("spec.drivers").index(i), drivers[i], names, out);
  return out;
}

Shown shown_node_driver(const Value& driver) {
  const Value& allocatable = driver["allocatable"];
  return shown_struct(
      {{"Name", shown(driver["name"])},
       {"NodeID", shown_or(driver["nodeID"], "")},
       {"TopologyKeys", shown(driver["topologyKeys"])},
       {"Allocatable",
        allocatable.is_null() ? "null" : shown_struct({{"Count", shown(allocatable["count"])}})}});
}

FieldErrors validate_node_update(const Value& object, const Value& old,
                                 const StrategyContext& context) {
  FieldErrors out = validate_node(object, context);
  const Value& drivers = object["spec"]["drivers"];
  for (const Value& before : old["spec"]["drivers"].items()) {
    for (const Value& now : drivers.items()) {
      if (now["name"] != before["name"]) continue;
      Value a = now, b = before;
      a.erase("allocatable");
      b.erase("allocatable");
      if (!semantically_equal(a, b))
        out.push_back(invalid_shown("spec.drivers", shown_node_driver(now), kFieldIsImmutable));
    }
  }
  return out;
}

void node_defaults(Value& object, const StrategyContext&) {
  object_member(object, "spec");
}

// CSIStorageCapacity

void validate_amount(const Path& path, const Value& amount, FieldErrors& out) {
  if (amount.is_null()) return;
  auto quantity = Quantity::parse(amount.is_string() ? amount.as_string()
                                                     : std::string_view(shown(amount)));
  if (quantity && quantity->sign() < 0)
    out.push_back(json::invalid(path, quantity->print(), std::string(kMustNotBeNegative)));
}

FieldErrors validate_capacity(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_label_selector(object["nodeTopology"], "nodeTopology", out);
  const Value& name = object["storageClassName"];
  complain("storageClassName", name.is_null() ? Value("") : name,
           name_is_dns_subdomain(name.as_string(), false), out);
  validate_amount("capacity", object["capacity"], out);
  // maximumVolumeSize is not checked: Kubernetes takes any amount there.
  return out;
}

FieldErrors validate_capacity_update(const Value& object, const Value& old,
                                     const StrategyContext& context) {
  FieldErrors out = validate_capacity(object, context);
  validate_kind_meta_update(object, old, out);
  if (!semantically_equal(object["nodeTopology"], old["nodeTopology"]))
    out.push_back(
        invalid_shown("nodeTopology", shown_selector(object["nodeTopology"]), kFieldIsImmutable));
  check_immutable("storageClassName", object["storageClassName"], old["storageClassName"], out);
  return out;
}

}  // namespace

const Strategy& csi_driver_strategy() {
  static const Strategy strategy{
      .defaults = driver_defaults,
      .prepare_for_update = prepare_driver_update,
      .validate_create = validate_driver,
      .validate_update = validate_driver_update,
      .warnings = driver_warnings,
      .allow_unconditional_update = false,
      .returns_deleted_object = true,
  };
  return strategy;
}

const Strategy& csi_node_strategy() {
  static const Strategy strategy{
      .defaults = node_defaults,
      .validate_create = validate_node,
      .validate_update = validate_node_update,
      .allow_unconditional_update = false,
      .returns_deleted_object = true,
  };
  return strategy;
}

const Strategy& csi_storage_capacity_strategy() {
  static const Strategy strategy{
      .validate_create = validate_capacity,
      .validate_update = validate_capacity_update,
      .allow_unconditional_update = false,
  };
  return strategy;
}

}  // namespace cardea::catalog

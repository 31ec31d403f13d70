#include "catalog/kinds/storage/storage_class.h"

#include <algorithm>
#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::size_t kMostParameters = 512;
constexpr int kParameterBytes = 256 * 1024;

void validate_parameters(const Value& parameters, bool allow_empty, FieldErrors& out) {
  if (parameters.size() > kMostParameters) {
    out.push_back(json::too_long("parameters", static_cast<int>(kMostParameters)));
    return;
  }
  std::size_t total = 0;
  for (const json::Member& m : parameters.members()) {
    if (m.key().empty())
      out.push_back(json::invalid("parameters", m.name, "field can not be empty."));
    total += m.key().size() + m.value.as_string().size();
  }
  if (total > static_cast<std::size_t>(kParameterBytes))
    out.push_back(json::too_long("parameters", kParameterBytes));
  if (!allow_empty && parameters.empty())
    out.push_back(json::required("parameters", "must contain at least one key/value pair"));
}

void validate_provisioner(const Value& provisioner, FieldErrors& out) {
  if (!check_required("provisioner", provisioner, out)) return;
  std::string name = lower(provisioner.as_string());
  complain("provisioner", name, qualified_name(name), out);
}

// Topologies are sets of sets: a requirement or a term that occurs twice is an error.
void validate_topologies(const Value& terms, FieldErrors& out) {
  std::vector<std::set<std::pair<std::string, std::set<std::string>>>> seen{{}};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Path path = Path("allowedTopologies").index(i) / "matchLabelExpressions";
    std::set<std::string> keys;
    std::set<std::pair<std::string, std::set<std::string>>> term;
    const Value& expressions = terms[i]["matchLabelExpressions"];
    for (std::size_t j = 0; j < expressions.size(); ++j) {
      const Value& key = expressions[j]["key"];
      const Value& values = expressions[j]["values"];
      Path at = path.index(j);
      std::set<std::string> value_set;
      if (values.empty()) out.push_back(json::required(at / "values"));
      for (std::size_t k = 0; k < values.size(); ++k)
        if (!value_set.emplace(values[k].as_string()).second)
          out.push_back(json::duplicate((at / "values").index(k), values[k]));
      complain(at / "key", key.is_null() ? Value("") : key, qualified_name(key.as_string()), out);
      if (!keys.emplace(key.as_string()).second) out.push_back(json::duplicate(at / "key", key));
      term.emplace(key.as_string(), value_set);
    }
    if (std::ranges::find(seen, term) != seen.end()) out.push_back(json::duplicate(path, ""));
    seen.push_back(term);
  }
}

void class_defaults(Value& object, const StrategyContext&) {
  set_default(object, "reclaimPolicy", "Delete");
  set_default(object, "volumeBindingMode", "Immediate");
}

void validate_class_fields(const Value& object, FieldErrors& out) {
  validate_provisioner(object["provisioner"], out);
  validate_parameters(object["parameters"], true, out);
  if (!object["reclaimPolicy"].as_string().empty())
    check_one_of("reclaimPolicy", object["reclaimPolicy"], {"Delete", "Retain"}, out);
  check_one_of("volumeBindingMode", object["volumeBindingMode"],
               {"Immediate", "WaitForFirstConsumer"}, out);
  validate_topologies(object["allowedTopologies"], out);
}

FieldErrors validate_class(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_class_fields(object, out);
  return out;
}

FieldErrors validate_class_update(const Value& object, const Value& old,
                                  const StrategyContext& context) {
  FieldErrors out = validate_class(object, context);
  validate_kind_meta_update(object, old, out);
  for (std::string_view name : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"})
    check_immutable(name, object[name], old[name], out);
  return out;
}

std::vector<std::string> class_warnings(const Value& object, const Value*, const StrategyContext&) {
  constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
      {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
      {"failure-domain.beta.kubernetes.io/region",
       "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
      {"failure-domain.beta.kubernetes.io/zone",
       "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
      {"beta.kubernetes.io/instance-type",
       "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
  };
  std::vector<std::string> out;
  const Value& terms = object["allowedTopologies"];
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t j = 0; j < terms[i]["matchLabelExpressions"].size(); ++j)
      for (const auto& [key, advice] : kRenamed)
        if (terms[i]["matchLabelExpressions"][j]["key"].as_string() == key)
          out.push_back(
              cat("allowedTopologies[", i, "].matchLabelExpressions[", j, "].key: ", advice));
  return out;
}

FieldErrors validate_attributes_class(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  if (check_required("driverName", object["driverName"], out)) {
    std::string name = lower(object["driverName"].as_string());
    complain("driverName", name, qualified_name(name), out);
  }
  validate_parameters(object["parameters"], false, out);
  return out;
}

FieldErrors validate_attributes_class_update(const Value& object, const Value& old,
                                             const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  for (std::string_view name : {"driverName", "parameters"})
    if (!semantically_equal(object[name], old[name]))
      out.push_back(
          json::forbidden(std::string(name), cat("updates to ", name, " are forbidden.")));
  for (auto& error : validate_attributes_class(object, context)) out.push_back(std::move(error));
  return out;
}

}  // namespace

void validate_csi_driver_name(const Path& path, const Value& name, FieldErrors& out) {
  if (name.as_string().empty()) out.push_back(json::required(path));
  if (name.as_string().size() > 63) out.push_back(json::too_long(path, 63));
  if (!name.as_string().empty())
    complain(path, name, dns1123_subdomain(lower(name.as_string())), out);
}

const Strategy& storage_class_strategy() {
  static const Strategy strategy{
      .defaults = class_defaults,
      .validate_create = validate_class,
      .validate_update = validate_class_update,
      .warnings = class_warnings,
      .returns_deleted_object = true,
  };
  return strategy;
}

const Strategy& volume_attributes_class_strategy() {
  static const Strategy strategy{
      .validate_create = validate_attributes_class,
      .validate_update = validate_attributes_class_update,
      .returns_deleted_object = true,
  };
  return strategy;
}

}  // namespace cardea::catalog

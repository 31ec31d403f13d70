#include "admission/policy/policy_type_check.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "admission/policy/policy_params.h"
#include "base/strings.h"
#include "catalog/object_types.h"
#include "cel/policy.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::size_t kMostTypes = 10;

// Sorted; empty when the list says "any", or anything but a plain name.
std::vector<std::string> plain_names(const Value& list, std::string_view unwanted) {
  std::vector<std::string> out;
  for (const Value& v : list.items()) {
    if (v.as_string().find_first_of(unwanted) != std::string_view::npos) return {};
    out.emplace_back(v.as_string());
  }
  std::ranges::sort(out);
  return out;
}

std::vector<const catalog::Resource*> types_to_check(const Value& spec,
                                                     const catalog::Catalog& catalog) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  std::vector<const catalog::Resource*> out;
  for (const Value& rule : spec["matchConstraints"]["resourceRules"].items())
    for (const std::string& group : plain_names(rule["apiGroups"], "*"))
      for (const std::string& version : plain_names(rule["apiVersions"], "*"))
        for (const std::string& resource : plain_names(rule["resources"], "*/"))
          if (const catalog::Resource* r = catalog.find(group, version, resource);
              r && out.size() < kMostTypes)
            if (seen.emplace(r->group, r->version, r->kind).second) out.push_back(r);
  std::ranges::sort(out, {}, [](const catalog::Resource* r) {
    return std::tuple(std::string_view(r->group), std::string_view(r->version),
                      std::string_view(r->kind));
  });
  return out;
}

// The expressions of a policy in the light of one type.
class Checks {
 public:
  Checks(const Value& spec, const catalog::Resource& resource, const catalog::Resource* params)
      : kind_(cat(resource.group, "/", resource.version, ", Kind=", resource.kind)),
        compiler_(!spec["paramKind"].is_null(), !spec["variables"].empty(),
                  [&resource, params](cel::Environment& env) {
                    catalog::ObjectTypes types(env, true);
                    const std::string type = types.type_of(resource.schema);
                    env.variable("object", type).variable("oldObject", type);
                    if (params) env.variable("params", types.type_of(params->schema));
                  }) {
    for (const Value& v : spec["variables"].items())
      compiler_.variable(v["name"].as_string(), v["expression"].as_string());
  }

  void check(const Value& expression, std::vector<std::string>& out) {
    constexpr std::string_view kHead = "compilation failed: ";
    std::string error = compiler_.expression(expression.as_string()).error;
    if (error.empty()) return;
    if (error.starts_with(kHead)) error.erase(0, kHead.size());
    out.push_back(cat(kind_, ": ", error, "\n"));
  }

 private:
  const std::string kind_;
  cel::PolicyCompiler compiler_;
};

}  // namespace

Value type_check(const Value& spec, const catalog::Catalog& catalog) {
  const auto params = param_resource(spec, catalog);
  std::vector<std::unique_ptr<Checks>> checks;
  for (const catalog::Resource* r : types_to_check(spec, catalog))
    checks.push_back(std::make_unique<Checks>(spec, *r, params ? *params : nullptr));
  Value out = Value::array();
  const auto check = [&](const Value& validation, std::size_t index, const char* field) {
    std::vector<std::string> found;
    if (!validation[field].as_string().empty())
      for (const auto& c : checks) c->check(validation[field], found);
    if (!found.empty())
      out.push_back(Value::object({{"fieldRef", cat("spec.validations[", index, "].", field)},
                                   {"warning", join(found, "\n")}}));
  };
  for (std::size_t i = 0; i < spec["validations"].size(); ++i)
    for (const char* field : {"expression", "messageExpression"})
      check(spec["validations"][i], i, field);
  return out;
}

}  // namespace cardea::admission

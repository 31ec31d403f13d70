#include "catalog/kinds/apiregistration/local_api_service.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/discovery.h"

namespace cardea::catalog {

using json::Value;

namespace {

constexpr std::string_view kManaged = "kube-aggregator.kubernetes.io/automanaged";

struct Priority {
  std::string_view group;
  int of_group;
};

// kube-apiserver's order of groups.
constexpr Priority kPriorities[] = {
    {"", 18000},
    {"apps", 17800},
    {"events.k8s.io", 17750},
    {"authentication.k8s.io", 17700},
    {"authorization.k8s.io", 17600},
    {"autoscaling", 17500},
    {"batch", 17400},
    {"certificates.k8s.io", 17300},
    {"networking.k8s.io", 17200},
    {"policy", 17100},
    {"rbac.authorization.k8s.io", 17000},
    {"storage.k8s.io", 16800},
    {"apiextensions.k8s.io", 16700},
    {"admissionregistration.k8s.io", 16700},
    {"scheduling.k8s.io", 16600},
    {"coordination.k8s.io", 16500},
    {"node.k8s.io", 16300},
    {"discovery.k8s.io", 16200},
    {"resource.k8s.io", 16200},
    {"flowcontrol.apiserver.k8s.io", 16100},
};
constexpr int kOtherGroups = 16000, kDefinedGroups = 1000, kDefinedVersions = 100;

int priority_of(std::string_view group) {
  const Priority* row = std::ranges::find(kPriorities, group, &Priority::group);
  return row == std::end(kPriorities) ? kOtherGroups : row->of_group;
}

int version_priority_of(std::string_view group, std::string_view version) {
  if (group.empty()) return 1;
  if (group == "flowcontrol.apiserver.k8s.io" || group == "resource.k8s.io") return 21;
  if (version == "v2") return 30;
  return version.contains("alpha") || version.contains("beta") ? 9 : 15;
}

Value api_service(std::string_view group, std::string_view version, std::string_view managed,
                  int group_priority, int version_priority) {
  Value spec = Value::object();
  if (!group.empty()) spec.set("group", group);
  spec.set("version", version);
  spec.set("groupPriorityMinimum", group_priority);
  spec.set("versionPriority", version_priority);
  return Value::object(
      {{"apiVersion", "apiregistration.k8s.io/v1"},
       {"kind", "APIService"},
       {"metadata", Value::object({{"name", cat(version, ".", group)},
                                   {"labels", Value::object({{kManaged, managed}})}})},
       {"spec", std::move(spec)}});
}

bool is_built_in(const Version& version) {
  return std::ranges::any_of(version.resources, [](const Resource* r) { return !r->is_custom; });
}

}  // namespace

std::vector<Value> built_in_api_services(const Catalog& catalog) {
  std::vector<Value> out;
  for (const Group& group : catalog.groups()) {
    if (group.name == "apiregistration.k8s.io") continue;
    for (const Version& version : group.versions)
      if (is_built_in(version) && is_listed(group, version))
        out.push_back(api_service(group.name, version.name, "onstart", priority_of(group.name),
                                  version_priority_of(group.name, version.name)));
  }
  return out;
}

Value api_service_of_definition(std::string_view name) {
  const std::size_t dot = std::min(name.find('.'), name.size() - 1);
  return api_service(name.substr(dot + 1), name.substr(0, dot), "true", kDefinedGroups,
                     kDefinedVersions);
}

bool is_of_definition(const Value& api_service) {
  return api_service["metadata"]["labels"][kManaged].as_string() == "true" &&
         api_service["spec"]["service"].is_null();
}

}  // namespace cardea::catalog

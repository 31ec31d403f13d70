#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "catalog/kinds/core/pod_validation.h"
#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/value.h"

// The parts of validate_pod_spec: one function for each idea, each in its own source. Only for
// files in kinds/.
namespace cardea::catalog::pod {

using json::FieldErrors;
using json::Value;

// The names that containers may refer to.
struct Surroundings {
  std::map<std::string, Value, std::less<>> volumes;  // the well-formed ones, by name
  std::set<std::string> claims;                       // names in spec.resourceClaims
  const Value& spec;
  const PodRules& rules;
};

// pod_volumes.cc
void validate_volumes(const Value& spec, const Path& path, const PodRules& rules,
                      std::map<std::string, Value, std::less<>>& volumes, FieldErrors& out);
// One {secret: ...} | {hostPath: ...} | ... of a pod volume.
void validate_volume_source(const Value& volume, const Path& path, const PodRules& rules,
                            FieldErrors& out);

// pod_containers.cc
void validate_containers(const Surroundings& around, const Path& spec_path, FieldErrors& out);
void validate_init_containers(const Surroundings& around, const Path& spec_path, FieldErrors& out);
void validate_ephemeral_containers(const Surroundings& around, const Path& spec_path,
                                   FieldErrors& out);
// An image may not begin or end with white space; templates are not checked.
void validate_container_images(const Value& spec, std::string_view key, const Path& spec_path,
                               FieldErrors& out);

// pod_mounts.cc
void validate_mounts(const Value& container, const Surroundings& around, const Path& path,
                     FieldErrors& out);

// pod_probes.cc
void validate_probes(const Value& container, const Surroundings& around, const Path& path,
                     FieldErrors& out);
void validate_lifecycle(const Value& container, const Surroundings& around, const Path& path,
                        FieldErrors& out);
void validate_port_number_or_name(const Value& port, const Path& path, FieldErrors& out);

// pod_env.cc
void validate_env(const Value& container, const Path& path, FieldErrors& out);
void validate_env_from(const Value& container, const Path& path, FieldErrors& out);
void validate_file_key_refs(const Value& spec, const Path& spec_path, FieldErrors& out);
// The files of a downwardAPI volume; `path` is the volume's, as Kubernetes reports it.
void validate_downward_file(const Value& file, const Path& path, FieldErrors& out);

// pod_security.cc
void validate_container_security(const Value& container, const Surroundings& around,
                                 const Path& path, FieldErrors& out);
void validate_pod_security(const Value& spec, const Path& spec_path, FieldErrors& out);
void validate_host_process(const Value& spec, const Path& spec_path, const PodRules& rules,
                           FieldErrors& out);
void validate_host_users(const Value& spec, const Path& spec_path, FieldErrors& out);
void validate_operating_system(const Value& spec, const Path& spec_path, FieldErrors& out);
void validate_security_annotations(const Value& annotations, const Value& spec,
                                   const Path& spec_path, FieldErrors& out);

// pod_scheduling.cc
void validate_affinity(const Value& spec, const Path& spec_path, FieldErrors& out);
void validate_tolerations(const Value& tolerations, const Path& path, FieldErrors& out);
void validate_topology_spread(const Value& spec, const Path& spec_path, FieldErrors& out);
void validate_gates(const Value& spec, const Path& spec_path, FieldErrors& out);

// Calls visit(container, path) for init, regular and ephemeral containers, in that order.
template <typename Visit>
void each_container(const Value& spec, const Path& spec_path, Visit visit) {
  for (const char* key : {"initContainers", "containers", "ephemeralContainers"}) {
    auto items = spec[key].items();
    for (std::size_t i = 0; i < items.size(); ++i) visit(items[i], (spec_path / key).index(i));
  }
}

// Paths inside a container or volume.
void validate_no_backsteps(std::string_view target, const Path& path, FieldErrors& out);
void validate_relative_path(std::string_view target, const Path& path, FieldErrors& out);
void validate_local_path(std::string_view target, const Path& path, FieldErrors& out);

}  // namespace cardea::catalog::pod

namespace cardea::catalog {

// Node selectors, which volumes and resource slices use too.
void validate_node_selector(const json::Value& selector, const Path& path, json::FieldErrors& out);
void validate_node_selector_term(const json::Value& term, bool any_label_value, const Path& path,
                                 json::FieldErrors& out);
// "NoSchedule", "PreferNoSchedule" or "NoExecute".
void validate_taint_effect(std::string_view effect, bool allow_empty, const Path& path,
                           json::FieldErrors& out);
void validate_csi_driver_name(std::string_view name, const Path& path, json::FieldErrors& out);

}  // namespace cardea::catalog

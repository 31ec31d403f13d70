// The permissions of built-in kinds.
#include <algorithm>

#include "schema/permissions/permissions.h"

namespace cardea::schema {

const std::vector<BuiltinPermission>& builtin_permissions() {
  constexpr auto kMapKey = Permission::Source::kMapKey, kSetValue = Permission::Source::kSetValue,
                 kListKey = Permission::Source::kListKey;
  constexpr auto kSlashPrefix = Permission::Treatment::kSlashPrefix;
  static const std::vector<BuiltinPermission> kRows = {
      // Every object, custom ones included.
      {"*", "*", "metadata", "metadata"},
      {"*", "*", "metadata.name", "identity"},
      {"*", "*", "metadata.generateName", "identity"},
      {"*", "*", "metadata.namespace", "identity"},
      {"*", "*", "metadata.labels", "labels"},
      {"*", "*", "metadata.labels[*]", "label", kMapKey, "", kSlashPrefix},
      {"*", "*", "metadata.annotations", "annotations"},
      {"*", "*", "metadata.annotations[*]", "annotation", kMapKey, "", kSlashPrefix},
      {"*", "*", "metadata.finalizers", "finalizers"},
      {"*", "*", "metadata.finalizers[*]", "finalizer", kSetValue, "", kSlashPrefix},
      {"*", "*", "metadata.ownerReferences", "ownerReferences"},
      // Every built-in object that has such a field.
      {"", "*", "spec", "specification"},
      {"", "*", "status", "status"},
      {"", "*", "status.conditions", "conditions"},
      {"", "*", "status.conditions[*]", "condition", kListKey, "type"},
      {"", "*", "data", "data"},
      {"", "*", "binaryData", "data"},
      {"", "*", "stringData", "data"},
      {"", "*", "rules", "rules"},
      {"", "*", "subjects", "subjects"},
      {"", "*", "webhooks", "webhooks"},
      // What a controller scales.
      {"apps", "Deployment", "spec.replicas", "replicaCount"},
      {"apps", "ReplicaSet", "spec.replicas", "replicaCount"},
      {"apps", "StatefulSet", "spec.replicas", "replicaCount"},
      {"", "ReplicationController", "spec.replicas", "replicaCount"},
      {"autoscaling", "Scale", "spec.replicas", "replicaCount"},
      // Pods.
      {"", "Pod", "spec.nodeName", "nodeAssignment"},
      {"", "Pod", "spec.schedulingGates", "schedulingGates"},
      {"", "Pod", "spec.resources", "computeResources"},
      {"", "Pod", "spec.containers[*].resources", "computeResources"},
      {"", "Pod", "spec.initContainers[*].resources", "computeResources"},
      // What pods are made from.
      {"apps", "Deployment", "spec.template.spec.containers[*].resources", "computeResources"},
      {"apps", "Deployment", "spec.template.spec.initContainers[*].resources", "computeResources"},
      {"apps", "ReplicaSet", "spec.template.spec.containers[*].resources", "computeResources"},
      {"apps", "ReplicaSet", "spec.template.spec.initContainers[*].resources", "computeResources"},
      {"apps", "StatefulSet", "spec.template.spec.containers[*].resources", "computeResources"},
      {"apps", "StatefulSet", "spec.template.spec.initContainers[*].resources", "computeResources"},
      {"apps", "DaemonSet", "spec.template.spec.containers[*].resources", "computeResources"},
      {"apps", "DaemonSet", "spec.template.spec.initContainers[*].resources", "computeResources"},
      {"", "ReplicationController", "spec.template.spec.containers[*].resources",
       "computeResources"},
      {"", "ReplicationController", "spec.template.spec.initContainers[*].resources",
       "computeResources"},
      {"batch", "Job", "spec.template.spec.containers[*].resources", "computeResources"},
      {"batch", "Job", "spec.template.spec.initContainers[*].resources", "computeResources"},
      {"batch", "CronJob", "spec.jobTemplate.spec.template.spec.containers[*].resources",
       "computeResources"},
      {"batch", "CronJob", "spec.jobTemplate.spec.template.spec.initContainers[*].resources",
       "computeResources"},
  };
  return kRows;
}

bool is_wellknown_permission(std::string_view name) {
  // Fields that administrators map (`spec.unschedulable`, an image, `spec.suspend`) have one name
  // in all clusters.
  for (std::string_view other : {"cordon", "containerImage", "suspension"})
    if (name == other) return true;
  return std::ranges::any_of(builtin_permissions(),
                             [name](const BuiltinPermission& row) { return row.name == name; });
}

}  // namespace cardea::schema

#include "catalog/kinds/core/pod_defaults.h"

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/image_name.h"
#include "catalog/kinds/core/resources.h"
#include "json/members.h"

namespace cardea::catalog {
namespace {

using json::Value;

// Volumes whose files have a mode; the default is 0644.
constexpr std::string_view kVolumesWithMode[] = {"secret", "configMap", "downwardAPI", "projected"};
// Annotations in which old clients wrote init containers, before there was a field.
constexpr std::string_view kInitContainerAnnotations[] = {
    "pod.beta.kubernetes.io/init-containers", "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses"};

void default_zero(Value& object, std::string_view key, int value) {
  if (object[key].as_int() == 0) object.set(key, value);
}

void default_http_get(Value& handler) {
  edit_member(handler, "httpGet", [](Value& get) {
    default_to(get, "path", "/");
    default_to(get, "scheme", "HTTP");
  });
}

void default_probe(Value& probe) {
  default_zero(probe, "timeoutSeconds", 1);
  default_zero(probe, "periodSeconds", 10);
  default_zero(probe, "successThreshold", 1);
  default_zero(probe, "failureThreshold", 3);
  default_http_get(probe);
  edit_member(probe, "grpc", [](Value& grpc) {
    if (grpc["service"].is_null()) grpc.set("service", "");
  });
}

void default_field_ref(Value& holder) {
  edit_member(holder, "fieldRef", [](Value& ref) { default_to(ref, "apiVersion", "v1"); });
  edit_member(holder, "resourceFieldRef", [](Value& ref) {
    default_to(ref, "divisor", "0");
    default_quantity(ref, "divisor");
  });
}

void default_container(Value& container) {
  if (text(container, "imagePullPolicy").empty())
    container.set("imagePullPolicy", default_pull_policy(text(container, "image")));
  default_to(container, "terminationMessagePath", "/dev/termination-log");
  default_to(container, "terminationMessagePolicy", "File");
  edit_items(container, "ports", [](Value& port) { default_to(port, "protocol", "TCP"); });
  edit_items(container, "env", [](Value& variable) {
    edit_member(variable, "valueFrom", [](Value& from) {
      default_field_ref(from);
      edit_member(from, "fileKeyRef", [](Value& ref) {
        if (ref["optional"].is_null()) ref.set("optional", false);
      });
    });
  });
  default_resource_requirements(container);
  for (const char* key : {"livenessProbe", "readinessProbe", "startupProbe"})
    edit_member(container, key, default_probe);
  edit_member(container, "lifecycle", [](Value& lifecycle) {
    edit_member(lifecycle, "postStart", default_http_get);
    edit_member(lifecycle, "preStop", default_http_get);
  });
}

void default_azure_disk(Value& disk) {
  default_to(disk, "cachingMode", "ReadWrite");
  default_to(disk, "fsType", "ext4");
  default_to(disk, "kind", "Shared");
  if (disk["readOnly"].is_null()) disk.set("readOnly", false);
}

void default_projection(Value& projected) {
  edit_items(projected, "sources", [](Value& source) {
    edit_member(source, "downwardAPI",
                [](Value& api) { edit_items(api, "items", default_field_ref); });
    edit_member(source, "serviceAccountToken", [](Value& token) {
      if (token["expirationSeconds"].is_null()) token.set("expirationSeconds", 3600);
    });
  });
}

bool names_a_source(const Value& volume) {
  return std::ranges::any_of(volume.members(), [](const json::Member& m) {
    return m.key() != "name" && !m.value.is_null();
  });
}

void default_volume(Value& volume) {
  if (!names_a_source(volume)) volume.set("emptyDir", Value::object());
  for (std::string_view key : kVolumesWithMode)
    edit_member(volume, key, [](Value& source) {
      if (source["defaultMode"].is_null()) source.set("defaultMode", 0644);
    });
  edit_member(volume, "image", [](Value& image) {
    if (text(image, "pullPolicy").empty())
      image.set("pullPolicy", default_pull_policy(text(image, "reference")));
  });
  edit_member(volume, "emptyDir", [](Value& dir) { default_quantity(dir, "sizeLimit"); });
  edit_member(volume, "hostPath", [](Value& path) {
    if (path["type"].is_null()) path.set("type", "");
  });
  edit_member(volume, "downwardAPI",
              [](Value& api) { edit_items(api, "items", default_field_ref); });
  edit_member(volume, "projected", default_projection);
  edit_member(volume, "iscsi",
              [](Value& iscsi) { default_to(iscsi, "iscsiInterface", "default"); });
  edit_member(volume, "rbd", [](Value& rbd) {
    default_to(rbd, "pool", "rbd");
    default_to(rbd, "user", "admin");
    default_to(rbd, "keyring", "/etc/ceph/keyring");
  });
  edit_member(volume, "azureDisk", default_azure_disk);
  edit_member(volume, "scaleIO", [](Value& io) {
    default_to(io, "storageMode", "ThinProvisioned");
    default_to(io, "fsType", "xfs");
  });
  edit_member(volume, "ephemeral", [](Value& ephemeral) {
    edit_member(ephemeral, "volumeClaimTemplate", [](Value& claim) {
      if (claim["spec"].is_null()) claim.set("spec", Value::object());
      edit_member(claim, "spec", default_claim_spec);
    });
  });
}

// One field with two names: the newer one wins, and both are shown.
void default_service_account(Value& spec) {
  std::string name(text(spec, "serviceAccountName"));
  if (name.empty()) name = text(spec, "serviceAccount");
  if (name.empty()) return;
  spec.set("serviceAccountName", name);
  spec.set("serviceAccount", name);
}

void drop_init_container_annotations(Value& object) {
  if (!object["metadata"]["annotations"].is_object()) return;
  for (std::string_view key : kInitContainerAnnotations)
    if (object["metadata"]["annotations"].has(key))
      object.member("metadata").member("annotations").erase(key);
}

void default_host_ports(Value& container) {
  edit_items(container, "ports", [](Value& port) {
    if (port["hostPort"].as_int() == 0 && port["containerPort"].as_int() != 0)
      port.set("hostPort", port["containerPort"]);
  });
}

// Limits and requests that the pod itself does not set follow from the sum over its containers.
void default_pod_level_resources(Value& spec) {
  const Value& own = spec["resources"];
  if (own["limits"].empty() && own["requests"].empty()) return;
  Value limits = own["limits"], requests = own["requests"];
  Value container_limits = aggregate_container_resources(spec, ResourceSide::kLimits);
  std::vector<json::Member> added;
  for (const json::Member& m : container_limits.members())
    if (is_huge_page_resource(m.key()) && !requests.has(m.key()) && !limits.has(m.key()))
      added.push_back(m);
  json::set_all(limits, std::exchange(added, {}));
  if (!limits.empty()) {
    Value container_requests = aggregate_container_resources(spec, ResourceSide::kRequests);
    for (const json::Member& m : container_requests.members())
      if ((m.key() == "cpu" || m.key() == "memory") && !requests.has(m.key()))
        requests.set(m.key(), m.value);
    for (const json::Member& m : limits.members())
      if ((m.key() == "cpu" || m.key() == "memory" || is_huge_page_resource(m.key())) &&
          !requests.has(m.key()))
        added.push_back(m);
    json::set_all(requests, std::move(added));
  }
  Value& resources = spec.member("resources");
  if (!limits.empty()) resources.set("limits", std::move(limits));
  if (!requests.empty()) resources.set("requests", std::move(requests));
}

}  // namespace

void default_claim_spec(Value& spec) {
  default_to(spec, "volumeMode", "Filesystem");
  default_resource_requirements(spec);
}

void default_pod_spec(Value& spec) {
  default_to(spec, "dnsPolicy", "ClusterFirst");
  default_to(spec, "restartPolicy", "Always");
  default_to(spec, "schedulerName", "default-scheduler");
  if (spec["securityContext"].is_null()) spec.set("securityContext", Value::object());
  if (spec["terminationGracePeriodSeconds"].is_null())
    spec.set("terminationGracePeriodSeconds", 30);
  default_service_account(spec);
  edit_items(spec, "volumes", default_volume);
  for (const char* key : {"initContainers", "containers", "ephemeralContainers"})
    edit_items(spec, key, default_container);
  default_resource_list(spec, "overhead");
  default_resource_requirements(spec);
}

void default_pod_template(Value& pod_template) {
  drop_init_container_annotations(pod_template);
  if (pod_template["spec"].is_null()) pod_template.set("spec", Value::object());
  edit_member(pod_template, "spec", default_pod_spec);
}

void default_pod(Value& pod) {
  if (pod["spec"].is_null()) pod.set("spec", Value::object());
  if (!pod["spec"].is_object()) return;
  Value& spec = pod.member("spec");
  for (const char* key : {"containers", "initContainers"})
    edit_items(spec, key, default_requests_from_limits);
  default_pod_level_resources(spec);
  if (spec["enableServiceLinks"].is_null()) spec.set("enableServiceLinks", true);
  if (spec["hostNetwork"].as_bool())
    for (const char* key : {"containers", "initContainers"})
      edit_items(spec, key, default_host_ports);
  // Templates keep the value of the client; in a pod, a negative period becomes one second.
  if (spec["terminationGracePeriodSeconds"].as_int() < 0)
    spec.set("terminationGracePeriodSeconds", 1);
  default_pod_template(pod);
}

}  // namespace cardea::catalog

#include "catalog/kinds/core/go_pod.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "catalog/kinds/go_value.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

using json::Value;

// The fields of one type, in order. After the name: `=""`, `=false`, `=0` is what an absent field
// shows (null when nothing is given), `={T}` a T held by value, `*T` a pointer to one, `[T]` a list
// of them. A JSON name that does not follow from Go's stands after a colon.
struct Type {
  std::string_view name, fields;
};

constexpr Type kTypes[] = {
    {"PodSpec",
     "Volumes[Volume] InitContainers[Container] Containers[Container] EphemeralContainers "
     "RestartPolicy=\"\" "
     "TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy=\"\" NodeSelector "
     "ServiceAccountName=\"\" "
     "AutomountServiceAccountToken NodeName=\"\" SecurityContext*PodSecurityContext "
     "ImagePullSecrets[LocalReference] "
     "Hostname=\"\" Subdomain=\"\" SetHostnameAsFQDN Affinity SchedulerName=\"\" "
     "Tolerations[Toleration] "
     "HostAliases "
     "PriorityClassName=\"\" Priority PreemptionPolicy DNSConfig ReadinessGates RuntimeClassName "
     "Overhead "
     "EnableServiceLinks TopologySpreadConstraints OS SchedulingGates[LocalReference] "
     "ResourceClaims "
     "Resources "
     "HostnameOverride SchedulingGroup"},
    {"PodSecurityContext",
     "HostNetwork=false HostPID=false HostIPC=false ShareProcessNamespace HostUsers SELinuxOptions "
     "WindowsOptions "
     "RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy FSGroup "
     "FSGroupChangePolicy "
     "Sysctls SeccompProfile*SeccompProfile AppArmorProfile SELinuxChangePolicy"},
    {"Container",
     "Name=\"\" Image=\"\" Command Args WorkingDir=\"\" Ports[ContainerPort] "
     "EnvFrom[EnvFromSource] "
     "Env[EnvVar] "
     "Resources={Resources} ResizePolicy RestartPolicy RestartPolicyRules "
     "VolumeMounts[VolumeMount] "
     "VolumeDevices "
     "LivenessProbe*Probe ReadinessProbe*Probe StartupProbe*Probe Lifecycle "
     "TerminationMessagePath=\"\" "
     "TerminationMessagePolicy=\"\" ImagePullPolicy=\"\" SecurityContext*SecurityContext "
     "Stdin=false "
     "StdinOnce=false "
     "TTY=false"},
    {"Resources", "Limits Requests Claims"},
    {"ContainerPort", "Name=\"\" HostPort=0 ContainerPort=0 Protocol=\"\" HostIP=\"\""},
    {"EnvFromSource", "Prefix=\"\" ConfigMapRef*Reference SecretRef*Reference"},
    {"Reference", "Name=\"\" Optional"},
    {"LocalReference", "Name=\"\""},
    {"EnvVar", "Name=\"\" Value=\"\" ValueFrom*EnvVarSource"},
    {"EnvVarSource",
     "FieldRef*FieldRef ResourceFieldRef ConfigMapKeyRef*KeySelector SecretKeyRef*KeySelector "
     "FileKeyRef"},
    {"FieldRef", "APIVersion=\"\" FieldPath=\"\""},
    {"KeySelector", "Name=\"\" Key=\"\" Optional"},
    {"VolumeMount",
     "Name=\"\" ReadOnly=false RecursiveReadOnly MountPath=\"\" SubPath=\"\" MountPropagation "
     "SubPathExpr=\"\""},
    {"Probe",
     "Exec HTTPGet*HTTPGet TCPSocket*TCPSocket GRPC InitialDelaySeconds=0 TimeoutSeconds=0 "
     "PeriodSeconds=0 "
     "SuccessThreshold=0 FailureThreshold=0 TerminationGracePeriodSeconds"},
    {"HTTPGet", "Path=\"\" Port=0 Host=\"\" Scheme=\"\" HTTPHeaders"},
    {"TCPSocket", "Port=0 Host=\"\""},
    {"SecurityContext",
     "Capabilities*Capabilities Privileged SELinuxOptions WindowsOptions RunAsUser RunAsGroup "
     "RunAsNonRoot "
     "ReadOnlyRootFilesystem AllowPrivilegeEscalation ProcMount SeccompProfile*SeccompProfile "
     "AppArmorProfile"},
    {"Capabilities", "Add Drop"},
    {"SeccompProfile", "Type=\"\" LocalhostProfile"},
    {"Toleration", "Key=\"\" Operator=\"\" Value=\"\" Effect=\"\" TolerationSeconds"},
    {"Volume",
     "Name=\"\" HostPath*HostPath EmptyDir*EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo "
     "Secret*Secret NFS "
     "ISCSI Glusterfs PersistentVolumeClaim*Claim RBD Quobyte FlexVolume Cinder CephFS:cephfs "
     "Flocker "
     "DownwardAPI FC "
     "AzureFile ConfigMap*ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk Projected "
     "PortworxVolume "
     "ScaleIO "
     "StorageOS:storageos CSI Ephemeral Image"},
    {"HostPath", "Path=\"\" Type"},
    {"EmptyDir", "Medium=\"\" SizeLimit"},
    {"Secret", "SecretName=\"\" Items DefaultMode Optional"},
    {"ConfigMap", "Name=\"\" Items DefaultMode Optional"},
    {"Claim", "ClaimName=\"\" ReadOnly=false"},
};

// Go's DNSPolicy is dnsPolicy in JSON, TTY is tty.
std::string json_name(std::string_view name) {
  std::size_t capitals = 0;
  while (capitals < name.size() && name[capitals] >= 'A' && name[capitals] <= 'Z') ++capitals;
  std::size_t lowered = capitals == name.size() || capitals == 1 ? capitals : capitals - 1;
  return lower(name.substr(0, lowered)) + std::string(name.substr(lowered));
}

std::string show(const Value& value, std::string_view type_name);

std::string show_field(const Value& value, std::string_view form) {
  std::string_view inner = form.size() > 2 ? form.substr(1) : "";
  if (form.starts_with('*')) return value.is_null() ? "null" : show(value, inner);
  if (form.starts_with("={")) return show(value, form.substr(2, form.size() - 3));
  if (form.starts_with('[')) {
    if (value.empty()) return "null";
    std::vector<std::string> parts;
    for (const Value& item : value.items())
      parts.push_back(show(item, inner.substr(0, inner.size() - 1)));
    return cat("[", join(parts, ","), "]");
  }
  if (value.is_null()) return form.empty() ? "null" : std::string(form.substr(1));
  // Maps keep their keys; other objects here are structs.
  bool map = value.is_object() && std::ranges::all_of(value.members(), [](const auto& m) {
               return m.value.is_string();
             });
  return map ? json::print(value) : show_go_value(value);
}

std::string show(const Value& value, std::string_view type_name) {
  auto type = std::ranges::find(kTypes, type_name, &Type::name);
  std::string out = "{";
  for (std::string_view field : split(type->fields, ' ')) {
    std::size_t end = field.find_first_of(":=*[");
    std::string_view name = field.substr(0, end), form = end == field.npos ? "" : field.substr(end);
    std::string key = json_name(name);
    if (form.starts_with(':')) {
      key = form.substr(1);
      form = "";
    }
    out += cat(out.size() > 1 ? "," : "", "\"", name, "\":", show_field(value[key], form));
  }
  return out + "}";
}

}  // namespace

std::string show_go_pod_spec(const Value& spec) {
  // The API has these fields beside the security context; Kubernetes' internal type has them inside
  // it.
  Value shown = spec.is_object() ? spec : Value::object();
  Value context = spec["securityContext"].is_object() ? spec["securityContext"] : Value::object();
  for (std::string_view name :
       {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"})
    if (!spec[name].is_null()) context.set(name, spec[name]);
  shown.set("securityContext", context);
  return show(shown, "PodSpec");
}

std::string show_go_pod_template(const Value& pod_template) {
  std::string out = "{";
  for (std::string_view name : {"labels", "annotations"})
    if (!pod_template["metadata"][name].empty())
      out += cat("\"", name, "\":", json::print(pod_template["metadata"][name]), ",");
  return cat(out, "\"Spec\":", show_go_pod_spec(pod_template["spec"]), "}");
}

}  // namespace cardea::catalog

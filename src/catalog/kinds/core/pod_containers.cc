#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/resources.h"
#include "json/print.h"

// Containers of the three kinds: regular, init and ephemeral.
namespace cardea::catalog::pod {
namespace {

using std::string_view;

constexpr int kMaxRestartRules = 20;
constexpr int kMaxExitCodes = 255;
// An ephemeral container is added to a running pod. Fields that would change the pod around it are
// refused.
constexpr string_view kRefusedInEphemeral[] = {
    "ports",         "resources",      "resizePolicy", "restartPolicy", "restartPolicyRules",
    "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"};

void validate_ports(const Value& container, const Path& path, FieldErrors& out) {
  std::set<string_view> names;
  each(container, "ports", path, [&](const Value& port, const Path& at) {
    if (string_view name = text(port, "name"); !name.empty()) {
      auto complaints = port_name(name);
      complain(at / "name", name, complaints, out);
      if (complaints.empty() && !names.insert(name).second)
        out.push_back(json::duplicate(at / "name", name));
    }
    if (port["containerPort"].as_int() == 0)
      out.push_back(json::required(at / "containerPort"));
    else
      check_number(port["containerPort"], port_number, at / "containerPort", out);
    if (port["hostPort"].as_int() != 0)
      check_number(port["hostPort"], port_number, at / "hostPort", out);
    require_one_of_or_missing(text(port, "protocol"), {"SCTP", "TCP", "UDP"}, at / "protocol", out);
  });
}

void validate_resize_policy(const Value& container, const Surroundings& around, const Path& path,
                            FieldErrors& out) {
  std::set<string_view> seen;
  Path list = path / "resizePolicy";
  each(container, "resizePolicy", path, [&](const Value& policy, const Path& at) {
    string_view resource = text(policy, "resourceName"), restart = text(policy, "restartPolicy");
    if (!seen.insert(resource).second) out.push_back(json::duplicate(at, resource));
    require_one_of_or_missing(resource, {"cpu", "memory"}, list, out);
    require_one_of_or_missing(restart, {"NotRequired", "RestartContainer"}, list, out);
    if (text(around.spec, "restartPolicy") == "Never" && restart != "NotRequired")
      out.push_back(json::invalid(list, restart,
                                  "must be 'NotRequired' when pod `restartPolicy` is 'Never'"));
  });
}

void validate_restart_rules(const Value& container, const Path& path, FieldErrors& out) {
  const Value& rules = container["restartPolicyRules"];
  Path policy_path = path / "restartPolicy";
  if (present(container, "restartPolicy"))
    check_one_of(policy_path, text(container, "restartPolicy"), {"Always", "Never", "OnFailure"},
                 out);
  else if (!rules.empty())
    out.push_back(
        json::required(policy_path, "must specify restartPolicy when restart rules are used"));
  if (rules.size() > kMaxRestartRules)
    out.push_back(json::too_many(path / "restartPolicyRules", static_cast<int>(rules.size()),
                                 kMaxRestartRules));
  each(container, "restartPolicyRules", path, [&](const Value& rule, const Path& at) {
    check_one_of(at / "action", text(rule, "action"), {"Restart", "RestartAllContainers"}, out);
    const Value& codes = rule["exitCodes"];
    if (codes.is_null()) {
      out.push_back(json::required(at / "exitCodes", "must be specified"));
      return;
    }
    check_one_of(at / "exitCodes" / "operator", text(codes, "operator"), {"In", "NotIn"}, out);
    if (codes["values"].size() > kMaxExitCodes)
      out.push_back(json::too_many(at / "exitCodes" / "values",
                                   static_cast<int>(codes["values"].size()), kMaxExitCodes));
  });
}

void validate_common(const Value& container, const Surroundings& around, const Path& path,
                     FieldErrors& out) {
  require_name(container, "name", dns1123_label, path, out);
  require_text(container, "image", path, out);
  require_one_of_or_missing(text(container, "terminationMessagePolicy"),
                            {"File", "FallbackToLogsOnError"}, path / "terminationMessagePolicy",
                            out);
  validate_ports(container, path, out);
  validate_env(container, path, out);
  validate_env_from(container, path, out);
  validate_mounts(container, around, path, out);
  require_one_of_or_missing(text(container, "imagePullPolicy"), {"Always", "IfNotPresent", "Never"},
                            path / "imagePullPolicy", out);
  validate_container_resources(container["resources"], around.claims, path / "resources", out);
  validate_resize_policy(container, around, path, out);
  validate_container_security(container, around, path, out);
}

void validate_host_port_conflicts(std::span<const Value> containers, const Path& path,
                                  FieldErrors& out) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < containers.size(); ++i)
    each(containers[i], "ports", path.index(i), [&](const Value& port, const Path& at) {
      if (port["hostPort"].as_int() == 0) return;
      std::string address = cat(text(port, "protocol"), "/", text(port, "hostIP"), "/",
                                port["hostPort"].as_int());
      if (!taken.insert(address).second) out.push_back(json::duplicate(at / "hostPort", address));
    });
}

void validate_init_only(const Value& container, const Surroundings& around, const Path& path,
                        FieldErrors& out) {
  bool sidecar = text(container, "restartPolicy") == "Always";
  if (sidecar) {
    validate_lifecycle(container, around, path, out);
    validate_probes(container, around, path, out);
    return;
  }
  for (const char* key : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
    if (present(container, key))
      out.push_back(json::forbidden(
          path / key, "may not be set for init containers without restartPolicy=Always"));
  each(container, "resizePolicy", path, [&](const Value& policy, const Path& at) {
    if (text(policy, "restartPolicy") == "RestartContainer")
      out.push_back(
          json::invalid(at / "restartPolicy", "RestartContainer",
                        "must not be set to 'RestartContainer' for non-sidecar initContainers"));
  });
}

}  // namespace

void validate_containers(const Surroundings& around, const Path& spec_path, FieldErrors& out) {
  Path path = spec_path / "containers";
  if (around.spec["containers"].empty()) return out.push_back(json::required(path));
  std::set<string_view> names;
  each(around.spec, "containers", spec_path, [&](const Value& container, const Path& at) {
    validate_common(container, around, at, out);
    if (!names.insert(text(container, "name")).second)
      out.push_back(json::duplicate(at / "name", text(container, "name")));
    validate_lifecycle(container, around, at, out);
    validate_probes(container, around, at, out);
    validate_restart_rules(container, at, out);
  });
  validate_host_port_conflicts(around.spec["containers"].items(), path, out);
}

void validate_init_containers(const Surroundings& around, const Path& spec_path, FieldErrors& out) {
  std::set<string_view> names;
  for (const Value& c : around.spec["containers"].items()) names.insert(text(c, "name"));
  Path path = spec_path / "initContainers";
  each(around.spec, "initContainers", spec_path, [&](const Value& container, const Path& at) {
    validate_common(container, around, at, out);
    validate_restart_rules(container, at, out);
    string_view name = text(container, "name");
    if (names.contains(name))
      out.push_back(json::duplicate(at / "name", name));
    else if (!name.empty())
      names.insert(name);
    // Checked one by one, because init containers do not run together. Kubernetes counts each of
    // them as the first.
    validate_host_port_conflicts({&container, 1}, path, out);
    validate_init_only(container, around, at, out);
  });
}

void validate_ephemeral_containers(const Surroundings& around, const Path& spec_path,
                                   FieldErrors& out) {
  std::set<string_view> others, names;
  for (const char* key : {"containers", "initContainers"})
    for (const Value& c : around.spec[key].items()) others.insert(text(c, "name"));
  names = others;
  each(around.spec, "ephemeralContainers", spec_path, [&](const Value& container, const Path& at) {
    validate_common(container, around, at, out);
    string_view image = text(container, "image"), target = text(container, "targetContainerName");
    if (trim(image).size() != image.size())
      out.push_back(
          json::invalid(at / "image", image, "must not have leading or trailing whitespace"));
    if (!names.insert(text(container, "name")).second)
      out.push_back(json::duplicate(at / "name", text(container, "name")));
    if (!target.empty() && !others.contains(target))
      out.push_back(json::not_found(at / "targetContainerName", target));
    for (string_view key : kRefusedInEphemeral) {
      const Value& value = container[key];
      bool set = value.is_object() && key == "resources"
                     ? !value.empty()
                     : !value.is_null() && !(value.is_array() && value.empty());
      if (set) out.push_back(json::forbidden(at / key, "cannot be set for an Ephemeral Container"));
    }
    each(container, "volumeMounts", at, [&](const Value& mount, const Path& mount_path) {
      for (const char* key : {"subPath", "subPathExpr"})
        if (!text(mount, key).empty())
          out.push_back(
              json::forbidden(mount_path / key, "cannot be set for an Ephemeral Container"));
    });
  });
}

void validate_container_images(const Value& spec, string_view key, const Path& spec_path,
                               FieldErrors& out) {
  each(spec, key, spec_path, [&](const Value& container, const Path& at) {
    string_view image = text(container, "image");
    if (trim(image).size() != image.size())
      out.push_back(
          json::invalid(at / "image", image, "must not have leading or trailing whitespace"));
  });
}

}  // namespace cardea::catalog::pod

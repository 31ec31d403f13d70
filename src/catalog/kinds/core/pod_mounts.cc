#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"

// The mounts and block devices by which a container uses volumes.
namespace cardea::catalog::pod {
namespace {

using std::string_view;

// The paths of the other list by name. A later entry replaces an earlier one of the same name.
std::map<string_view, string_view> paths_by_name(const Value& list, const char* path_key) {
  std::map<string_view, string_view> out;
  for (const Value& item : list.items()) out[text(item, "name")] = text(item, path_key);
  return out;
}

bool has_path(const std::map<string_view, string_view>& paths, string_view wanted) {
  return std::ranges::any_of(paths, [&](const auto& entry) { return entry.second == wanted; });
}

void validate_propagation(const Value& mount, const Value& container, const Path& path,
                          FieldErrors& out) {
  string_view mode = text(mount, "mountPropagation");
  if (!present(mount, "mountPropagation")) return;
  check_one_of(path, mode, {"Bidirectional", "HostToContainer", "None"}, out);
  if (mode == "Bidirectional" && !container["securityContext"]["privileged"].as_bool())
    out.push_back(json::forbidden(
        path, "Bidirectional mount propagation is available only to privileged containers"));
}

void validate_recursive_read_only(const Value& mount, const Path& path, FieldErrors& out) {
  if (!present(mount, "recursiveReadOnly")) return;
  string_view mode = text(mount, "recursiveReadOnly");
  check_one_of(path, mode, {"Disabled", "Enabled", "IfPossible"}, out);
  if (mode != "Enabled" && mode != "IfPossible") return;
  if (!mount["readOnly"].as_bool())
    out.push_back(json::forbidden(path, "may only be specified when readOnly is true"));
  if (present(mount, "mountPropagation") && text(mount, "mountPropagation") != "None")
    out.push_back(json::forbidden(
        path, "may only be specified when mountPropagation is None or not specified"));
}

void validate_volume_mounts(const Value& container, const Surroundings& around, const Path& path,
                            FieldErrors& out) {
  auto devices = paths_by_name(container["volumeDevices"], "devicePath");
  Path list = path / "volumeMounts";  // Kubernetes reports some faults on the list instead of the
                                      // item
  std::set<string_view> seen;
  each(container, "volumeMounts", path, [&](const Value& mount, const Path& at) {
    string_view name = text(mount, "name"), mount_path = text(mount, "mountPath");
    string_view sub_path = text(mount, "subPath"), expression = text(mount, "subPathExpr");
    require_text(mount, "name", at, out);
    if (!around.volumes.contains(name)) out.push_back(json::not_found(at / "name", name));
    require_text(mount, "mountPath", at, out);
    if (!seen.insert(mount_path).second)
      out.push_back(json::invalid(at / "mountPath", mount_path, "must be unique"));
    if (devices.contains(name))
      out.push_back(json::invalid(at / "name", name, "must not already exist in volumeDevices"));
    if (has_path(devices, mount_path))
      out.push_back(json::invalid(at / "mountPath", mount_path,
                                  "must not already exist as a path in volumeDevices"));
    if (!sub_path.empty()) validate_relative_path(sub_path, list / "subPath", out);
    if (!expression.empty() && !sub_path.empty())
      out.push_back(json::invalid(at / "subPathExpr", expression,
                                  "subPathExpr and subPath are mutually exclusive"));
    if (!expression.empty()) validate_relative_path(expression, list / "subPathExpr", out);
    validate_propagation(mount, container, list / "mountPropagation", out);
    validate_recursive_read_only(mount, list / "recursiveReadOnly", out);
  });
}

void validate_volume_devices(const Value& container, const Surroundings& around, const Path& path,
                             FieldErrors& out) {
  auto mounts = paths_by_name(container["volumeMounts"], "mountPath");
  std::set<string_view> names, paths;
  each(container, "volumeDevices", path, [&](const Value& device, const Path& at) {
    string_view name = text(device, "name"), device_path = text(device, "devicePath");
    auto volume = around.volumes.find(name);
    bool found = volume != around.volumes.end();
    require_text(device, "name", at, out);
    if (names.contains(name)) out.push_back(json::invalid(at / "name", name, "must be unique"));
    if (found && !present(volume->second, "persistentVolumeClaim") &&
        !present(volume->second, "ephemeral"))
      out.push_back(json::invalid(
          at / "name", name,
          "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"));
    if (!found) out.push_back(json::not_found(at / "name", name));
    require_text(device, "devicePath", at, out);
    if (paths.contains(device_path))
      out.push_back(json::invalid(at / "devicePath", device_path, "must be unique"));
    FieldErrors backsteps;
    validate_no_backsteps(device_path, at, backsteps);
    if (!backsteps.empty())
      out.push_back(
          json::invalid(at / "devicePath", device_path, "can not contain backsteps ('..')"));
    else
      paths.insert(device_path);
    if (mounts.contains(name))
      out.push_back(json::invalid(at / "name", name, "must not already exist in volumeMounts"));
    if (has_path(mounts, device_path))
      out.push_back(json::invalid(at / "devicePath", device_path,
                                  "must not already exist as a path in volumeMounts"));
    if (!name.empty()) names.insert(name);
  });
}

}  // namespace

void validate_mounts(const Value& container, const Surroundings& around, const Path& path,
                     FieldErrors& out) {
  validate_volume_mounts(container, around, path, out);
  validate_volume_devices(container, around, path, out);
}

void validate_no_backsteps(string_view target, const Path& path, FieldErrors& out) {
  if (contains(split(target, '/'), ".."))
    out.push_back(json::invalid(path, target, "must not contain '..'"));
}

void validate_relative_path(string_view target, const Path& path, FieldErrors& out) {
  if (target.starts_with('/'))
    out.push_back(json::invalid(path, target, "must be a relative path"));
  validate_no_backsteps(target, path, out);
}

void validate_local_path(string_view target, const Path& path, FieldErrors& out) {
  validate_relative_path(target, path, out);
  if (target.starts_with("..") && !target.starts_with("../"))
    out.push_back(json::invalid(path, target, "must not start with '..'"));
}

}  // namespace cardea::catalog::pod

#include <map>
#include <span>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/resources.h"

// Environment variables, and the fields of the pod that they and downwardAPI files may show.
namespace cardea::catalog::pod {
namespace {

using std::string_view;
using Names = std::span<const string_view>;

constexpr string_view kEnvFields[] = {"metadata.name",
                                      "metadata.namespace",
                                      "metadata.uid",
                                      "spec.nodeName",
                                      "spec.serviceAccountName",
                                      "status.hostIP",
                                      "status.hostIPs",
                                      "status.podIP",
                                      "status.podIPs"};
constexpr string_view kFileFields[] = {"metadata.annotations", "metadata.labels", "metadata.name",
                                       "metadata.namespace", "metadata.uid"};
constexpr string_view kResourceFields[] = {
    "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
constexpr string_view kByteDivisors[] = {"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                         "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
constexpr string_view kValueSources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                         "secretKeyRef", "fileKeyRef"};

struct FieldPath {
  string_view path;
  string_view subscript;
  bool has_subscript = false;
};

// metadata.labels['key'] -> metadata.labels, key
FieldPath split_subscript(string_view text) {
  if (!text.ends_with("']")) return {text, {}, false};
  std::size_t start = text.find("['");
  if (start == 0 || start == string_view::npos) return {text, {}, false};
  return {text.substr(0, start), text.substr(start + 2, text.size() - start - 4), true};
}

bool is_known_field(string_view label) {
  constexpr string_view kOthers[] = {"metadata.annotations", "metadata.labels",
                                     "spec.restartPolicy",   "spec.schedulerName",
                                     "status.phase",         "spec.host"};
  return contains(kEnvFields, label) || contains(kOthers, label);
}

void validate_field_ref(const Value& ref, Names allowed, const Path& path, FieldErrors& out) {
  string_view field = text(ref, "fieldPath");
  if (text(ref, "apiVersion").empty()) return out.push_back(json::required(path / "apiVersion"));
  if (field.empty()) return out.push_back(json::required(path / "fieldPath"));
  if (text(ref, "apiVersion") != "v1")
    return out.push_back(json::invalid(
        path / "fieldPath", field,
        cat("error converting fieldPath: unsupported pod version: ", text(ref, "apiVersion"))));
  FieldPath parts = split_subscript(field);
  if (parts.has_subscript && parts.path != "metadata.annotations" &&
      parts.path != "metadata.labels")
    return out.push_back(json::invalid(
        path / "fieldPath", field,
        cat("error converting fieldPath: field label does not support subscript: ", field)));
  if (!parts.has_subscript && !is_known_field(field))
    return out.push_back(
        json::invalid(path / "fieldPath", field,
                      cat("error converting fieldPath: field label not supported: ", field)));
  if (parts.has_subscript) {
    std::string key = parts.path == "metadata.annotations" ? lower(parts.subscript)
                                                           : std::string(parts.subscript);
    complain(path, key, qualified_name(key), out);
  } else if (!contains(allowed, parts.path)) {
    out.push_back(
        json::not_supported(path / "fieldPath", parts.path, {allowed.begin(), allowed.end()}));
  }
}

void validate_divisor(string_view resource, const Value& divisor, const Path& path,
                      FieldErrors& out) {
  if (divisor.is_null() || quantity_of(divisor).sign() == 0) return;
  std::string shown = show_quantity(divisor);
  auto refuse = [&](string_view list, string_view what) {
    out.push_back(json::invalid(
        path / "divisor", resource,
        cat("only divisor's values ", list, " are supported with the ", what, " resource")));
  };
  constexpr string_view kBytes = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
  if (resource.ends_with(".cpu")) {
    if (shown != "1m" && shown != "1") refuse("1m and 1", "cpu");
  } else if (!contains(kByteDivisors, shown)) {
    if (resource.ends_with(".memory")) refuse(kBytes, "memory");
    if (resource.ends_with(".ephemeral-storage")) refuse(kBytes, "local ephemeral storage");
    if (resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-"))
      refuse(kBytes, "hugepages");
  }
}

void validate_resource_ref(const Value& ref, bool in_volume, const Path& path, FieldErrors& out) {
  string_view resource = text(ref, "resource");
  if (in_volume && text(ref, "containerName").empty())
    out.push_back(json::required(path / "containerName"));
  else if (resource.empty())
    out.push_back(json::required(path / "resource"));
  else if (!contains(kResourceFields, resource) && !resource.starts_with("limits.hugepages-") &&
           !resource.starts_with("requests.hugepages-"))
    out.push_back(json::not_supported(path / "resource", resource,
                                      {std::begin(kResourceFields), std::end(kResourceFields)}));
  validate_divisor(resource, ref["divisor"], path, out);
}

void validate_key_ref(const Value& ref, const Path& path, FieldErrors& out) {
  complain(path / "name", text(ref, "name"), name_is_dns_subdomain(text(ref, "name"), false), out);
  require_name(ref, "key", config_map_key, path, out);
}

void validate_file_key_ref(const Value& ref, const Path& path, FieldErrors& out) {
  require_name(ref, "key", env_var_name, path, out);
  require_name(ref, "volumeName", dns1123_label, path, out);
  if (text(ref, "path").empty())
    out.push_back(json::required(path / "path"));
  else
    validate_no_backsteps(text(ref, "path"), path / "path", out);
}

void validate_value_from(const Value& variable, const Path& path, FieldErrors& out) {
  const Value& from = variable["valueFrom"];
  if (from.is_null()) return;
  if (present(from, "fieldRef"))
    validate_field_ref(from["fieldRef"], kEnvFields, path / "fieldRef", out);
  if (present(from, "resourceFieldRef"))
    validate_resource_ref(from["resourceFieldRef"], false, path / "resourceFieldRef", out);
  if (present(from, "configMapKeyRef"))
    validate_key_ref(from["configMapKeyRef"], path / "configMapKeyRef", out);
  if (present(from, "secretKeyRef"))
    validate_key_ref(from["secretKeyRef"], path / "secretKeyRef", out);
  if (present(from, "fileKeyRef"))
    validate_file_key_ref(from["fileKeyRef"], path / "fileKeyRef", out);
  auto sources = std::ranges::count_if(kValueSources,
                                       [&](string_view key) { return present(from, key); });
  if (sources == 0)
    out.push_back(
        json::invalid(path, "",
                      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                      "`secretKeyRef` or `fileKeyRef`"));
  else if (!text(variable, "value").empty())
    out.push_back(json::invalid(path, "", "may not be specified when `value` is not empty"));
  else if (sources > 1)
    out.push_back(json::invalid(path, "", "may not have more than one field specified at a time"));
}

}  // namespace

void validate_env(const Value& container, const Path& path, FieldErrors& out) {
  each(container, "env", path, [&](const Value& variable, const Path& at) {
    require_name(variable, "name", env_var_name, at, out);
    validate_value_from(variable, at / "valueFrom", out);
  });
}

void validate_env_from(const Value& container, const Path& path, FieldErrors& out) {
  each(container, "envFrom", path, [&](const Value& source, const Path& at) {
    if (string_view prefix = text(source, "prefix"); !prefix.empty())
      complain(at / "prefix", prefix, env_var_name(prefix), out);
    int sources = 0;
    for (const char* key : {"configMapRef", "secretRef"}) {
      if (!present(source, key)) continue;
      ++sources;
      require_name(
          source[key], "name", [](string_view name) { return name_is_dns_subdomain(name, true); },
          at / key, out);
    }
    // Reported on the list, not on the item.
    if (sources == 0)
      out.push_back(json::invalid(path / "envFrom", "",
                                  "must specify one of: `configMapRef` or `secretRef`"));
    if (sources > 1)
      out.push_back(json::invalid(path / "envFrom", "",
                                  "may not have more than one field specified at a time"));
  });
}

void validate_file_key_refs(const Value& spec, const Path& spec_path, FieldErrors& out) {
  std::map<string_view, const Value*> volumes;
  for (const Value& volume : spec["volumes"].items()) volumes[text(volume, "name")] = &volume;
  each_container(spec, spec_path, [&](const Value& container, const Path& path) {
    each(container, "env", path, [&](const Value& variable, const Path& at) {
      const Value& ref = variable["valueFrom"]["fileKeyRef"];
      if (ref.is_null()) return;
      Path name_path = at / "valueFrom" / "fileKeyRef" / "volumeName";
      auto found = volumes.find(text(ref, "volumeName"));
      if (found == volumes.end())
        out.push_back(json::not_found(name_path, text(ref, "volumeName")));
      else if (!present(*found->second, "emptyDir"))
        out.push_back(json::invalid(name_path, text(ref, "volumeName"),
                                    "referenced volume must be of type emptyDir"));
    });
  });
}

void validate_downward_file(const Value& file, const Path& path, FieldErrors& out) {
  require_text(file, "path", path, out);
  validate_local_path(text(file, "path"), path / "path", out);
  bool field = present(file, "fieldRef"), resource = present(file, "resourceFieldRef");
  if (field) validate_field_ref(file["fieldRef"], kFileFields, path / "fieldRef", out);
  if (field && resource)
    out.push_back(json::invalid(
        path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"));
  if (!field && resource)
    validate_resource_ref(file["resourceFieldRef"], true, path / "resourceFieldRef", out);
  if (!field && !resource)
    out.push_back(json::required(path, "one of fieldRef and resourceFieldRef is required"));
  if (const Value& mode = file["mode"];
      !mode.is_null() && (mode.as_int() < 0 || mode.as_int() > 0777))
    out.push_back(json::invalid(path / "mode", mode,
                                "must be a number between 0 and 0777 (octal), both inclusive"));
}

}  // namespace cardea::catalog::pod

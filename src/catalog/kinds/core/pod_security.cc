#include <re2/re2.h>

#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/go_value.h"

// Security contexts: what containers may do on the machine on which they run.
namespace cardea::catalog::pod {
namespace {

using std::string_view;

constexpr string_view kAppArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
constexpr string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod";
constexpr string_view kSeccompContainerPrefix = "container.seccomp.security.alpha.kubernetes.io/";
constexpr string_view kNotForWindows = "cannot be set for a windows pod";
constexpr std::size_t kMaxCredentialSpec = 64 * 1024;

std::string show_security_context(const Value& context) {
  std::string capabilities = present(context, "capabilities")
                                 ? show_go_struct(context["capabilities"], {"add", "drop"})
                                 : "null";
  std::string rest = show_go_struct(
      context, {"privileged", "seLinuxOptions:SELinuxOptions", "windowsOptions", "runAsUser",
                "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation",
                "procMount", "seccompProfile", "appArmorProfile"});
  return cat("{\"Capabilities\":", capabilities, ",", rest.substr(1));
}

void validate_seccomp(const Value& profile, const Path& path, FieldErrors& out) {
  if (profile.is_null()) return;
  string_view type = text(profile, "type");
  if (type.empty())
    out.push_back(json::required(path / "type", "type is required when seccompProfile is set"));
  else
    check_one_of(path / "type", type, {"Localhost", "RuntimeDefault", "Unconfined"}, out);
  const Value& local = profile["localhostProfile"];
  if (type != "Localhost") {
    if (!local.is_null())
      out.push_back(json::shown_as(json::invalid(path / "localhostProfile", {},
                                                 "can only be set when seccomp type is Localhost"),
                                   show_go_struct(profile, {"type", "localhostProfile"})));
  } else if (local.is_null()) {
    out.push_back(
        json::required(path / "localhostProfile", "must be set when seccomp type is Localhost"));
  } else {
    validate_relative_path(local.as_string(), path / "localhostProfile", out);
  }
}

void validate_app_armor(const Value& profile, const Path& path, FieldErrors& out) {
  if (profile.is_null()) return;
  string_view type = text(profile, "type");
  const Value& local = profile["localhostProfile"];
  Path local_path = path / "localhostProfile";
  if (type.empty())
    return out.push_back(
        json::required(path / "type", "type is required when appArmorProfile is set"));
  if (type == "Localhost") {
    string_view name = local.as_string();
    if (!local.is_null() && trim(name) != name)
      out.push_back(json::invalid(local_path, name, "must not be padded with whitespace"));
    else if (name.empty())
      out.push_back(json::required(local_path, "must be set when AppArmor type is Localhost"));
    if (name.size() > 4095) out.push_back(json::too_long(local_path, 4095));
    return;
  }
  std::size_t before = out.size();
  check_one_of(path / "type", type, {"Localhost", "RuntimeDefault", "Unconfined"}, out);
  if (out.size() == before && !local.is_null())
    out.push_back(
        json::invalid(local_path, local, "can only be set when AppArmor type is Localhost"));
}

void validate_windows_user(string_view user_name, const Path& path, FieldErrors& out) {
  auto refuse = [&](const char* detail) { out.push_back(json::invalid(path, user_name, detail)); };
  if (user_name.empty()) return refuse("runAsUserName cannot be an empty string");
  if (std::ranges::any_of(user_name, [](unsigned char c) { return c < 32 || c == 127; }))
    return refuse("runAsUserName cannot contain control characters");
  auto parts = split(user_name, '\\');
  if (parts.size() > 2) return refuse("runAsUserName cannot contain more than one backslash");
  static const RE2 net_bios(R"([^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14})");
  static const RE2 dns(R"([a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)"
                       R"((?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*)");
  string_view user = parts.back();
  if (parts.size() == 2) {
    re2::StringPiece domain(parts[0].data(), parts[0].size());
    if (parts[0].size() >= 256)
      refuse("runAsUserName's Domain length must be under 256 characters");
    if (!RE2::FullMatch(domain, net_bios) && !RE2::FullMatch(domain, dns))
      refuse("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  }
  if (user.empty())
    refuse("runAsUserName's User cannot be empty");
  else if (user.size() > 104)
    refuse("runAsUserName's User length must not be longer than 104 characters");
  if (!user.empty() && user.find_first_not_of(". ") == string_view::npos)
    refuse("runAsUserName's User cannot contain only periods or spaces");
  if (user.find_first_of("\"/\\:;|=,+*?<>@[]") != string_view::npos)
    refuse("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
}

void validate_windows_options(const Value& options, const Path& path, FieldErrors& out) {
  if (options.is_null()) return;
  if (present(options, "gmsaCredentialSpecName"))
    complain(path / "gmsaCredentialSpecName", text(options, "gmsaCredentialSpecName"),
             dns1123_subdomain(text(options, "gmsaCredentialSpecName")), out);
  if (const Value& spec = options["gmsaCredentialSpec"]; !spec.is_null()) {
    if (spec.as_string().empty())
      out.push_back(json::invalid(path / "gmsaCredentialSpec", spec,
                                  "gmsaCredentialSpec cannot be an empty string"));
    else if (spec.as_string().size() > kMaxCredentialSpec)
      out.push_back(json::invalid(path / "gmsaCredentialSpec", spec,
                                  "gmsaCredentialSpec size must be under 64 KiB"));
  }
  if (present(options, "runAsUserName"))
    validate_windows_user(text(options, "runAsUserName"), path / "runAsUserName", out);
}

bool is_sysctl_name(string_view name) {
  static const RE2 form(R"(([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?)");
  return name.size() <= 253 && RE2::FullMatch(re2::StringPiece(name.data(), name.size()), form);
}

std::string with_dots(string_view name) {
  // The first separator in the text decides whether . or / separates.
  std::size_t first = name.find_first_of("./");
  std::string out(name);
  if (first == string_view::npos || name[first] == '.') return out;
  for (char& c : out) c = c == '/' ? '.' : c == '.' ? '/' : c;
  return out;
}

void validate_sysctls(const Value& spec, const Path& path, FieldErrors& out) {
  std::set<string_view> seen;
  each(spec["securityContext"], "sysctls", path, [&](const Value& sysctl, const Path& at) {
    string_view name = text(sysctl, "name");
    if (name.empty())
      out.push_back(json::required(at / "name"));
    else if (!is_sysctl_name(name))
      out.push_back(
          json::invalid(at / "name", name,
                        "must have at most 253 characters and match regex "
                        "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"));
    else if (seen.contains(name))
      out.push_back(json::duplicate(at / "name", name));
    std::string dotted = with_dots(name);
    bool ipc = dotted == "kernel.sem" || dotted.starts_with("kernel.shm") ||
               dotted.starts_with("kernel.msg") || dotted.starts_with("fs.mqueue.");
    if (spec["hostNetwork"].as_bool() && dotted.starts_with("net."))
      out.push_back(
          json::invalid(at / "name", name, "may not be specified when 'hostNetwork' is true"));
    else if (spec["hostIPC"].as_bool() && ipc)
      out.push_back(
          json::invalid(at / "name", name, "may not be specified when 'hostIPC' is true"));
    seen.insert(name);
  });
}

void forbid_present(const Value& object, std::initializer_list<string_view> keys, const Path& path,
                    string_view why, FieldErrors& out) {
  for (string_view key : keys)
    if (present(object, key)) out.push_back(json::forbidden(path / key, std::string(why)));
}

void validate_windows_pod(const Value& spec, const Path& path, FieldErrors& out) {
  const Value& context = spec["securityContext"];
  Path context_path = path / "securityContext";
  forbid_present(context, {"appArmorProfile", "seLinuxOptions"}, context_path, kNotForWindows, out);
  forbid_present(spec, {"hostUsers"}, path, kNotForWindows, out);
  for (const char* key : {"hostPID", "hostIPC"})
    if (spec[key].as_bool())
      out.push_back(json::forbidden(path / key, std::string(kNotForWindows)));
  forbid_present(context, {"seccompProfile", "fsGroup", "fsGroupChangePolicy"}, context_path,
                 kNotForWindows, out);
  if (!context["sysctls"].empty())
    out.push_back(json::forbidden(context_path / "sysctls", std::string(kNotForWindows)));
  forbid_present(spec, {"shareProcessNamespace"}, path, kNotForWindows, out);
  forbid_present(context,
                 {"runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy",
                  "seLinuxChangePolicy"},
                 context_path, kNotForWindows, out);
  each_container(spec, path, [&](const Value& container, const Path& at) {
    forbid_present(container["securityContext"],
                   {"appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
                    "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount",
                    "runAsUser", "runAsGroup"},
                   at / "securityContext", kNotForWindows, out);
  });
}

void validate_linux_pod(const Value& spec, const Path& path, FieldErrors& out) {
  constexpr string_view kWhy = "windows options cannot be set for a linux pod";
  forbid_present(spec["securityContext"], {"windowsOptions"}, path / "securityContext", kWhy, out);
  each_container(spec, path, [&](const Value& container, const Path& at) {
    forbid_present(container["securityContext"], {"windowsOptions"}, at / "securityContext", kWhy,
                   out);
  });
}

// The older annotation and the newer field may both be present if they have the same value.
struct ProfileWords {
  string_view noun, unconfined, runtime_default, other_runtime_default, localhost_prefix;
};
constexpr ProfileWords kSeccompWords = {"seccomp", "unconfined", "runtime/default",
                                        "docker/default", "localhost/"};
constexpr ProfileWords kAppArmorWords = {"apparmor", "unconfined", "runtime/default",
                                         "runtime/default", "localhost/"};

void validate_profile_match(string_view annotation, const Value& profile, const ProfileWords& words,
                            const Path& path, FieldErrors& out) {
  string_view type = text(profile, "type");
  bool type_matches = type == "Unconfined"       ? annotation == words.unconfined
                      : type == "RuntimeDefault" ? annotation == words.runtime_default ||
                                                       annotation == words.other_runtime_default
                      : type == "Localhost" ? annotation.starts_with(words.localhost_prefix)
                                            : true;
  if (!type_matches)
    out.push_back(json::forbidden(path / "type",
                                  cat(words.noun, " type in annotation and field must match")));
  else if (type == "Localhost" &&
           annotation.substr(words.localhost_prefix.size()) != text(profile, "localhostProfile"))
    out.push_back(json::forbidden(path / "localhostProfile",
                                  cat(words.noun, " profile in annotation and field must match")));
}

void validate_seccomp_annotation(string_view profile, const Path& path, FieldErrors& out) {
  if (profile == "runtime/default" || profile == "docker/default" || profile == "unconfined")
    return;
  if (profile.starts_with("localhost/"))
    return validate_relative_path(profile.substr(10), path, out);
  out.push_back(json::invalid(path, profile, "must be a valid seccomp profile"));
}

bool has_container(const Value& spec, string_view name) {
  bool found = false;
  each_container(spec, "spec", [&](const Value& container, const Path&) {
    found |= text(container, "name") == name;
  });
  return found;
}

}  // namespace

void validate_container_security(const Value& container, const Surroundings& around,
                                 const Path& container_path, FieldErrors& out) {
  const Value& context = container["securityContext"];
  if (context.is_null()) return;
  Path path = container_path / "securityContext";
  bool privileged = context["privileged"].as_bool();
  if (privileged && !around.rules.allow_privileged)
    out.push_back(json::forbidden(path / "privileged", "disallowed by cluster policy"));
  check_number(context["runAsUser"], user_id, path / "runAsUser", out);
  check_number(context["runAsGroup"], group_id, path / "runAsGroup", out);
  if (present(context, "procMount")) {
    check_one_of(path / "procMount", text(context, "procMount"), {"Default", "Unmasked"}, out);
    bool host_users = !present(around.spec, "hostUsers") || around.spec["hostUsers"].as_bool();
    if (host_users && text(context, "procMount") == "Unmasked")
      out.push_back(json::invalid(path / "procMount", "Unmasked",
                                  "`hostUsers` must be false to use `Unmasked`"));
  }
  validate_seccomp(context["seccompProfile"], path / "seccompProfile", out);
  if (present(context, "allowPrivilegeEscalation") &&
      !context["allowPrivilegeEscalation"].as_bool()) {
    auto refuse = [&](const char* detail) {
      out.push_back(
          json::shown_as(json::invalid(path, {}, detail), show_security_context(context)));
    };
    if (privileged)
      refuse("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    for (const Value& capability : context["capabilities"]["add"].items())
      if (capability.as_string() == "CAP_SYS_ADMIN")
        refuse(
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
  }
  validate_windows_options(context["windowsOptions"], path / "windowsOptions", out);
  validate_app_armor(context["appArmorProfile"], path / "appArmorProfile", out);
}

void validate_pod_security(const Value& spec, const Path& spec_path, FieldErrors& out) {
  const Value& context = spec["securityContext"];
  Path path = spec_path / "securityContext";
  check_number(context["fsGroup"], group_id, path / "fsGroup", out);
  check_number(context["runAsUser"], user_id, path / "runAsUser", out);
  check_number(context["runAsGroup"], group_id, path / "runAsGroup", out);
  each(context, "supplementalGroups", path,
       [&](const Value& group, const Path& at) { check_number(group, group_id, at, out); });
  if (spec["hostPID"].as_bool() && spec["shareProcessNamespace"].as_bool())
    out.push_back(json::invalid(path / "shareProcessNamespace", true,
                                "ShareProcessNamespace and HostPID cannot both be enabled"));
  validate_sysctls(spec, path, out);
  auto optional = [&](const char* key, std::initializer_list<string_view> allowed) {
    if (present(context, key)) check_one_of(path / key, text(context, key), allowed, out);
  };
  optional("fsGroupChangePolicy", {"Always", "OnRootMismatch"});
  validate_seccomp(context["seccompProfile"], path / "seccompProfile", out);
  validate_windows_options(context["windowsOptions"], path / "windowsOptions", out);
  validate_app_armor(context["appArmorProfile"], path / "appArmorProfile", out);
  optional("supplementalGroupsPolicy", {"Merge", "Strict"});
  optional("seLinuxChangePolicy", {"Recursive"});
}

void validate_host_process(const Value& spec, const Path& spec_path, const PodRules& rules,
                           FieldErrors& out) {
  const Value& pod_wide = spec["securityContext"]["windowsOptions"]["hostProcess"];
  int containers = 0, host_processes = 0;
  each_container(spec, spec_path, [&](const Value& container, const Path& at) {
    ++containers;
    const Value& own = container["securityContext"]["windowsOptions"]["hostProcess"];
    if (!pod_wide.is_null() && !own.is_null() && pod_wide != own)
      out.push_back(
          json::invalid(at / "securityContext" / "windowsOptions" / "hostProcess", own,
                        cat("pod hostProcess value must be identical if both are specified, was ",
                            pod_wide.as_bool() ? "true" : "false")));
    if (own.is_null() ? pod_wide.as_bool() : own.as_bool()) ++host_processes;
  });
  if (host_processes == 0) return;
  if (host_processes != containers)
    out.push_back(json::invalid(spec_path, "",
                                "If pod contains any hostProcess containers then all containers "
                                "must be HostProcess containers"));
  if (!spec["hostNetwork"].as_bool())
    out.push_back(
        json::invalid(spec_path / "hostNetwork", false,
                      "hostNetwork must be true if pod contains any hostProcess containers"));
  if (!rules.allow_privileged)
    out.push_back(
        json::forbidden(spec_path, "hostProcess containers are disallowed by cluster policy"));
}

void validate_host_users(const Value& spec, const Path& spec_path, FieldErrors& out) {
  if (!present(spec, "hostUsers") || spec["hostUsers"].as_bool()) return;
  constexpr const char* kWhy = "when `hostUsers` is false";
  if (spec["hostNetwork"].as_bool())
    out.push_back(json::forbidden(spec_path / "hostNetwork", kWhy));
  if (spec["hostPID"].as_bool()) out.push_back(json::forbidden(spec_path / "HostPID", kWhy));
  if (spec["hostIPC"].as_bool()) out.push_back(json::forbidden(spec_path / "HostIPC", kWhy));
  each_container(spec, spec_path, [&](const Value& container, const Path& at) {
    if (!container["volumeDevices"].empty())
      out.push_back(json::forbidden(at / "volumeDevices", kWhy));
  });
}

void validate_operating_system(const Value& spec, const Path& spec_path, FieldErrors& out) {
  if (!present(spec, "os")) return;
  string_view name = text(spec["os"], "name");
  if (name.empty()) return out.push_back(json::required(spec_path / "os" / "name"));
  check_one_of(spec_path / "os", name, {"linux", "windows"}, out);
  if (name == "linux") validate_linux_pod(spec, spec_path, out);
  if (name == "windows") validate_windows_pod(spec, spec_path, out);
}

void validate_security_annotations(const Value& annotations, const Value& spec,
                                   const Path& spec_path, FieldErrors& out) {
  const Value& pod_context = spec["securityContext"];
  Path context_path = spec_path / "securityContext";
  if (const Value* a = annotations.find(kSeccompPod); a && present(pod_context, "seccompProfile"))
    validate_profile_match(a->as_string(), pod_context["seccompProfile"], kSeccompWords,
                           context_path / "seccompProfile", out);
  each_container(spec, spec_path, [&](const Value& container, const Path& at) {
    const Value& profile = container["securityContext"]["seccompProfile"];
    const Value* a = annotations.find(cat(kSeccompContainerPrefix, text(container, "name")));
    if (a && !profile.is_null())
      validate_profile_match(a->as_string(), profile, kSeccompWords,
                             at / "securityContext" / "seccompProfile", out);
  });
  if (text(spec["os"], "name") == "windows") return;
  each_container(spec, spec_path, [&](const Value& container, const Path& at) {
    const Value& own = container["securityContext"]["appArmorProfile"];
    const Value& profile = own.is_null() ? pod_context["appArmorProfile"] : own;
    const Value* a = annotations.find(cat(kAppArmorPrefix, text(container, "name")));
    if (a && !profile.is_null())
      validate_profile_match(a->as_string(), profile, kAppArmorWords,
                             at / "securityContext" / "appArmorProfile", out);
  });
}

}  // namespace cardea::catalog::pod

namespace cardea::catalog {

void validate_pod_annotations(const json::Value& annotations, const json::Value& spec,
                              const Path& path, json::FieldErrors& out) {
  using namespace pod;
  constexpr const char* kMirror = "kubernetes.io/config.mirror";
  constexpr const char* kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";
  if (const json::Value* mirror = annotations.find(kMirror);
      mirror && text(spec, "nodeName").empty())
    out.push_back(json::invalid(path.key(kMirror), *mirror,
                                "must set spec.nodeName if mirror pod annotation is set"));
  if (const json::Value* cost = annotations.find(kDeletionCost)) {
    std::string_view written = cost->as_string();
    auto number = parse_int(written.starts_with('+') ? "x" : written);
    bool padded = written.size() > 1 && (written[0] == '0' || written.starts_with("-0"));
    if (!number || padded || *number > INT32_MAX || *number < INT32_MIN)
      out.push_back(json::invalid(path.key(kDeletionCost), written, "must be a 32bit integer"));
  }
  if (const json::Value* profile = annotations.find(kSeccompPod))
    validate_seccomp_annotation(profile->as_string(), path / kSeccompPod, out);
  for (const json::Member& a : annotations.members())
    if (a.key().starts_with(kSeccompContainerPrefix))
      validate_seccomp_annotation(a.value.as_string(), path / a.key(), out);
  for (const json::Member& a : annotations.members()) {
    if (!a.key().starts_with(kAppArmorPrefix)) continue;
    std::string_view container = a.key().substr(kAppArmorPrefix.size()),
                     profile = a.value.as_string();
    if (!has_container(spec, container))
      out.push_back(json::invalid(path.key(a.key()), container, "container not found"));
    if (!profile.empty() && profile != "runtime/default" && profile != "unconfined" &&
        !profile.starts_with("localhost/"))
      out.push_back(json::invalid(path.key(a.key()), profile,
                                  cat("invalid AppArmor profile name: ", quoted(profile))));
  }
}

}  // namespace cardea::catalog

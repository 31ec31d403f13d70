#include "admission/plugins/pod_standards.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/strings.h"

namespace cardea::admission {
namespace {

using json::Value;
using Names = std::vector<std::string>;
using Words = std::set<std::string>;

// A pod under examination.
struct Pod {
  const Value& metadata;
  const Value& spec;
  int minor;

  bool is_windows() const { return spec["os"]["name"].as_string() == "windows"; }
  // Root in a separate user namespace has no rights outside.
  bool has_own_users() const {
    return minor >= 35 && spec.has("hostUsers") && !spec["hostUsers"].as_bool();
  }
};

void for_each_container(const Pod& pod, const std::function<void(const Value&)>& visit) {
  for (auto list : {"initContainers", "containers", "ephemeralContainers"})
    for (const Value& c : pod.spec[list].items()) visit(c);
}

// The names of containers for which `is_bad` holds.
Names containers_where(const Pod& pod, const std::function<bool(const Value&)>& is_bad) {
  Names names;
  for_each_container(pod, [&](const Value& c) {
    if (is_bad(c)) names.emplace_back(c["name"].as_string());
  });
  return names;
}

std::string in_quotes(const Names& names) {
  return cat("\"", join(names, "\", \""), "\"");
}
std::string in_quotes(const Words& words) {
  return in_quotes(Names(words.begin(), words.end()));
}

std::string containers(const Names& names) {
  return cat(names.size() == 1 ? "container " : "containers ", in_quotes(names));
}

// `pod and containers "a", "b"`
std::string setters(bool is_pod, const Names& names) {
  if (names.empty()) return "pod";
  return is_pod ? cat("pod and ", containers(names)) : containers(names);
}

using Found = std::optional<SecurityViolation>;

Found app_armor(const Pod& pod) {
  constexpr std::string_view kPrefix = "container.apparmor.security.beta.kubernetes.io/";
  Words types;
  Names annotations;
  auto is_bad = [&](const Value& context) {
    std::string_view type = context["appArmorProfile"]["type"].as_string();
    if (!context.has("appArmorProfile") || type == "RuntimeDefault" || type == "Localhost")
      return false;
    types.emplace(type);
    return true;
  };
  bool is_pod = is_bad(pod.spec["securityContext"]);
  Names names = containers_where(pod, [&](const Value& c) { return is_bad(c["securityContext"]); });
  for (const json::Member& m : pod.metadata["annotations"].members()) {
    std::string_view profile = m.value.as_string();
    if (m.key().starts_with(kPrefix) && !profile.empty() && profile != "runtime/default" &&
        !profile.starts_with("localhost/"))
      annotations.push_back(cat(m.key(), "=", quoted(profile)));
  }
  if (!is_pod && names.empty() && annotations.empty()) return {};
  Names who, values(types.begin(), types.end());
  if (is_pod || !names.empty()) who.push_back(setters(is_pod, names));
  if (!annotations.empty()) who.push_back(annotations.size() == 1 ? "annotation" : "annotations");
  values.insert(values.end(), annotations.begin(), annotations.end());
  return SecurityViolation{
      values.size() == 1 ? "forbidden AppArmor profile" : "forbidden AppArmor profiles",
      cat(join(who, " and "), " must not set AppArmor profile type to ", in_quotes(values))};
}

// The containers that add capabilities other than these, and the capabilities.
std::pair<Names, Words> added_capabilities(const Pod& pod,
                                           std::initializer_list<std::string_view> allowed) {
  Words bad;
  Names names = containers_where(pod, [&](const Value& c) {
    bool found = false;
    for (const Value& capability : c["securityContext"]["capabilities"]["add"].items())
      if (std::ranges::find(allowed, capability.as_string()) == allowed.end()) {
        bad.emplace(capability.as_string());
        found = true;
      }
    return found;
  });
  return {std::move(names), std::move(bad)};
}

Found baseline_capabilities(const Pod& pod) {
  auto [names, bad] = added_capabilities(
      pod, {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
            "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"});
  if (names.empty()) return {};
  return SecurityViolation{"non-default capabilities",
                           cat(containers(names), " must not include ", in_quotes(bad),
                               " in securityContext.capabilities.add")};
}

Found restricted_capabilities(const Pod& pod) {
  if (pod.minor >= 25 && pod.is_windows()) return {};
  Names keeping = containers_where(pod, [](const Value& c) {
    auto dropped = c["securityContext"]["capabilities"]["drop"].items();
    return std::ranges::none_of(dropped, [](const Value& d) { return d.as_string() == "ALL"; });
  });
  auto [adding, bad] = added_capabilities(pod, {"NET_BIND_SERVICE"});
  Names details;
  if (!keeping.empty())
    details.push_back(
        cat(containers(keeping), " must set securityContext.capabilities.drop=[\"ALL\"]"));
  if (!adding.empty())
    details.push_back(cat(containers(adding), " must not include ", in_quotes(bad),
                          " in securityContext.capabilities.add"));
  if (details.empty()) return {};
  return SecurityViolation{"unrestricted capabilities", join(details, "; ")};
}

Found host_namespaces(const Pod& pod) {
  Names set;
  for (auto field : {"hostNetwork", "hostPID", "hostIPC"})
    if (pod.spec[field].as_bool()) set.push_back(cat(field, "=true"));
  if (set.empty()) return {};
  return SecurityViolation{"host namespaces", join(set, ", ")};
}

Found host_path_volumes(const Pod& pod) {
  Names names;
  for (const Value& v : pod.spec["volumes"].items())
    if (v.has("hostPath")) names.emplace_back(v["name"].as_string());
  if (names.empty()) return {};
  return SecurityViolation{"hostPath volumes",
                           cat(names.size() == 1 ? "volume " : "volumes ", in_quotes(names))};
}

Found host_ports(const Pod& pod) {
  Words ports;
  Names names = containers_where(pod, [&](const Value& c) {
    bool found = false;
    for (const Value& p : c["ports"].items())
      if (p["hostPort"].as_int() != 0) {
        ports.insert(std::to_string(p["hostPort"].as_int()));
        found = true;
      }
    return found;
  });
  if (names.empty()) return {};
  return SecurityViolation{"hostPort",
                           cat(containers(names), names.size() == 1 ? " uses " : " use ",
                               ports.size() == 1 ? "hostPort " : "hostPorts ",
                               join(Names(ports.begin(), ports.end()), ", "))};
}

Found probe_hosts(const Pod& pod) {
  Words hosts;
  Names names = containers_where(pod, [&](const Value& c) {
    bool found = false;
    for (const Value* handler : {&c["livenessProbe"], &c["readinessProbe"], &c["startupProbe"],
                                 &c["lifecycle"]["postStart"], &c["lifecycle"]["preStop"]})
      for (auto kind : {"httpGet", "tcpSocket"})
        if (std::string_view host = (*handler)[kind]["host"].as_string(); !host.empty()) {
          hosts.emplace(host);
          found = true;
        }
    return found;
  });
  if (names.empty()) return {};
  return SecurityViolation{
      "probe or lifecycle host",
      cat(containers(names), names.size() == 1 ? " uses " : " use ", "probe or lifecycle ",
          hosts.size() == 1 ? "host " : "hosts ", in_quotes(hosts))};
}

Found privileged(const Pod& pod) {
  Names names = containers_where(
      pod, [](const Value& c) { return c["securityContext"]["privileged"].as_bool(); });
  if (names.empty()) return {};
  return SecurityViolation{"privileged",
                           cat(containers(names), " must not set securityContext.privileged=true")};
}

Found unmasked(const Pod& pod) {
  Words types;
  Names names = containers_where(pod, [&](const Value& c) {
    const Value& mount = c["securityContext"]["procMount"];
    if (mount.is_null() || mount.as_string() == "Default") return false;
    types.emplace(mount.as_string());
    return true;
  });
  if (names.empty()) return {};
  return SecurityViolation{
      "procMount",
      cat(containers(names), " must not set securityContext.procMount to ", in_quotes(types))};
}
Found baseline_proc_mount(const Pod& pod) {
  return pod.has_own_users() ? std::nullopt : unmasked(pod);
}

Found se_linux(const Pod& pod) {
  Words types;
  bool has_user = false, has_role = false;
  auto is_bad = [&](const Value& context) {
    const Value& o = context["seLinuxOptions"];
    std::string_view type = o["type"].as_string();
    bool known = type.empty() || type == "container_t" || type == "container_init_t" ||
                 type == "container_kvm_t" || (pod.minor >= 31 && type == "container_engine_t");
    bool user = !o["user"].as_string().empty(), role = !o["role"].as_string().empty();
    if (!known) types.emplace(type);
    has_user |= user;
    has_role |= role;
    return !known || user || role;
  };
  bool is_pod = is_bad(pod.spec["securityContext"]);
  Names names = containers_where(pod, [&](const Value& c) { return is_bad(c["securityContext"]); });
  if (!is_pod && names.empty()) return {};
  Names bad;
  if (!types.empty()) bad.push_back(cat(types.size() == 1 ? "type " : "types ", in_quotes(types)));
  if (has_user) bad.emplace_back("user may not be set");
  if (has_role) bad.emplace_back("role may not be set");
  return SecurityViolation{"seLinuxOptions",
                           cat(setters(is_pod, names),
                               " set forbidden securityContext.seLinuxOptions: ", join(bad, "; "))};
}

// Before 1.19 profiles were annotations.
Found seccomp_annotations(const Pod& pod) {
  Names bad;
  for (const json::Member& m : pod.metadata["annotations"].members()) {
    bool counts = m.key() == "seccomp.security.alpha.kubernetes.io/pod" ||
                  m.key().starts_with("container.seccomp.security.alpha.kubernetes.io/");
    std::string_view profile = m.value.as_string();
    if (counts && profile != "runtime/default" && profile != "docker/default" &&
        !profile.starts_with("localhost/"))
      bad.push_back(cat(m.key(), "=", quoted(profile)));
  }
  if (bad.empty()) return {};
  return SecurityViolation{
      "seccompProfile",
      cat(bad.size() == 1 ? "forbidden annotation " : "forbidden annotations ", join(bad, ", "))};
}

bool is_good_seccomp(const Value& context) {
  std::string_view type = context["seccompProfile"]["type"].as_string();
  return type == "RuntimeDefault" || type == "Localhost";
}

Found forbidden_seccomp(const Pod& pod) {
  Words types;
  auto is_bad = [&](const Value& context) {
    if (!context.has("seccompProfile") || is_good_seccomp(context)) return false;
    types.emplace(context["seccompProfile"]["type"].as_string());
    return true;
  };
  bool is_pod = is_bad(pod.spec["securityContext"]);
  Names names = containers_where(pod, [&](const Value& c) { return is_bad(c["securityContext"]); });
  if (!is_pod && names.empty()) return {};
  return SecurityViolation{
      "seccompProfile",
      cat(setters(is_pod, names), " must not set securityContext.seccompProfile.type to ",
          in_quotes(types))};
}

Found baseline_seccomp(const Pod& pod) {
  return pod.minor >= 19 ? forbidden_seccomp(pod) : seccomp_annotations(pod);
}

Found restricted_seccomp(const Pod& pod) {
  if (pod.minor >= 25 && pod.is_windows()) return {};
  if (Found forbidden = forbidden_seccomp(pod)) return forbidden;
  if (is_good_seccomp(pod.spec["securityContext"])) return {};
  Names names = containers_where(
      pod, [](const Value& c) { return !is_good_seccomp(c["securityContext"]); });
  if (names.empty()) return {};
  return SecurityViolation{
      "seccompProfile",
      cat("pod or ", containers(names),
          " must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"")};
}

Found sysctls(const Pod& pod) {
  struct Allowed {
    std::string_view name;
    int since;
  };
  constexpr Allowed kAllowed[] = {
      {"kernel.shm_rmid_forced", 0},
      {"net.ipv4.ip_local_port_range", 0},
      {"net.ipv4.tcp_syncookies", 0},
      {"net.ipv4.ping_group_range", 0},
      {"net.ipv4.ip_unprivileged_port_start", 0},
      {"net.ipv4.ip_local_reserved_ports", 27},
      {"net.ipv4.tcp_keepalive_time", 29},
      {"net.ipv4.tcp_fin_timeout", 29},
      {"net.ipv4.tcp_keepalive_intvl", 29},
      {"net.ipv4.tcp_keepalive_probes", 29},
      {"net.ipv4.tcp_rmem", 32},
      {"net.ipv4.tcp_wmem", 32},
  };
  Names bad;
  for (const Value& s : pod.spec["securityContext"]["sysctls"].items()) {
    std::string_view name = s["name"].as_string();
    if (std::ranges::none_of(
            kAllowed, [&](const Allowed& a) { return a.name == name && pod.minor >= a.since; }))
      bad.emplace_back(name);
  }
  if (bad.empty()) return {};
  return SecurityViolation{"forbidden sysctls", join(bad, ", ")};
}

Found windows_host_process(const Pod& pod) {
  auto is_set = [](const Value& context) {
    return context["windowsOptions"]["hostProcess"].as_bool();
  };
  bool is_pod = is_set(pod.spec["securityContext"]);
  Names names = containers_where(pod, [&](const Value& c) { return is_set(c["securityContext"]); });
  if (!is_pod && names.empty()) return {};
  return SecurityViolation{
      "hostProcess",
      cat(setters(is_pod, names), " must not set securityContext.windowsOptions.hostProcess=true")};
}

Found privilege_escalation(const Pod& pod) {
  if (pod.minor >= 25 && pod.is_windows()) return {};
  Names names = containers_where(pod, [](const Value& c) {
    const Value& allow = c["securityContext"]["allowPrivilegeEscalation"];
    return !allow.is_bool() || allow.as_bool();
  });
  if (names.empty()) return {};
  return SecurityViolation{
      "allowPrivilegeEscalation != false",
      cat(containers(names), " must set securityContext.allowPrivilegeEscalation=false")};
}

Found restricted_volumes(const Pod& pod) {
  constexpr std::string_view kAllowed[] = {"configMap", "csi",       "downwardAPI",
                                           "emptyDir",  "ephemeral", "persistentVolumeClaim",
                                           "projected", "secret",    "image"};
  Names names;
  Words types;
  for (const Value& v : pod.spec["volumes"].items())
    for (const json::Member& m : v.members()) {
      if (m.key() == "name" || std::ranges::find(kAllowed, m.key()) != std::end(kAllowed)) continue;
      names.emplace_back(v["name"].as_string());
      types.emplace(m.key());
    }
  if (names.empty()) return {};
  return SecurityViolation{
      "restricted volume types",
      cat(names.size() == 1 ? "volume " : "volumes ", in_quotes(names),
          names.size() == 1 ? " uses " : " use ",
          types.size() == 1 ? "restricted volume type " : "restricted volume types ",
          in_quotes(types))};
}

Found run_as_non_root(const Pod& pod) {
  if (pod.has_own_users()) return {};
  const Value& of_pod = pod.spec["securityContext"]["runAsNonRoot"];
  bool is_pod_bad = of_pod.is_bool() && !of_pod.as_bool();
  Names refusing = containers_where(pod, [](const Value& c) {
    const Value& v = c["securityContext"]["runAsNonRoot"];
    return v.is_bool() && !v.as_bool();
  });
  if (is_pod_bad || !refusing.empty())
    return SecurityViolation{
        "runAsNonRoot != true",
        cat(setters(is_pod_bad, refusing), " must not set securityContext.runAsNonRoot=false")};
  if (of_pod.as_bool()) return {};
  Names silent = containers_where(
      pod, [](const Value& c) { return !c["securityContext"]["runAsNonRoot"].is_bool(); });
  if (silent.empty()) return {};
  return SecurityViolation{
      "runAsNonRoot != true",
      cat("pod or ", containers(silent), " must set securityContext.runAsNonRoot=true")};
}

Found run_as_user(const Pod& pod) {
  if (pod.has_own_users()) return {};
  auto is_root = [](const Value& context) {
    return context["runAsUser"].is_int() && context["runAsUser"].as_int() == 0;
  };
  bool is_pod = is_root(pod.spec["securityContext"]);
  Names names = containers_where(pod,
                                 [&](const Value& c) { return is_root(c["securityContext"]); });
  if (!is_pod && names.empty()) return {};
  return SecurityViolation{"runAsUser=0", cat(setters(is_pod, names), " must not set runAsUser=0")};
}

struct Check {
  SecurityLevel level;
  int since;  // minor version
  Found (*find)(const Pod&);
  int replaced_since = SecurityPolicy::kLatest + 1;  // from here on, at the restricted level, a
                                                     // stricter one of there stands for it
};
constexpr auto kBase = SecurityLevel::kBaseline;
constexpr auto kStrict = SecurityLevel::kRestricted;
constexpr Check kChecks[] = {
    {kBase, 0, app_armor},
    {kBase, 0, baseline_capabilities, 22},
    {kBase, 0, host_namespaces},
    {kBase, 0, host_path_volumes, 0},
    {kBase, 0, host_ports},
    {kBase, 34, probe_hosts},
    {kBase, 0, privileged},
    {kBase, 0, baseline_proc_mount, 35},
    {kBase, 0, se_linux},
    {kBase, 0, baseline_seccomp, 19},
    {kBase, 0, sysctls},
    {kBase, 0, windows_host_process},
    {kStrict, 8, privilege_escalation},
    {kStrict, 22, restricted_capabilities},
    {kStrict, 35, unmasked},
    {kStrict, 0, restricted_volumes},
    {kStrict, 0, run_as_non_root},
    {kStrict, 23, run_as_user},
    {kStrict, 19, restricted_seccomp},
};

}  // namespace

std::optional<SecurityLevel> parse_security_level(std::string_view text) {
  if (text == "privileged") return SecurityLevel::kPrivileged;
  if (text == "baseline") return SecurityLevel::kBaseline;
  if (text == "restricted") return SecurityLevel::kRestricted;
  return std::nullopt;
}

std::optional<int> parse_policy_version(std::string_view text) {
  if (text == "latest") return SecurityPolicy::kLatest;
  if (!text.starts_with("v1.")) return std::nullopt;
  std::string_view digits = text.substr(3);
  bool is_plain = !digits.empty() && digits.size() < 6 &&
                  std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_plain || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  return static_cast<int>(*parse_int(digits));
}

std::string SecurityPolicy::print() const {
  constexpr std::string_view kNames[] = {"privileged", "baseline", "restricted"};
  return cat(kNames[static_cast<int>(level)], ":",
             minor == kLatest ? std::string("latest") : cat("v1.", minor));
}

std::vector<SecurityViolation> violations(const SecurityPolicy& policy, const Value& metadata,
                                          const Value& spec) {
  std::vector<SecurityViolation> all;
  Pod pod{metadata, spec, policy.minor};
  for (const Check& check : kChecks) {
    if (check.level > policy.level || policy.level == SecurityLevel::kPrivileged ||
        policy.minor < check.since)
      continue;
    if (policy.level == SecurityLevel::kRestricted && policy.minor >= check.replaced_since)
      continue;
    if (Found found = check.find(pod)) all.push_back(std::move(*found));
  }
  return all;
}

}  // namespace cardea::admission

#include <map>
#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/pod_validation.h"
#include "catalog/kinds/core/volume_warnings.h"
#include "catalog/kinds/ip.h"

// Warnings to the author of a pod that is accepted.
namespace cardea::catalog {
namespace {

using json::Value;
using std::string_view;
using Warnings = std::vector<std::string>;

constexpr string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod";
constexpr string_view kSeccompContainerPrefix = "container.seccomp.security.alpha.kubernetes.io/";
constexpr string_view kAppArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

void add(Warnings& out, const Path& path, string_view text) {
  out.push_back(cat(path.text(), ": ", text));
}

void warn_about_node_labels(const Value& spec, const Path& path, Warnings& out) {
  for (const json::Member& m : spec["nodeSelector"].members())
    if (string_view hint = deprecated_node_label(m.key()); !hint.empty())
      add(out, (path / "nodeSelector").key(m.key()), hint);
  const Value& affinity = spec["affinity"]["nodeAffinity"];
  Path affinity_path = path / "affinity" / "nodeAffinity";
  each(affinity["requiredDuringSchedulingIgnoredDuringExecution"], "nodeSelectorTerms",
       affinity_path / "requiredDuringSchedulingIgnoredDuringExecution",
       [&](const Value& term, const Path& at) {
         warn_about_node_selector_term(term, false, at, out);
       });
  each(affinity, "preferredDuringSchedulingIgnoredDuringExecution", affinity_path,
       [&](const Value& term, const Path& at) {
         warn_about_node_selector_term(term["preference"], true, at / "preference", out);
       });
  each(spec, "topologySpreadConstraints", path, [&](const Value& constraint, const Path& at) {
    string_view key = text(constraint, "topologyKey"), hint = deprecated_node_label(key);
    if (!hint.empty()) add(out, at / "topologyKey", cat(key, " is ", hint));
    if (!present(constraint, "labelSelector"))
      add(out, at / "labelSelector", "a null labelSelector results in matching no pod");
  });
}

void warn_about_annotations(const Value& annotations, const Path& meta_path, Warnings& out) {
  constexpr std::pair<string_view, string_view> kOld[] = {
      {"scheduler.alpha.kubernetes.io/critical-pod",
       "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
      {"security.alpha.kubernetes.io/sysctls",
       "non-functional in v1.11+; use the \"sysctls\" field instead"},
      {"security.alpha.kubernetes.io/unsafe-sysctls",
       "non-functional in v1.11+; use the \"sysctls\" field instead"}};
  for (const auto& [key, hint] : kOld)
    if (annotations.has(key)) add(out, (meta_path / "annotations").key(key), hint);
}

struct ProjectedPath {
  std::string path, source;
  std::string shown() const {
    return source.empty() ? quoted(path) : cat(quoted(path), " (", source, ")");
  }
};

bool is_inside(string_view inner, string_view outer) {
  return cat(inner, "/").starts_with(cat(outer, "/"));
}

// Files of one volume that would overwrite each other.
class OverlapFinder {
 public:
  OverlapFinder(string_view volume, std::string description, Warnings& out)
      : volume_(volume), description_(std::move(description)), out_(out) {}
  void add(string_view path, std::string source) {
    while (path.ends_with('/')) path.remove_suffix(1);
    ProjectedPath added{std::string(path), std::move(source)};
    if (!path.empty())
      for (const ProjectedPath& other : seen_)
        if (!other.path.empty() && (is_inside(other.path, path) || is_inside(path, other.path)))
          out_.push_back(cat("volume ", quoted(volume_), " (", description_,
                             "): overlapping paths: ", added.shown(), " with ", other.shown()));
    seen_.push_back(std::move(added));
  }

 private:
  string_view volume_;
  std::string description_;
  Warnings& out_;
  std::vector<ProjectedPath> seen_;
};

void warn_about_projection(const Value& volume, Warnings& out) {
  OverlapFinder finder(text(volume, "name"), "Projected", out);
  for (const Value& source : volume["projected"]["sources"].items()) {
    if (source.empty()) {
      out.push_back(
          cat("volume ", quoted(text(volume, "name")), " (Projected) has no sources provided"));
      continue;
    }
    for (const auto& [key, noun] :
         {std::pair("configMap", "ConfigMap"), std::pair("secret", "Secret")})
      for (const Value& item : source[key]["items"].items())
        finder.add(text(item, "path"), cat(noun, " ", quoted(text(source[key], "name"))));
    for (const Value& item : source["downwardAPI"]["items"].items())
      finder.add(text(item, "path"), "DownwardAPI");
    if (present(source, "serviceAccountToken"))
      finder.add(text(source["serviceAccountToken"], "path"), "ServiceAccountToken");
  }
}

void warn_about_overlaps(const Value& spec, Warnings& out) {
  for (const Value& volume : spec["volumes"].items()) {
    string_view name = text(volume, "name");
    auto check = [&](const char* key, std::string description) {
      OverlapFinder finder(name, std::move(description), out);
      for (const Value& item : volume[key]["items"].items()) finder.add(text(item, "path"), "");
    };
    check("configMap", cat("ConfigMap ", quoted(text(volume["configMap"], "name"))));
    check("secret", cat("Secret ", quoted(text(volume["secret"], "secretName"))));
    check("downwardAPI", "DownwardAPI");
    warn_about_projection(volume, out);
  }
}

void warn_about_duplicates(const Value& spec, const char* list, const char* key, const char* noun,
                           const Path& path, Warnings& out) {
  std::set<string_view> seen;
  each(spec, list, path, [&](const Value& item, const Path& at) {
    if (!seen.insert(text(item, key)).second)
      add(out, at / key, cat("duplicate ", noun, " ", quoted(text(item, key))));
  });
}

void warn_about_env(const Value& container, const Path& path, Warnings& out) {
  std::set<string_view> seen;
  each(container, "env", path, [&](const Value& variable, const Path& at) {
    string_view name = text(variable, "name"), value = text(variable, "value");
    if (seen.insert(name).second) return;
    // A later variable that uses the earlier one of the same name is intended.
    std::string reference = cat("$(", name, ")");
    if (present(variable, "valueFrom") || value == reference ||
        value.find(reference) == string_view::npos)
      add(out, at,
          cat("hides previous definition of ", quoted(name),
              ", which may be dropped when using apply"));
  });
}

void warn_about_container(const Value& container, const Value& annotations,
                          const Value& pod_profile, const Path& path, const Path& meta_path,
                          bool in_template, Warnings& out) {
  const Value& context = container["securityContext"];
  std::string seccomp = cat(kSeccompContainerPrefix, text(container, "name")),
              app_armor = cat(kAppArmorPrefix, text(container, "name"));
  if (!present(context, "seccompProfile") && annotations.has(seccomp))
    add(out, (meta_path / "annotations").key(seccomp),
        "non-functional in v1.27+; use the \"seccompProfile\" field instead");
  if (in_template && !present(context, "appArmorProfile") && annotations.has(app_armor) &&
      pod_profile.is_null())
    add(out, (meta_path / "annotations").key(app_armor),
        "deprecated since v1.30; use the \"appArmorProfile\" field instead");
  for (const char* resource : {"memory", "ephemeral-storage"})
    for (const char* side : {"limits", "requests"})
      warn_about_fraction(container["resources"][side][resource],
                          (path / "resources" / side).key(resource), out);
  warn_about_env(container, path, out);
}

void warn_about_ports(const Value& spec, const Path& path, Warnings& out) {
  struct Seen {
    std::string path;
    std::string_view host_ip;
    std::int64_t host_port;
  };
  std::map<std::string, std::vector<Seen>> by_port;
  pod::each_container(spec, path, [&](const Value& container, const Path& container_path) {
    each(container, "ports", container_path, [&](const Value& port, const Path& at) {
      string_view host_ip = text(port, "hostIP");
      std::int64_t host_port = port["hostPort"].as_int();
      if (!host_ip.empty() && host_port == 0)
        add(out, at,
            cat("hostIP set without hostPort: {Name:", text(port, "name"),
                " HostPort:0 ContainerPort:", port["containerPort"].as_int(),
                " Protocol:", text(port, "protocol"), " HostIP:", host_ip, "}"));
      auto& others = by_port[cat(port["containerPort"].as_int(), "/", text(port, "protocol"))];
      for (const Seen& other : others) {
        if (host_ip == other.host_ip && host_port == other.host_port)
          add(out, at, cat("duplicate port definition with ", other.path));
        else if (host_port == 0 || other.host_port == 0)
          add(out, at, cat("overlapping port definition with ", other.path));
        else if (host_port == other.host_port && host_ip.empty() != other.host_ip.empty())
          add(out, at, cat("dangerously ambiguous port definition with ", other.path));
      }
      others.push_back({at.text(), host_ip, host_port});
    });
  });
  std::map<string_view, std::string> names;
  pod::each_container(spec, path, [&](const Value& container, const Path& container_path) {
    each(container, "ports", container_path, [&](const Value& port, const Path& at) {
      string_view name = text(port, "name");
      if (name.empty()) return;
      auto [first, fresh] = names.emplace(name, at.text());
      if (!fresh)
        add(out, at,
            cat("duplicate port name ", quoted(name), " with ", first->second,
                ", services and probes that select ports by name will use ", first->second));
    });
  });
}

void warn_about_pod_affinity(const Value& affinity, const Path& path, Warnings& out) {
  constexpr const char* kNull = "a null labelSelector results in matching no pod";
  each(affinity, "requiredDuringSchedulingIgnoredDuringExecution", path,
       [&](const Value& term, const Path& at) {
         if (!present(term, "labelSelector")) add(out, at / "labelSelector", kNull);
       });
  each(affinity, "preferredDuringSchedulingIgnoredDuringExecution", path,
       [&](const Value& term, const Path& at) {
         if (!present(term["podAffinityTerm"], "labelSelector"))
           add(out, at / "podAffinityTerm" / "labelSelector", kNull);
       });
}

}  // namespace

void warn_about_pod_spec(const Value& spec, const Value& meta, const Path& path,
                         const Path& meta_path, Warnings& out) {
  bool in_template = meta_path.text() != "metadata";
  const Value& annotations = meta["annotations"];
  warn_about_node_labels(spec, path, out);
  warn_about_annotations(annotations, meta_path, out);
  each(spec, "volumes", path, [&](const Value& volume, const Path& at) {
    warn_about_volume_source(volume, at, out);
    warn_about_claim_spec(volume["ephemeral"]["volumeClaimTemplate"]["spec"],
                          at / "ephemeral" / "volumeClaimTemplate" / "spec", out);
  });
  warn_about_overlaps(spec, out);
  warn_about_duplicates(spec, "hostAliases", "ip", "ip", path, out);
  warn_about_duplicates(spec, "imagePullSecrets", "name", "name", path, out);
  each(spec, "imagePullSecrets", path, [&](const Value& secret, const Path& at) {
    if (text(secret, "name").empty()) add(out, at / "name", "invalid empty name \"\"");
  });
  for (const char* resource : {"memory", "ephemeral-storage"})
    warn_about_fraction(spec["overhead"][resource], (path / "overhead").key(resource), out);
  if (!present(spec["securityContext"], "seccompProfile") && annotations.has(kSeccompPod))
    add(out, (meta_path / "annotations").key(kSeccompPod),
        "non-functional in v1.27+; use the \"seccompProfile\" field instead");
  pod::each_container(spec, path, [&](const Value& container, const Path& at) {
    warn_about_container(container, annotations, spec["securityContext"]["appArmorProfile"], at,
                         meta_path, in_template, out);
  });
  warn_about_ports(spec, path, out);
  if (spec["terminationGracePeriodSeconds"].as_int() < 0)
    add(out, path / "terminationGracePeriodSeconds",
        "must be >= 0; negative values are invalid and will be treated as 1");
  warn_about_pod_affinity(spec["affinity"]["podAffinity"], path / "affinity" / "podAffinity", out);
  warn_about_pod_affinity(spec["affinity"]["podAntiAffinity"],
                          path / "affinity" / "podAntiAffinity", out);
  each(spec["dnsConfig"], "nameservers", path / "dnsConfig",
       [&](const Value& server, const Path& at) { warn_about_ip(at, server.as_string(), out); });
  each(spec, "hostAliases", path, [&](const Value& alias, const Path& at) {
    warn_about_ip(at / "ip", text(alias, "ip"), out);
  });
}

void warn_about_pod_template(const Value& pod_template, const Path& path, Warnings& out) {
  if (pod_template.is_null()) return;
  warn_about_pod_spec(pod_template["spec"], pod_template["metadata"], path / "spec",
                      path / "metadata", out);
}

}  // namespace cardea::catalog

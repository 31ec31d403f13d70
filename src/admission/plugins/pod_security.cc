#include <algorithm>
#include <map>
#include <set>

#include "admission/plugins.h"
#include "admission/plugins/pod_standards.h"
#include "base/strings.h"
#include "json/field_error.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";
constexpr std::size_t kMaxPodsToCheck = 3000;

// What the labels of a namespace ask for. Wrong labels: enforcing falls to the strictest, telling
// to none.
struct Wanted {
  SecurityPolicy enforce, audit, warn;
  json::FieldErrors errors;
};

Wanted read_labels(const Value& labels, const PodSecuritySettings& settings) {
  Wanted w{settings.enforce, settings.audit, settings.warn, {}};
  struct Mode {
    const char* name;
    SecurityPolicy& policy;
    SecurityLevel on_error;
  };
  bool has_level[3] = {}, has_version[3] = {};
  int i = 0;
  for (const Mode& mode : {Mode{"enforce", w.enforce, SecurityLevel::kRestricted},
                           Mode{"audit", w.audit, SecurityLevel::kPrivileged},
                           Mode{"warn", w.warn, SecurityLevel::kPrivileged}}) {
    std::string level_key = cat(kPrefix, mode.name), version_key = cat(level_key, "-version");
    if (const Value* given = labels.find(level_key)) {
      auto level = parse_security_level(given->as_string());
      mode.policy.level = level.value_or(mode.on_error);
      has_level[i] = level.has_value();
      if (!level)
        w.errors.push_back(json::invalid(cat("metadata.labels[", level_key, "]"), *given,
                                         "must be one of privileged, baseline, restricted"));
    }
    if (const Value* given = labels.find(version_key)) {
      auto version = parse_policy_version(given->as_string());
      mode.policy.minor = version.value_or(SecurityPolicy::kLatest);
      has_version[i] = version.has_value();
      if (!version)
        w.errors.push_back(json::invalid(cat("metadata.labels[", version_key, "]"), *given,
                                         "must be \"latest\" or \"v1.x\""));
    }
    ++i;
  }
  // Who enforces a level wants to hear of templates that break it.
  if (has_level[0] && !has_level[2] && w.enforce.level > w.warn.level) {
    w.warn.level = w.enforce.level;
    if (!has_version[2]) w.warn.minor = w.enforce.minor;
  }
  return w;
}

std::string details(const std::vector<SecurityViolation>& all) {
  std::vector<std::string> parts;
  for (const SecurityViolation& v : all)
    parts.push_back(v.detail.empty() ? v.reason : cat(v.reason, " (", v.detail, ")"));
  return join(parts, ", ");
}

std::string reasons(const std::vector<SecurityViolation>& all) {
  std::vector<std::string> parts;
  for (const SecurityViolation& v : all) parts.push_back(v.reason);
  return join(parts, ", ");
}

// The policies that labels set, as a warning shows them: those that say more than nothing.
std::string compact(const Wanted& wanted, const Value& labels) {
  std::vector<std::string> parts;
  struct Mode {
    const char* name;
    const SecurityPolicy& policy;
  };
  for (const Mode& mode :
       {Mode{"enforce", wanted.enforce}, Mode{"audit", wanted.audit}, Mode{"warn", wanted.warn}})
    if (labels.has(cat(kPrefix, mode.name)) || labels.has(cat(kPrefix, mode.name, "-version")))
      parts.push_back(cat(mode.name, "=", mode.policy.print()));
  return join(parts, ", ");
}

// The pod inside a template.
struct Template {
  const Value& metadata;
  const Value& spec;
};

class PodSecurity : public Plugin {
 public:
  PodSecurity(Objects objects, const PodSecuritySettings& settings)
      : objects_(objects), settings_(settings) {}
  std::string_view name() const override { return "PodSecurity"; }

  bool handles(const Review& r) const override {
    if (r.operation != Operation::kCreate && r.operation != Operation::kUpdate) return false;
    if (is(r, "", "pods")) return std::ranges::find(kIgnored, r.subresource) == std::end(kIgnored);
    return r.subresource.empty() && (is(r, "", "namespaces") || is_workload(r));
  }

  Task<Result<void>> validate(const Review& r) const override {
    if (is(r, "", "namespaces")) co_return validate_namespace(r);
    if (is_exempt(r)) co_return Result<void>{};
    Value ns = objects_.get(r.catalog, "", "namespaces", "", r.namespace_name);
    Wanted wanted = read_labels(ns["metadata"]["labels"], settings_);
    if (is(r, "", "pods")) {
      if (r.old_object && !is_significant(r.object, *r.old_object)) co_return Result<void>{};
      co_return judge(r, wanted, {r.object["metadata"], r.object["spec"]}, true);
    }
    const Value& inside = r.resource.name == "cronjobs"
                              ? r.object["spec"]["jobTemplate"]["spec"]["template"]
                          : r.resource.name == "podtemplates" ? r.object["template"]
                                                              : r.object["spec"]["template"];
    if (inside.is_null()) co_return Result<void>{};
    co_return judge(r, wanted, {inside["metadata"], inside["spec"]}, false);
  }

 private:
  static constexpr std::string_view kIgnored[] = {"exec", "attach",      "binding", "eviction",
                                                  "log",  "portforward", "proxy",   "status"};

  static bool is(const Review& r, std::string_view group, std::string_view resource) {
    return r.resource.group == group && r.resource.name == resource;
  }
  static bool is_workload(const Review& r) {
    if (r.resource.group.empty())
      return r.resource.name == "replicationcontrollers" || r.resource.name == "podtemplates";
    if (r.resource.group == "batch")
      return r.resource.name == "jobs" || r.resource.name == "cronjobs";
    constexpr std::string_view kApps[] = {"deployments", "replicasets", "statefulsets",
                                          "daemonsets"};
    return r.resource.group == "apps" &&
           std::ranges::find(kApps, r.resource.name) != std::end(kApps);
  }

  // Most of a pod cannot change; of what can, containers and what runs in them matter to the
  // standards.
  static bool is_significant(const Value& pod, const Value& old) {
    for (auto list : {"containers", "initContainers", "ephemeralContainers"}) {
      auto now = pod["spec"][list].items(), before = old["spec"][list].items();
      if (now.size() != before.size()) return true;
      for (std::size_t i = 0; i < now.size(); ++i)
        for (auto part : {"name", "image", "securityContext"})
          if (!(now[i][part] == before[i][part])) return true;
    }
    return false;
  }

  bool is_exempt(const Review& r) const {
    const bool by_namespace = settings_.namespaces.contains(r.namespace_name);
    if (!by_namespace && !settings_.users.contains(r.user.name)) return false;
    r.annotate(cat(kPrefix, "exempt"), by_namespace ? "namespace" : "user");
    return true;
  }

  Result<void> judge(const Review& r, const Wanted& wanted, const Template& pod,
                     bool enforce) const {
    if (const Value& runtime = pod.spec["runtimeClassName"];
        runtime.is_string() && settings_.runtime_classes.contains(runtime.as_string())) {
      r.annotate(cat(kPrefix, "exempt"), "runtimeClass");
      return {};
    }
    if (enforce) r.annotate(cat(kPrefix, "enforce-policy"), wanted.enforce.print());
    if (auto found = violations(wanted.audit, pod.metadata, pod.spec); !found.empty())
      r.annotate(
          cat(kPrefix, "audit-violations"),
          cat("would violate PodSecurity ", quoted(wanted.audit.print()), ": ", details(found)));
    if (enforce)
      if (auto found = violations(wanted.enforce, pod.metadata, pod.spec); !found.empty())
        return fail(forbidden(
            r, cat("violates PodSecurity ", quoted(wanted.enforce.print()), ": ", details(found))));
    if (auto found = violations(wanted.warn, pod.metadata, pod.spec); !found.empty())
      r.warnings.push_back(
          cat("would violate PodSecurity ", quoted(wanted.warn.print()), ": ", details(found)));
    return {};
  }

  Result<void> validate_namespace(const Review& r) const {
    const Value& labels = r.object["metadata"]["labels"];
    const bool is_exempt = settings_.namespaces.contains(r.name);
    Wanted now = read_labels(labels, settings_);
    if (!r.old_object) {
      if (!now.errors.empty())
        return fail(json::invalid_object("", "Namespace", r.name, now.errors));
      if (is_exempt) warn_of_exemption(r, now, labels);
      return {};
    }
    Wanted before = read_labels((*r.old_object)["metadata"]["labels"], settings_);
    auto same = [](const json::FieldError& a, const json::FieldError& b) {
      return a.message() == b.message();
    };
    if (!now.errors.empty() && !std::ranges::equal(now.errors, before.errors, same))
      return fail(json::invalid_object("", "Namespace", r.name, now.errors));
    const bool is_same = now.enforce == before.enforce && now.audit == before.audit &&
                         now.warn == before.warn;
    if (is_exempt && !is_same) warn_of_exemption(r, now, labels);
    if (is_exempt) return {};
    if (now.enforce == before.enforce || now.enforce.level == SecurityLevel::kPrivileged) return {};
    if (now.enforce.minor == before.enforce.minor && now.enforce.level <= before.enforce.level)
      return {};
    warn_of_pods(r, now.enforce, r.warnings);
    return {};
  }

  static void warn_of_exemption(const Review& r, const Wanted& now, const Value& labels) {
    const std::string policies = compact(now, labels);
    if (!policies.empty())
      r.warnings.push_back(cat("namespace ", quoted(r.name),
                               " is exempt from Pod Security, and the policy (", policies,
                               ") will be ignored"));
  }

  // Tells which pods that are already there break the new rules, one line for each sort.
  void warn_of_pods(const Review& r, const SecurityPolicy& policy,
                    std::vector<std::string>& warnings) const {
    std::vector<Value> pods = one_of_each_owner_first(objects_.list(r.catalog, "", "pods", r.name));
    std::size_t checked = std::min(pods.size(), kMaxPodsToCheck);
    std::map<std::string, std::pair<std::string, int>> sorts;  // reasons: the first pod, and how
                                                               // many
    for (std::size_t i = 0; i < checked; ++i) {
      auto found = violations(policy, pods[i]["metadata"], pods[i]["spec"]);
      if (found.empty()) continue;
      auto& [first, count] = sorts[reasons(found)];
      if (count++ == 0) first = pods[i]["metadata"]["name"].as_string();
    }
    if (checked < pods.size())
      warnings.push_back(cat("new PodSecurity enforce level only checked against the first ",
                             checked, " of ", pods.size(), " existing pods"));
    if (!sorts.empty())
      warnings.push_back(cat("existing pods in namespace ", quoted(r.name),
                             " violate the new PodSecurity enforce level ",
                             quoted(policy.print())));
    std::set<std::string> lines;
    for (const auto& [why, sort] : sorts) {
      const auto& [first, count] = sort;
      std::string others = count == 1   ? ""
                           : count == 2 ? " (and 1 other pod)"
                                        : cat(" (and ", count - 1, " other pods)");
      lines.insert(cat(first, others, ": ", why));
    }
    warnings.insert(warnings.end(), lines.begin(), lines.end());
  }

  static std::vector<Value> one_of_each_owner_first(std::vector<Value> pods) {
    std::set<std::string> owners;
    std::stable_partition(pods.begin(), pods.end(), [&](const Value& pod) {
      for (const Value& o : pod["metadata"]["ownerReferences"].items())
        if (o["controller"].as_bool()) return owners.emplace(o["uid"].as_string()).second;
      return true;
    });
    return pods;
  }

  Objects objects_;
  const PodSecuritySettings settings_;
};

}  // namespace

std::unique_ptr<Plugin> pod_security(Objects objects, const Settings& settings) {
  return std::make_unique<PodSecurity>(objects, settings.pod_security);
}

}  // namespace cardea::admission

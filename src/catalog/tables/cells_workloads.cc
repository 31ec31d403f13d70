#include <algorithm>
#include <set>

#include "base/strings.h"
#include "catalog/label_text.h"
#include "catalog/tables/cells.h"
#include "catalog/tables/duration.h"

// Pods and the kinds that create pods.
namespace cardea::catalog::cells {

using json::Value;
using std::chrono::system_clock;

namespace {

// The reason why a container no longer runs: its reason, or its signal, or its exit code.
std::string termination(const Value& terminated) {
  if (auto reason = terminated["reason"].as_string(); !reason.empty()) return std::string(reason);
  if (auto signal = terminated["signal"].as_int(); signal != 0) return cat("Signal:", signal);
  return cat("ExitCode:", terminated["exitCode"].as_int());
}

// The values of the columns Ready, Status and Restarts of a pod, collected in one pass.
struct PodSummary {
  std::int64_t restarts = 0;
  std::size_t ready = 0, total = 0;
  std::optional<system_clock::time_point> last_restart;
  std::string status;

  explicit PodSummary(const Value& pod) {
    const Value& state = pod["status"];
    status = state["phase"].as_string();
    if (auto reason = state["reason"].as_string(); !reason.empty()) status = reason;
    if (condition(state["conditions"], "PodScheduled")["reason"].as_string() == "SchedulingGated")
      status = "SchedulingGated";
    for (const Value& container : pod["spec"]["initContainers"].items())
      if (container["restartPolicy"].as_string() == "Always")
        sidecars_.emplace(container["name"].as_string());
    total = pod["spec"]["containers"].size() + sidecars_.size();
    bool initializing = read_init_containers(pod);
    if (!initializing || is_true(state["conditions"], "Initialized")) read_containers(state);
    read_deletion(pod);
  }

  std::string restarts_text(const TableContext& context) const {
    if (restarts == 0 || !last_restart) return std::to_string(restarts);
    return cat(restarts, " (", human_duration(context.now - *last_restart), " ago)");
  }

 private:
  void count_restarts(const Value& container) {
    restarts += container["restartCount"].as_int();
    auto time = parse_time(container["lastState"]["terminated"]["finishedAt"].as_string());
    if (time && (!last_restart || *last_restart < *time)) last_restart = time;
  }

  // True while an init container delays the pod; the status then names the init container.
  bool read_init_containers(const Value& pod) {
    std::int64_t sidecar_restarts = 0;
    std::optional<system_clock::time_point> sidecar_last;
    bool held = false;
    auto statuses = pod["status"]["initContainerStatuses"].items();
    for (std::size_t i = 0; i < statuses.size() && !held; ++i) {
      const Value& container = statuses[i];
      const Value& terminated = container["state"]["terminated"];
      bool sidecar = sidecars_.contains(container["name"].as_string());
      count_restarts(container);
      if (sidecar) {
        sidecar_restarts += container["restartCount"].as_int();
        auto time = parse_time(container["lastState"]["terminated"]["finishedAt"].as_string());
        if (time && (!sidecar_last || *sidecar_last < *time)) sidecar_last = time;
      }
      if (terminated.is_object() && terminated["exitCode"].as_int() == 0) continue;
      if (sidecar && container["started"].as_bool()) {
        ready += container["ready"].as_bool();
        continue;
      }
      held = true;
      std::string_view waiting = container["state"]["waiting"]["reason"].as_string();
      if (terminated.is_object())
        status = "Init:" + termination(terminated);
      else if (!waiting.empty() && waiting != "PodInitializing")
        status = cat("Init:", waiting);
      else
        status = cat("Init:", i, "/", pod["spec"]["initContainers"].size());
    }
    // Restarts of init containers that have finished no longer count.
    if (!held || is_true(pod["status"]["conditions"], "Initialized")) {
      restarts = sidecar_restarts;
      last_restart = sidecar_last;
    }
    return held;
  }

  void read_containers(const Value& state) {
    bool running = false;
    std::string failure;
    auto statuses = state["containerStatuses"].items();
    for (auto container = statuses.rbegin(); container != statuses.rend(); ++container) {
      count_restarts(*container);
      const Value& now = (*container)["state"];
      if (auto waiting = now["waiting"]["reason"].as_string(); !waiting.empty()) {
        status = waiting;
      } else if (now["terminated"].is_object()) {
        status = termination(now["terminated"]);
        if (now["terminated"]["exitCode"].as_int() != 0) failure = status;
      } else if ((*container)["ready"].as_bool() && now.has("running")) {
        running = true;
        ++ready;
      }
    }
    if (status != "Completed") return;
    if (running && is_true(state["conditions"], "Ready"))
      status = "Running";
    else if (!failure.empty())
      status = failure;
    else if (running)
      status = "NotReady";
  }

  void read_deletion(const Value& pod) {
    if (!pod["metadata"].has("deletionTimestamp")) return;
    std::string_view phase = pod["status"]["phase"].as_string();
    if (pod["status"]["reason"].as_string() == "NodeLost")
      status = "Unknown";
    else if (phase != "Succeeded" && phase != "Failed")
      status = "Terminating";
  }

  std::set<std::string, std::less<>> sidecars_;
};

Value pod_ready(const Value& pod, const TableContext&) {
  PodSummary summary(pod);
  return cat(summary.ready, "/", summary.total);
}
Value pod_status(const Value& pod, const TableContext&) {
  return PodSummary(pod).status;
}
Value pod_restarts(const Value& pod, const TableContext& context) {
  return PodSummary(pod).restarts_text(context);
}
Value pod_address(const Value& pod, const TableContext&) {
  return or_none(std::string(pod["status"]["podIPs"][0]["ip"].as_string()));
}
Value pod_gates(const Value& pod, const TableContext&) {
  auto gates = pod["spec"]["readinessGates"].items();
  if (gates.empty()) return "<none>";
  auto open = std::ranges::count_if(gates, [&](const Value& gate) {
    return is_true(pod["status"]["conditions"], gate["conditionType"].as_string());
  });
  return cat(open, "/", gates.size());
}

std::string joined(const Value& containers, std::string_view field) {
  std::vector<std::string> out;
  for (const Value& container : containers.items()) out.emplace_back(container[field].as_string());
  return join(out, ",");
}

Value container_names(const Value& object, const TableContext&) {
  return joined(object["spec"]["template"]["spec"]["containers"], "name");
}
Value container_images(const Value& object, const TableContext&) {
  return joined(object["spec"]["template"]["spec"]["containers"], "image");
}
Value template_names(const Value& object, const TableContext&) {
  return joined(object["template"]["spec"]["containers"], "name");
}
Value template_images(const Value& object, const TableContext&) {
  return joined(object["template"]["spec"]["containers"], "image");
}
Value template_labels(const Value& object, const TableContext&) {
  return or_none(labels_text(object["template"]["metadata"]["labels"]));
}
Value cron_names(const Value& object, const TableContext&) {
  return joined(object["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"], "name");
}
Value cron_images(const Value& object, const TableContext&) {
  return joined(object["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"], "image");
}
Value cron_selector(const Value& object, const TableContext&) {
  return or_none(selector_text(object["spec"]["jobTemplate"]["spec"]["selector"]));
}
Value cron_suspended(const Value& object, const TableContext&) {
  const Value& suspend = object["spec"]["suspend"];
  return suspend.is_null() ? "<unset>" : suspend.as_bool() ? "True" : "False";
}

Value selector(const Value& object, const TableContext&) {
  return or_none(selector_text(object["spec"]["selector"]));
}
Value bare_selector(const Value& object, const TableContext&) {
  return selector_text(object["spec"]["selector"]);
}
Value label_map_selector(const Value& object, const TableContext&) {
  return or_none(labels_text(object["spec"]["selector"]));
}
Value node_selector(const Value& object, const TableContext&) {
  return or_none(labels_text(object["spec"]["template"]["spec"]["nodeSelector"]));
}

Value ready_of_wanted(const Value& object, const TableContext&) {
  return cat(object["status"]["readyReplicas"].as_int(), "/", object["spec"]["replicas"].as_int());
}

Value job_status(const Value& job, const TableContext&) {
  const Value& conditions = job["status"]["conditions"];
  if (is_true(conditions, "Complete")) return "Complete";
  if (is_true(conditions, "Failed")) return "Failed";
  if (job["metadata"].has("deletionTimestamp")) return "Terminating";
  for (std::string_view type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (is_true(conditions, type)) return type;
  return "Running";
}

Value job_completions(const Value& job, const TableContext&) {
  auto done = job["status"]["succeeded"].as_int(), parallel = job["spec"]["parallelism"].as_int();
  if (const Value* wanted = job["spec"].find("completions"); wanted && !wanted->is_null())
    return cat(done, "/", wanted->as_int());
  return parallel > 1 ? cat(done, "/1 of ", parallel) : cat(done, "/1");
}

Value job_duration(const Value& job, const TableContext& context) {
  auto start = parse_time(job["status"]["startTime"].as_string());
  if (!start) return "";
  auto end = parse_time(job["status"]["completionTime"].as_string());
  return human_duration(end.value_or(context.now) - *start);
}

Value revision_owner(const Value& revision, const TableContext&) {
  for (const Value& owner : revision["metadata"]["ownerReferences"].items()) {
    if (!owner["controller"].as_bool()) continue;
    std::string_view version = owner["apiVersion"].as_string();
    auto slash = version.find('/');
    std::string kind = lower(owner["kind"].as_string());
    if (slash != version.npos) kind += cat(".", lower(version.substr(0, slash)));
    return cat(kind, "/", owner["name"].as_string());
  }
  return "<none>";
}

// One metric of an autoscaler: the measured value and the target.
std::string metric_text(const Value& wanted, const Value& measured) {
  std::string_view type = wanted["type"].as_string();
  auto amount = [](const Value& value) {
    return value.is_string() ? std::string(value.as_string()) : std::string("<unknown>");
  };
  auto zero = [](const Value& value) {
    return value.is_string() ? std::string(value.as_string()) : std::string("0");
  };
  auto percent = [](const Value& value, std::string_view missing) {
    return value.is_null() ? std::string(missing) : cat(value.as_int(), "%");
  };
  if (type == "Resource" || type == "ContainerResource") {
    std::string_view key = type == "Resource" ? "resource" : "containerResource";
    const Value &body = wanted[key], &target = body["target"], &current = measured[key]["current"];
    std::string_view name = body["name"].as_string();
    if (target.has("averageValue"))
      return cat(name, ": ", amount(current["averageValue"]), "/", amount(target["averageValue"]));
    return cat(name, ": ", percent(current["averageUtilization"], "<unknown>"), "/",
               percent(target["averageUtilization"], "<auto>"));
  }
  if (type == "Pods")
    return cat(amount(measured["pods"]["current"]["averageValue"]), "/",
               zero(wanted["pods"]["target"]["averageValue"]));
  if (type != "Object" && type != "External") return "<unknown type>";
  std::string_view key = type == "Object" ? "object" : "external";
  const Value &target = wanted[key]["target"], &current = measured[key]["current"];
  if (target.has("averageValue"))
    return cat(amount(current["averageValue"]), "/", amount(target["averageValue"]), " (avg)");
  return cat(amount(current["value"]), "/", zero(target["value"]));
}

Value autoscaler_targets(const Value& autoscaler, const TableContext&) {
  auto metrics = autoscaler["spec"]["metrics"].items();
  if (metrics.empty()) return "<none>";
  std::vector<std::string> out;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    out.push_back(metric_text(metrics[i], autoscaler["status"]["currentMetrics"][i]));
  return shortened(out, 2, out.size(), ", ");
}

Value autoscaler_reference(const Value& autoscaler, const TableContext&) {
  const Value& target = autoscaler["spec"]["scaleTargetRef"];
  return cat(target["kind"].as_string(), "/", target["name"].as_string());
}

constexpr Cell kPod[] = {name(),
                         computed(pod_ready),
                         computed(pod_status),
                         computed(pod_restarts),
                         age(),
                         computed(pod_address),
                         text("spec.nodeName", "<none>"),
                         text("status.nominatedNodeName", "<none>"),
                         computed(pod_gates)};
constexpr Cell kPodTemplate[] = {name(), computed(template_names), computed(template_images),
                                 computed(template_labels)};
constexpr Cell kReplicaSet[] = {
    name(), integer("spec.replicas"),  integer("status.replicas"), integer("status.readyReplicas"),
    age(),  computed(container_names), computed(container_images), computed(selector)};
constexpr Cell kReplicationController[] = {
    name(), integer("spec.replicas"),  integer("status.replicas"), integer("status.readyReplicas"),
    age(),  computed(container_names), computed(container_images), computed(label_map_selector)};
constexpr Cell kDeployment[] = {name(),
                                computed(ready_of_wanted),
                                integer("status.updatedReplicas"),
                                integer("status.availableReplicas"),
                                age(),
                                computed(container_names),
                                computed(container_images),
                                computed(bare_selector)};
constexpr Cell kStatefulSet[] = {name(), computed(ready_of_wanted), age(),
                                 computed(container_names), computed(container_images)};
constexpr Cell kDaemonSet[] = {name(),
                               integer("status.desiredNumberScheduled"),
                               integer("status.currentNumberScheduled"),
                               integer("status.numberReady"),
                               integer("status.updatedNumberScheduled"),
                               integer("status.numberAvailable"),
                               computed(node_selector),
                               age(),
                               computed(container_names),
                               computed(container_images),
                               computed(selector)};
constexpr Cell kControllerRevision[] = {name(), computed(revision_owner), integer("revision"),
                                        age()};
constexpr Cell kJob[] = {
    name(), computed(job_status),      computed(job_completions),  computed(job_duration),
    age(),  computed(container_names), computed(container_images), computed(selector)};
constexpr Cell kCronJob[] = {name(),
                             text("spec.schedule"),
                             text("spec.timeZone", "<none>"),
                             computed(cron_suspended),
                             count("status.active"),
                             age("status.lastScheduleTime", "<none>"),
                             age(),
                             computed(cron_names),
                             computed(cron_images),
                             computed(cron_selector)};
constexpr Cell kAutoscaler[] = {name(),
                                computed(autoscaler_reference),
                                computed(autoscaler_targets),
                                text("spec.minReplicas", "<unset>"),
                                integer("spec.maxReplicas"),
                                integer("status.currentReplicas"),
                                age()};
constexpr Cell kScale[] = {name(), integer("spec.replicas"), integer("status.replicas"), age()};
constexpr Cell kDisruptionBudget[] = {name(), text("spec.minAvailable", "N/A"),
                                      text("spec.maxUnavailable", "N/A"),
                                      integer("status.disruptionsAllowed"), age()};

constexpr KindCells kKinds[] = {
    {"", "Pod", kPod},
    {"", "PodTemplate", kPodTemplate},
    {"", "ReplicationController", kReplicationController},
    {"apps", "ReplicaSet", kReplicaSet},
    {"apps", "Deployment", kDeployment},
    {"apps", "StatefulSet", kStatefulSet},
    {"apps", "DaemonSet", kDaemonSet},
    {"apps", "ControllerRevision", kControllerRevision},
    {"batch", "Job", kJob},
    {"batch", "CronJob", kCronJob},
    {"autoscaling", "HorizontalPodAutoscaler", kAutoscaler},
    {"autoscaling", "Scale", kScale},
    {"policy", "PodDisruptionBudget", kDisruptionBudget},
};

}  // namespace

std::span<const KindCells> workload_cells() {
  return kKinds;
}

}  // namespace cardea::catalog::cells

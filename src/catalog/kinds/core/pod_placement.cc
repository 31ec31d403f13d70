#include "catalog/kinds/core/pod_placement.h"

#include "base/strings.h"
#include "catalog/kinds/label_selector.h"
#include "json/field_error.h"
#include "json/members.h"

namespace cardea::catalog {

using json::Value;

namespace {

constexpr std::size_t kMaxUnconfirmedEvictions = 2000;

Error binding_conflict(std::string_view name, std::string why) {
  return Error::of(Reason::kConflict,
                   cat("Operation cannot be fulfilled on pods/binding ", quoted(name), ": ", why))
      .with({.name = std::string(name), .kind = "pods/binding"});
}

// Replaces the condition of the same type, at the end of the list.
void put_condition(Value& status, Value condition) {
  Value& conditions = status.member("conditions");
  for (std::size_t i = conditions.size(); i-- > 0;)
    if (conditions[i]["type"] == condition["type"]) conditions.erase_item(i);
  conditions.push_back(std::move(condition));
}

Result<void> check_budget(const Value& budget) {
  const Value& status = budget["status"];
  std::string_view name = budget["metadata"]["name"].as_string();
  std::int64_t allowed = status["disruptionsAllowed"].as_int();
  if (status["observedGeneration"].as_int() < budget["metadata"]["generation"].as_int())
    return fail(eviction_refused(
        cat("The disruption budget ", name, " is still being processed by the server."), 10));
  if (allowed < 0)
    return fail(Error::of(Reason::kForbidden, "pdb disruptions allowed is negative"));
  if (status["disruptedPods"].size() > kMaxUnconfirmedEvictions)
    return fail(Error::of(
        Reason::kForbidden,
        "DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
  if (allowed == 0)
    return fail(eviction_refused(
        cat("The disruption budget ", name, " needs ", status["desiredHealthy"].as_int(),
            " healthy pods and has ", status["currentHealthy"].as_int(), " currently"),
        0));
  return {};
}

}  // namespace

Result<void> check_binding(const Value& binding) {
  const Value& target = binding["target"];
  std::string_view kind = target["kind"].as_string();
  if (!kind.empty() && kind != "Node")
    return fail(
        bad_request(json::not_supported("target.kind", kind, {"Node", "<empty>"}).message()));
  if (target["name"].as_string().empty())
    return fail(bad_request(json::required("target.name").message()));
  return {};
}

Result<Value> bound_pod(const Value& pod, const Value& binding, std::string_view name,
                        std::string_view now) {
  if (pod["metadata"].has("deletionTimestamp"))
    return fail(binding_conflict(
        name, cat("pod ", name, " is being deleted, cannot be assigned to a host")));
  if (std::string_view node = pod["spec"]["nodeName"].as_string(); !node.empty())
    return fail(
        binding_conflict(name, cat("pod ", name, " is already assigned to node ", quoted(node))));
  if (!pod["spec"]["schedulingGates"].empty())
    return fail(binding_conflict(name, cat("pod ", name, " has non-empty .spec.schedulingGates")));
  Value out = pod;
  out.member("spec").set("nodeName", binding["target"]["name"]);
  for (std::string_view key : {"annotations", "labels"}) {
    auto added = binding["metadata"][key].members();
    if (!added.empty())
      json::set_all(out.member("metadata").member(key), {added.begin(), added.end()});
  }
  put_condition(out.member("status"), Value::object({{"type", "PodScheduled"},
                                                     {"status", "True"},
                                                     {"lastProbeTime", Value()},
                                                     {"lastTransitionTime", now}}));
  if (std::string_view uid = binding["metadata"]["uid"].as_string(); !uid.empty())
    out.member("metadata").set("uid", uid);
  return out;
}

bool leaves_without_budget(const Value& pod) {
  std::string_view phase = pod["status"]["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         pod["metadata"].has("deletionTimestamp");
}

bool budget_covers(const Value& budget, const Value& pod) {
  const Value& selector = budget["spec"]["selector"];
  return selector.is_object() && selector_matches(selector, pod["metadata"]["labels"]);
}

Error eviction_refused(std::string why, int retry_after_seconds) {
  return Error::of(Reason::kTooManyRequests,
                   "Cannot evict pod as it would violate the pod's disruption budget.")
      .with({.causes = {{"DisruptionBudget", std::move(why), ""}},
             .retry_after_seconds = retry_after_seconds});
}

Result<Value> spend_budget(const Value& budget, std::string_view pod_name, std::string_view now) {
  if (auto ok = check_budget(budget); !ok) return fail(ok.error());
  Value out = budget;
  Value& status = out.member("status");
  std::int64_t left = status["disruptionsAllowed"].as_int() - 1;
  status.set("disruptionsAllowed", left);
  if (left == 0)
    put_condition(status, Value::object({{"type", "DisruptionAllowed"},
                                         {"status", "False"},
                                         {"reason", "InsufficientPods"},
                                         {"message", ""},
                                         {"observedGeneration", budget["metadata"]["generation"]},
                                         {"lastTransitionTime", now}}));
  status.member("disruptedPods").set(pod_name, now);
  return out;
}

}  // namespace cardea::catalog

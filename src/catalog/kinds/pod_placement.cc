#include "catalog/kinds/pod_placement.h"

#include <vector>

#include "catalog/kinds/check.h"
#include "catalog/kinds/checks.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/pod_update.h"

namespace cardea::catalog {
namespace {

using std::string_view;

constexpr std::size_t kMaxUnconfirmedEvictions = 2000;

Error binding_conflict(string_view pod, std::string why) {
  return Error::of(Reason::kConflict,
                   cat("Operation cannot be fulfilled on pods/binding ", quoted(pod), ": ", why))
      .with({.name = std::string(pod), .group = {}, .kind = "pods/binding", .uid = {}, .causes = {}});
}

Error too_many_requests(std::string cause, int retry_after) {
  ErrorDetails details;
  details.causes.push_back({"DisruptionBudget", std::move(cause), ""});
  details.retry_after_seconds = retry_after;
  return Error::of(Reason::kTooManyRequests,
                   "Cannot evict pod as it would violate the pod's disruption budget.")
      .with(std::move(details));
}

Error budget_forbidden(string_view budget, string_view why) {
  return Error::of(Reason::kForbidden,
                   cat("poddisruptionbudget.policy ", quoted(budget), " is forbidden: ", why))
      .with({.name = std::string(budget),
             .group = "policy",
             .kind = "poddisruptionbudget",
             .uid = {},
             .causes = {}});
}

bool needs_no_budget(const Value& pod) {
  string_view phase = text(pod["status"], "phase");
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         present(pod["metadata"], "deletionTimestamp");
}

bool is_ready(const Value& pod) {
  return std::ranges::any_of(pod["status"]["conditions"].items(), [](const Value& c) {
    return text(c, "type") == "Ready" && text(c, "status") == "True";
  });
}

const Value& disruption_condition(const Value& budget) {
  static const Value kNone;
  for (const Value& c : budget["status"]["conditions"].items())
    if (text(c, "type") == "DisruptionAllowed") return c;
  return kNone;
}

std::string why_not(const Value& budget) {
  const Value& status = budget["status"];
  const Value& condition = disruption_condition(budget);
  std::string name = cat("The disruption budget ", text(budget["metadata"], "name"));
  bool refused = text(condition, "status") == "False" && !text(condition, "message").empty();
  if (refused && text(condition, "reason") == "SyncFailed")
    return cat(
        name, " does not allow evicting pods currently because it failed sync: ", text(condition, "message"));
  if (status["currentHealthy"].as_int() <= status["desiredHealthy"].as_int())
    return cat(name, " needs ", status["desiredHealthy"].as_int(), " healthy pods and has ",
               status["currentHealthy"].as_int(), " currently");
  if (refused)
    return cat(name, " does not allow evicting pods currently (", text(condition, "reason"),
               "): ", text(condition, "message"));
  return cat(name, " does not allow evicting pods currently");
}

void set_insufficient(Value& budget, string_view now) {
  Value condition = Value::object({{"type", "DisruptionAllowed"},
                                   {"status", "False"},
                                   {"reason", "InsufficientPods"},
                                   {"message", ""},
                                   {"observedGeneration", budget["status"]["observedGeneration"]},
                                   {"lastTransitionTime", now}});
  Value& conditions = budget.member("status").member("conditions");
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (text(conditions[i], "type") != "DisruptionAllowed") continue;
    if (text(conditions[i], "status") == "False")
      condition.set("lastTransitionTime", conditions[i]["lastTransitionTime"]);
    conditions.item(i) = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

// Takes one disruption from the budget, or says why it cannot.
std::optional<Error> spend(Value& budget, string_view pod, string_view now) {
  const Value& status = budget["status"];
  string_view name = text(budget["metadata"], "name");
  if (status["observedGeneration"].as_int() < budget["metadata"]["generation"].as_int())
    return too_many_requests(cat("The disruption budget ", name, " is still being processed by the server."),
                             10);
  std::int64_t allowed = status["disruptionsAllowed"].as_int();
  if (allowed < 0) return budget_forbidden(name, "pdb disruptions allowed is negative");
  if (status["disruptedPods"].size() > kMaxUnconfirmedEvictions)
    return budget_forbidden(name,
                            "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  if (allowed == 0) return too_many_requests(why_not(budget), 0);
  budget.member("status").set("disruptionsAllowed", allowed - 1);
  if (allowed == 1) set_insufficient(budget, now);
  budget.member("status").member("disruptedPods").set(pod, now);
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_binding(const Value& binding, string_view pod_name) {
  const Value& target = binding["target"];
  if (text(binding["metadata"], "name") != pod_name)
    return bad_request("name in URL does not match name in Binding object");
  if (string_view kind = text(target, "kind"); !kind.empty() && kind != "Node")
    return json::invalid_object("", "Binding", pod_name,
                                {json::not_supported("target.kind", kind, {"Node", "<empty>"})});
  if (text(target, "name").empty())
    return json::invalid_object("", "Binding", pod_name, {json::required("target.name")});
  return std::nullopt;
}

Result<Value> bind_pod(Value pod, const Value& binding, string_view now) {
  std::string name(text(pod["metadata"], "name"));
  if (present(pod["metadata"], "deletionTimestamp"))
    return fail(binding_conflict(name, cat("pod ", name, " is being deleted, cannot be assigned to a host")));
  if (string_view node = text(pod["spec"], "nodeName"); !node.empty())
    return fail(binding_conflict(name, cat("pod ", name, " is already assigned to node ", quoted(node))));
  if (!pod["spec"]["schedulingGates"].empty())
    return fail(binding_conflict(name, cat("pod ", name, " has non-empty .spec.schedulingGates")));
  object_member(pod, "spec").set("nodeName", binding["target"]["name"]);
  edit_member(pod, "status", [](Value& status) { status.erase("nominatedNodeName"); });
  for (const char* key : {"annotations", "labels"})
    for (const json::Member& m : binding["metadata"][key].members())
      object_member(object_member(pod, "metadata"), key).set(m.key(), m.value);
  set_pod_condition(pod, Value::object({{"type", "PodScheduled"}, {"status", "True"}}), now);
  return pod;
}

EvictionVerdict judge_eviction(const Value& pod, std::span<const Value> budgets, string_view now) {
  EvictionVerdict verdict;
  if (needs_no_budget(pod)) {
    verdict.pin_resource_version =
        text(pod["status"], "phase") == "Pending" && !present(pod["metadata"], "deletionTimestamp");
    return verdict;
  }
  std::vector<const Value*> matching;
  for (const Value& budget : budgets)
    if (selector_is_usable(budget["spec"]["selector"]) &&
        selector_matches(budget["spec"]["selector"], pod["metadata"]["labels"]))
      matching.push_back(&budget);
  if (matching.empty()) return verdict;
  if (matching.size() > 1) {
    verdict.refusal = internal_error(
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
    return verdict;
  }
  const Value& budget = *matching[0];
  if (!is_ready(pod)) {
    const Value& status = budget["status"];
    bool spare = status["desiredHealthy"].as_int() > 0 &&
                 status["currentHealthy"].as_int() >= status["desiredHealthy"].as_int();
    if (spare || text(budget["spec"], "unhealthyPodEvictionPolicy") == "AlwaysAllow") {
      verdict.pin_resource_version = true;
      return verdict;
    }
  }
  Value spent = budget;
  verdict.refusal = spend(spent, text(pod["metadata"], "name"), now);
  if (!verdict.refusal) verdict.budget = std::move(spent);
  return verdict;
}

Value mark_evicted(Value pod, string_view now) {
  set_pod_condition(pod,
                    Value::object({{"type", "DisruptionTarget"},
                                   {"status", "True"},
                                   {"reason", "EvictionByEvictionAPI"},
                                   {"message", "Eviction API: evicting"}}),
                    now);
  return pod;
}

}  // namespace cardea::catalog
